//go:build real

package e2e

import (
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// TestRealAgentsAskByTheirOwnTool: what an agent's model asks by the tool of its own
// program waits as a row, and the answer is the next prompt.
func TestRealAgentsAskByTheirOwnTool(t *testing.T) {
	options := []any{map[string]any{"label": "cobalt", "description": "dark"}, map[string]any{"label": "azure", "description": "light"}}
	tools := map[string]fakemodel.Tool{
		"claude": {Name: "AskUserQuestion", Input: map[string]any{"questions": []any{map[string]any{"question": "Which blue is it to be?", "header": "Colour", "multiSelect": false, "options": options}}}},
		"codex":  {Name: "request_user_input", Input: map[string]any{"questions": []any{map[string]any{"id": "blue", "question": "Which blue is it to be?", "header": "Colour", "options": options}}}},
	}
	eachPlayer(t, func(t *testing.T, p player) {
		tool, has := tools[p.name]
		if !has {
			t.Skip("its program has no such tool")
		}
		config := proveB
		if p.name == "codex" { // which offers its tool when it is told to
			config += "[agents.codex]\nargs = [\"-c\", \"features.default_mode_request_user_input=true\"]\n"
		}
		c := newWith(t, p, "off", onePhase(3, ""), config,
			fakemodel.Turn{Tools: []fakemodel.Tool{tool}},
			fakemodel.Turn{Text: "I have asked."},
		)
		_, code := c.follow(nil, "run", "--level", "review")
		waits := c.checkpoints()
		if code != 3 || len(waits) != 1 || waits[0].Kind != "ckpt.question" || !strings.Contains(waits[0].Question, "Which blue is it to be?") {
			last := ""
			for _, r := range c.server.Requests(p.name) {
				last = string(r.Body)
			}
			t.Fatalf("exit code %d; what waits is %+v; the model heard last:\n%s", code, waits, last[max(0, len(last)-3000):])
		}
		c.answer(says("I go on.", p.write("b.txt", "b\n")), claim)
		c.acknowledged("approve", waits[0].ID, "--choice", "2", "--message", "as the sky")
		c.runs(3, "resume")
		if said := c.sent(2, 1); !strings.Contains(said, "azure") || !strings.Contains(said, "as the sky") {
			t.Errorf("the next prompt is %s", said)
		}
	})
}
