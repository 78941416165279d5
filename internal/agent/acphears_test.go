package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/agent/agenttest"
	"forge/internal/work"
)

// acpHears plays a script, and says m1 to its agent as soon as that works. It
// returns what the server was told as well. Once that is said there is a file "said"
// in the agent's folder.
func acpHears(t *testing.T, s acpScript) (work.IterationReport, work.TellReport, string) {
	t.Helper()
	s.State = filepath.Join(t.TempDir(), "state")
	a := newAgents(t)
	req := work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Prompt: "Do the work.", Permission: work.PermissionStandard, Dir: t.TempDir(),
		Agent: serving(t, s), Mark: "hears-" + strings.ReplaceAll(s.State[1:], "/", "-"), Limits: agenttest.Patient(), Sandbox: work.SandboxSettings{Mode: "off"},
	}
	req.Agent.SkipPermission = true
	said := make(chan work.TellReport, 1)
	go func() {
		rep := a.Tell(t.Context(), work.TellRequest{Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, ID: "m1", Text: "use tabs"})
		write(t, filepath.Join(req.Dir, "said"), "", 0o600)
		said <- rep
	}()
	r, err := a.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, _ := os.ReadFile(s.State)
	return r, <-said, string(state)
}

func TestACPHearsWhileItWorks(t *testing.T) {
	t.Parallel()
	wantTokens := func(t *testing.T, r work.IterationReport, want int64) {
		t.Helper()
		if n := r.Usage.InputTokens; n == nil || *n != want {
			t.Errorf("usage %+v, want %d", r.Usage, want)
		}
	}
	untilSaid := acpAct{Until: "said"}
	t.Run("given between two calls", func(t *testing.T) {
		r, said, _ := acpHears(t, acpScript{Queues: true, Do: []acpAct{{Say: "<promise>EARLY</promise>"}, {Hear: true}, untilSaid, {Say: "tabs <promise>DONE</promise>"}}})
		if r.Outcome != work.OutcomeOK || !said.Taken || !slices.Equal(r.Heard, []string{"m1"}) || !slices.Equal(r.Claims, []string{"DONE"}) {
			t.Errorf("%+v, %+v", said, r)
		}
		wantTokens(t, r, 210)
	})
	t.Run("given behind the last word, in a turn of its own", func(t *testing.T) {
		r, said, state := acpHears(t, acpScript{Queues: true, Do: []acpAct{{Queue: true}, {Say: "<promise>EARLY</promise>"}}, Then: []acpAct{{Say: "<promise>DONE</promise>"}}})
		if r.Outcome != work.OutcomeOK || !said.Taken || !slices.Equal(r.Heard, []string{"m1"}) || !slices.Equal(r.Claims, []string{"DONE"}) {
			t.Errorf("%+v, %+v", said, r)
		}
		if strings.Count(state, "asked use tabs") != 1 {
			t.Errorf("the server was told: %s", state)
		}
		wantTokens(t, r, 210)
	})
	t.Run("taken and never given", func(t *testing.T) {
		for name, script := range map[string]acpScript{
			"it dies":      {Do: []acpAct{{Hear: true}, untilSaid, {Exit: 3}}},
			"it cancels":   {Do: []acpAct{{Hear: true}, untilSaid, {Tool: "true"}}, Stop: "cancelled"},
			"it fails":     {Do: []acpAct{{Queue: true}, {Say: "x"}}, Then: []acpAct{{Fail: "no", Code: -32603}}},
			"it says less": {Do: []acpAct{{Say: "x"}, {Hear: true}, untilSaid, {Raw: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"usage_update"}}}`}, {Exit: 3}}},
		} {
			script.Queues = true
			r, said, _ := acpHears(t, script)
			heard := name == "it cancels" // it called a tool
			if !said.Taken || (len(r.Heard) > 0) != heard || r.Outcome != work.OutcomeAgentFailed {
				t.Errorf("%s: %+v, %+v", name, said, r)
			}
		}
	})
	t.Run("a server that does not say that it queues", func(t *testing.T) {
		r, said, state := acpHears(t, acpScript{Do: []acpAct{untilSaid, {Say: "<promise>DONE</promise>"}}})
		if r.Outcome != work.OutcomeOK || said.Taken || said.Why != acpTakesNothing || len(r.Heard) > 0 || len(r.Claims) != 1 {
			t.Errorf("%+v, %+v", said, r)
		}
		if strings.Contains(state, "use tabs") || strings.Contains(state, "_forge/") {
			t.Errorf("the server was told: %s", state)
		}
		wantTokens(t, r, 105)
	})
	t.Run("it never works", func(t *testing.T) {
		r, said, _ := acpHears(t, acpScript{Queues: true, NoNew: true})
		if said.Taken || said.Why == "" || len(r.Heard) > 0 {
			t.Errorf("%+v, %+v", said, r)
		}
	})
}

func TestACPThatQueues(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]bool{
		``: false, `{}`: false, `[]`: false, `null`: false, `"yes"`: false, `{"promptQueueing":true}`: false,
		`{"a":1,"claudeCode":{"promptQueueing":true}}`: true, `{"claudeCode":{"promptQueueing":false}}`: false, `{"claudeCode":{"promptQueueing":"yes"}}`: false,
	} {
		s := acpServer{}
		s.Capabilities.Meta = []byte(meta)
		if got := s.queues(); got != want {
			t.Errorf("%s: %v", meta, got)
		}
	}
	if s := (acpServer{}); s.queues() {
		t.Error("one that says nothing")
	}
}
