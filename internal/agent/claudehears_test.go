package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/agent/agenttest"
	"forge/internal/work"
)

// hearingClaude is a program that speaks Claude Code's protocol as far as it is
// about what people say: it does each line of does for the message that it reads.
const hearingClaude = `#!/bin/sh
next() { read -r line || exit 0; id=$(echo "$line" | sed 's/.*"uuid":"\([^"]*\)".*/\1/'); }
life() { echo '{"type":"command_lifecycle","command_uuid":"'$id'","state":"'$1'"}'; }
says() { echo '{"type":"assistant","parent_tool_use_id":null,"message":{"id":"'$1'","model":"m","content":[{"type":"text","text":"'"$2"'"}],"usage":{"input_tokens":100,"output_tokens":10}}}'; }
result() { echo '{"type":"result","subtype":"success","is_error":false,"result":"x","usage":{"input_tokens":100,"output_tokens":10},"total_cost_usd":0.1}'; }
next; life queued; life started
echo '{"type":"system","subtype":"init","session_id":"S1"}'
`

func hears(t *testing.T, does string, ids ...string) (work.IterationReport, []work.TellReport) {
	t.Helper()
	checkout := t.TempDir()
	write(t, filepath.Join(checkout, "claude.sh"), hearingClaude+does, 0o755)
	a := newAgents(t)
	req := work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 3, Attempt: 2, Prompt: "Do the work.", Permission: work.PermissionStandard, Dir: t.TempDir(),
		Agent: work.AgentSettings{Name: "c", Kind: "claude", Command: []string{"./claude.sh"}, Checkout: checkout},
		Mark:  "hears-" + strings.ReplaceAll(checkout[1:], "/", "-"), Limits: agenttest.Patient(), Sandbox: work.SandboxSettings{Mode: "off"},
	}
	said := make(chan []work.TellReport, 1)
	go func() {
		var reports []work.TellReport
		for _, id := range ids {
			reports = append(reports, a.Tell(t.Context(), work.TellRequest{Run: "r1", Phase: "01", Iteration: 3, Attempt: 2, ID: id, Text: "use tabs"}))
		}
		said <- reports
	}()
	r, err := a.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, <-said
}

func TestWhatAPersonSaysWhileItWorks(t *testing.T) {
	t.Parallel()
	t.Run("taken and given", func(t *testing.T) {
		r, said := hears(t, "next; life queued; says a EARLY; life started; says b 'with tabs <promise>DONE</promise>'; result\n", "m1")
		if r.Outcome != work.OutcomeOK || !said[0].Taken || !slices.Equal(r.Heard, []string{"m1"}) || len(r.Claims) != 1 {
			t.Errorf("%+v, %+v", said, r)
		}
	})
	t.Run("said twice is handed over once", func(t *testing.T) {
		r, said := hears(t, "next; life queued; life started; says a with; result; read -r line && says b TWICE && result\n", "m1", "m1")
		if !said[1].Taken || !slices.Equal(r.Heard, []string{"m1"}) || r.Message != "with" {
			t.Errorf("%+v, %+v", said, r)
		}
	})
	t.Run("given behind the result, in a turn of its own", func(t *testing.T) {
		r, _ := hears(t, "next; life queued; says a '<promise>EARLY</promise>'; result; life started; says b '<promise>DONE</promise>'; result\n", "m1")
		if r.Outcome != work.OutcomeOK || !slices.Equal(r.Claims, []string{"DONE"}) || !slices.Equal(r.Heard, []string{"m1"}) {
			t.Errorf("%+v", r)
		}
		if n := r.Usage.InputTokens; n == nil || *n != 200 {
			t.Errorf("usage %+v, want that of both turns", r.Usage)
		}
	})
	t.Run("taken and never given", func(t *testing.T) {
		r, said := hears(t, "next; life queued; says a 'I am done'; result\n", "m1")
		if !said[0].Taken || len(r.Heard) > 0 || r.Outcome != work.OutcomeOK {
			t.Errorf("%+v, %+v", said, r)
		}
	})
	t.Run("never taken", func(t *testing.T) {
		r, said := hears(t, "next; says a 'I am done'; result\n", "m1")
		if said[0].Taken || said[0].Why == "" || len(r.Heard) > 0 {
			t.Errorf("%+v, %+v", said, r)
		}
	})
	t.Run("nobody works", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if rep := newAgents(t).Tell(ctx, work.TellRequest{Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, ID: "m1", Text: "x"}); rep.Taken || rep.Why == "" {
			t.Errorf("%+v", rep)
		}
	})
}
