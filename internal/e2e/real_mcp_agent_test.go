//go:build real

package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/mcp"
	"forge/internal/text"
)

// ownTool is a tool of Forge's own as an agent's model calls it.
func (p player) ownTool(name string, input any) fakemodel.Tool {
	switch p.name {
	case "codex":
		return fakemodel.Tool{Name: name, Of: "mcp__forge", Input: input}
	case "gemini":
		return fakemodel.Tool{Name: "mcp_forge_" + name, Input: input}
	case "opencode":
		return fakemodel.Tool{Name: "forge_" + name, Input: input}
	}
	return fakemodel.Tool{Name: "mcp__forge__" + name, Input: input}
}

// TestRealAgentsCallTheirTools: an agent that is given Forge's tools reads the plan,
// which its model hears in the next request, and asks a person. The phase waits as a
// row, and the answer is the next prompt. With a sandbox and without one.
func TestRealAgentsCallTheirTools(t *testing.T) {
	for _, sandbox := range []string{"off", "required"} {
		t.Run(sandbox, func(t *testing.T) {
			eachPlayer(t, func(t *testing.T, p player) {
				if p.name == "gemini" && sandbox == "off" {
					t.Skip("it has no way to be told of a server but its settings, which are the user's")
				}
				c := newWith(t, p, sandbox, onePhase(3, ""), proveB+"[agents."+p.name+"]\nmcp = true\n",
					fakemodel.Turn{Tools: []fakemodel.Tool{p.ownTool("plan", map[string]any{})}},
					fakemodel.Turn{Tools: []fakemodel.Tool{p.ownTool("ask", map[string]any{"text": "Which blue is it to be?", "choices": []string{"cobalt", "azure"}})}},
					fakemodel.Turn{Text: "I have asked."},
				)
				evs, code := c.follow(nil, "run", "--level", "review")
				run, heard, last := evs[0].Run, false, ""
				for _, r := range c.server.Requests(p.name) {
					last = string(r.Body)
					heard = heard || strings.Contains(last, "has 1 phase") && strings.Contains(last, "ALL DONE")
				}
				if code != 3 || !heard {
					t.Fatalf("exit code %d; what the tool said reached the model: %t; the model heard last:\n%s", code, heard, text.End(last, 3000))
				}
				waits := c.checkpoints()
				if len(waits) != 1 || waits[0].Kind != "ckpt.question" || !strings.Contains(waits[0].Question, "Which blue is it to be?") {
					t.Fatalf("what waits is %+v", waits)
				}
				c.answer(says("I go on.", p.write("b.txt", "b\n")), claim)
				c.acknowledged("approve", waits[0].ID, "--choice", "2", "--message", "as the sky")
				c.runs(3, "resume")
				if said := c.sent(2, 1); !strings.Contains(said, "azure") || !strings.Contains(said, "as the sky") {
					t.Errorf("the next prompt is %s", said)
				}

				var tools []string
				for _, call := range c.toolCalls() {
					tools = append(tools, call.Tool)
					if call.Door != mcp.AgentDoor || call.Who != "agent for phase 01 of run "+run || call.Token == "" || call.Refused != "" {
						t.Errorf("recorded %+v", call)
					}
				}
				if got := strings.Join(tools, " "); got != "plan ask" {
					t.Errorf("on record are %q", got)
				}
			})
		})
	}
}

// TestRealToolsCost measures what tools cost: how much larger the first request to the
// model is, in bytes, and how much later it comes. Whoever reads the figures judges
// them; that the request with tools is the larger one is what has to hold.
func TestRealToolsCost(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		var bytes, millis [2]int64
		for with := range bytes {
			c := newWith(t, p, "required", onePhase(1, ""), fmt.Sprintf("%s[agents.%s]\nmcp = %t\n", proveB, p.name, with == 1))
			var began, asked, size atomic.Int64
			c.server.Answered(p.name, func(r fakemodel.Request) fakemodel.Turn {
				if strings.Contains(string(r.Body), "Words of the whole specification") && asked.CompareAndSwap(0, time.Now().UnixMilli()) {
					size.Store(int64(len(r.Body)))
				}
				return says("I cannot.")
			})
			c.follow(func(e event, _ func()) {
				if e.Kind == "iteration.started" {
					began.Store(time.Now().UnixMilli())
				}
			}, "run", "--autonomous")
			bytes[with], millis[with] = size.Load(), asked.Load()-began.Load()
		}
		t.Logf("first request: %d bytes, %d with tools; it comes after %d ms, %d with tools", bytes[0], bytes[1], millis[0], millis[1])
		if bytes[0] == 0 || bytes[1] <= bytes[0] {
			t.Errorf("with tools the first request has %d bytes, without %d", bytes[1], bytes[0])
		}
	})
}
