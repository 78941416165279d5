//go:build real

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/work"
)

// untilGo is a command that runs until there is a file "go". No single part of it
// is a wait, which Claude Code refuses.
const untilGo = "until [ -e go ]; do timeout 0.1 tail -f /dev/null; done"

// deliveries is how many words each agent is told in one iteration:
// FORGE_DELIVERIES, or a few, whose slowest has more time than a real one.
func deliveries(t *testing.T) (count int, most time.Duration) {
	if s := os.Getenv("FORGE_DELIVERIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("FORGE_DELIVERIES is %q", s)
		}
		return n, deliveryMost
	}
	return 5, 5 * deliveryMost
}

// hearsMany tells an agent many words while it runs a command, waits for each until
// its program has it, and says how long that took. Each must reach the model, once.
func hearsMany(t *testing.T, a *Agents, server *fakemodel.Server, script string, req work.IterationRequest) {
	t.Helper()
	req.Phase = script // agents are told by the phase that they work on
	req.Agent.SkipPermission = true
	count, most := deliveries(t)
	var took []time.Duration
	var ids []string
	works, said := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(said)
		defer write(t, filepath.Join(req.Dir, "go"), "", 0o600)
		<-works
		for i := range count {
			begin := time.Now()
			id := fmt.Sprintf("m%d", i)
			rep := a.Tell(t.Context(), work.TellRequest{Run: req.Run, Phase: req.Phase, Iteration: 1, Attempt: 1, ID: id, Text: "WORD-" + strconv.Itoa(i) + "-OVER"})
			took = append(took, time.Since(begin))
			if ids = append(ids, id); !rep.Taken {
				t.Errorf("word %d: %+v", i, rep)
				return
			}
		}
	}()
	begun := false
	r, err := a.Iterate(t.Context(), req, func(a work.Activity) {
		if a.Kind == "tool" && !begun {
			begun = true
			close(works)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !begun {
		t.Fatalf("it called no tool: %q (%s)", r.Outcome, r.Detail)
	}
	<-said
	if !r.Outcome.KeepsClaim() || !slices.Equal(r.Claims, []string{"DONE"}) {
		log, _ := os.ReadFile(req.LogPath)
		t.Errorf("outcome %q (%s), claims %q\n%s", r.Outcome, r.Detail, r.Claims, log)
	}
	slices.Sort(ids)
	heard := slices.Sorted(slices.Values(r.Heard))
	if !slices.Equal(heard, ids) {
		t.Errorf("heard %q, want %q", heard, ids)
	}
	requests := server.Requests(script)
	last := string(requests[len(requests)-1].Body)
	for i := range count {
		if n := strings.Count(last, "WORD-"+strconv.Itoa(i)+"-OVER"); n != 1 {
			t.Errorf("word %d stands %d times in the conversation", i, n)
		}
	}
	slices.Sort(took)
	p99 := took[(len(took)*99+99)/100-1]
	t.Logf("%d words: p50 %v, p99 %v, slowest %v", count, took[len(took)/2].Round(time.Microsecond), p99.Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
	if p99 > most {
		t.Errorf("p99 is %v, at most %v", p99, most)
	}
}

func hearingTurns(shell func(string) fakemodel.Tool) []fakemodel.Turn {
	return []fakemodel.Turn{{Text: "I look.", Tools: []fakemodel.Tool{shell(untilGo)}}, {Text: "So it is. <promise>DONE</promise>", Repeat: -1}}
}

func TestRealClaudeHearsManyWords(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	hearsMany(t, c.agents, c.server, scriptName(t), c.request(t, hearingTurns(bash)...))
}

// A server that does not queue prompts is told with the next one.
func TestRealACPHearsManyWords(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		if c.queues {
			hearsMany(t, c.agents, c.server, scriptName(t), c.request(t, hearingTurns(c.tools.shell)...))
			return
		}
		req := c.request(t, hearingTurns(c.tools.shell)...)
		req.Phase, req.Agent.SkipPermission = scriptName(t), true
		said := make(chan work.TellReport, 1)
		go func() {
			said <- c.agents.Tell(t.Context(), work.TellRequest{Run: req.Run, Phase: req.Phase, Iteration: 1, Attempt: 1, ID: "m1", Text: "USE TABS"})
			write(t, filepath.Join(req.Dir, "go"), "", 0o600)
		}()
		r := c.run(t, req)
		if rep := <-said; rep.Taken || rep.Why != acpTakesNothing || len(r.Heard) > 0 || !r.Outcome.KeepsClaim() || len(r.Claims) != 1 {
			t.Errorf("%+v, %+v", rep, r)
		}
	})
}

// What is said during its last word follows as a turn of its own, whose promise
// alone counts.
func TestRealACPHearsBehindItsLastWord(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		if !c.queues {
			t.Skip("it takes nothing while it works")
		}
		req := c.request(t, fakemodel.Turn{Text: "It is over. <promise>EARLY</promise>", When: "Do the work", Fault: fakemodel.Fault{Slow: time.Second}},
			fakemodel.Turn{Text: "Tabs it is. <promise>DONE</promise>", When: "USE TABS"})
		req.Phase = scriptName(t)
		said := make(chan work.TellReport, 1)
		go func() {
			for len(c.server.Requests(scriptName(t))) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			said <- c.agents.Tell(t.Context(), work.TellRequest{Run: req.Run, Phase: req.Phase, Iteration: 1, Attempt: 1, ID: "m1", Text: "USE TABS"})
		}()
		r := c.run(t, req)
		if rep := <-said; !rep.Taken || !slices.Equal(r.Heard, []string{"m1"}) || !r.Outcome.KeepsClaim() || !slices.Equal(r.Claims, []string{"DONE"}) {
			t.Errorf("%+v, %+v", rep, r)
		}
	})
}

func TestRealCodexHearsManyWords(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	hearsMany(t, c.agents, c.server, scriptName(t), c.request(t, hearingTurns(codexShell)...))
}

// The server reads a project's instructions as exec does, writes nothing into the
// user's settings, and each goes on with the other's sessions.
func TestRealCodexServerAndExec(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	session, before := "", work.Usage{}
	for i, args := range [][]string{{"--color", "never"}, nil, {"--color", "never"}} {
		req := c.request(t, fakemodel.Turn{Text: "So it is. <promise>DONE</promise>"})
		write(t, filepath.Join(req.Dir, "AGENTS.md"), "ALWAYS USE TABS", 0o600)
		req.Agent.Args = append(req.Agent.Args, args...)
		req.Session, req.Before, req.Mark = session, before, req.Mark+strconv.Itoa(i)
		r := c.run(t, req)
		if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || session != "" && r.Session != session {
			t.Fatalf("%q: session %q went on as %q: %q (%s)", args, session, r.Session, r.Outcome, r.Detail)
		}
		if n, ok := r.Usage.Tokens(); !ok || n != 110 {
			t.Errorf("%q: %d tokens", args, n)
		}
		session, before = r.Session, r.Total
		requests := c.server.Requests(scriptName(t))
		if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "ALWAYS USE TABS") {
			t.Errorf("%q: the instructions did not reach the model", args)
		}
	}
	if text, err := os.ReadFile(filepath.Join(c.agents.environ.home, ".codex", "config.toml")); err == nil {
		t.Errorf("it wrote settings: %s", text)
	}
}
