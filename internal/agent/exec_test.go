package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/work"
)

// shell is a request whose exec agent is a shell command.
func shell(t testing.TB, command string) work.IterationRequest {
	return work.IterationRequest{
		Run: "r1", Phase: "03", PhaseName: "the third", Iteration: 2, Attempt: 1, Level: "full",
		Agent: work.AgentSettings{Name: "mine", Kind: "exec", Command: []string{"sh", "-c", command}},
		Dir:   t.TempDir(), Mark: strings.ReplaceAll(t.Name(), "/", "-"), LogPath: filepath.Join(t.TempDir(), "logs", "log"),
		Limits:  work.Limits{IterationSecs: 120},
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

func iterate(t *testing.T, a *Agents, req work.IterationRequest) work.IterationReport {
	t.Helper()
	r, err := a.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A log that could not be written is told, and for want of what.
func TestExecOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	req := shell(t, "echo '<promise>DONE</promise>'")
	req.LogPath = "/dev/full"
	if r := iterate(t, newAgents(t), req); !strings.Contains(r.Short, "is full") || !strings.Contains(r.Detail, "write the agent's log") {
		t.Errorf("short of %q (%s)", r.Short, r.Detail)
	}
	req = shell(t, "true")
	if r := iterate(t, newAgents(t), req); r.Short != "" {
		t.Errorf("short of %q with room", r.Short)
	}
}

func TestExecUsage(t *testing.T) {
	in, out := 3.0, 15.0
	a := newAgents(t)
	for name, c := range map[string]struct {
		printed string
		prices  bool
		want    string
	}{
		"all":                     {`done\n<usage>{"input_tokens":100,"output_tokens":10,"cost_usd":0.5}</usage>\n`, false, "100 10 0.5"},
		"tokens only":             {`<usage>{"input_tokens":100,"output_tokens":10}</usage>`, false, "100 10 -1"},
		"tokens and prices":       {`<usage>{"input_tokens":1000000,"output_tokens":100000}</usage>`, true, "1000000 100000 4.5"},
		"money before prices":     {`<usage>{"input_tokens":1000000,"output_tokens":100000,"cost_usd":1}</usage>`, true, "1000000 100000 1"},
		"half, and prices":        {`<usage>{"input_tokens":1000000}</usage>`, true, "1000000 -1 -1"},
		"not the last line":       {`<usage>{"input_tokens":1,"output_tokens":1}</usage>\nbye\n`, false, "-1 -1 -1"},
		"negative":                {`<usage>{"input_tokens":-1,"output_tokens":5,"cost_usd":-0.5}</usage>`, false, "-1 5 -1"},
		"no JSON":                 {`<usage>much</usage>`, false, "-1 -1 -1"},
		"wrong type":              {`<usage>{"input_tokens":"100","cost_usd":0.5}</usage>`, false, "-1 -1 -1"},
		"not alone on its line":   {`so: <usage>{"cost_usd":0.5}</usage>`, false, "-1 -1 -1"},
		"a line that is too long": {strings.Repeat("x", 10_000) + `<usage>{"cost_usd":0.5}</usage>`, false, "-1 -1 -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := shell(t, "printf '"+c.printed+"'")
			if c.prices {
				req.Agent.USDPerMTokIn, req.Agent.USDPerMTokOut = &in, &out
			}
			u := iterate(t, a, req).Usage
			if got := fmt.Sprint(orMinus(u.InputTokens), orMinus(u.OutputTokens), orMinus(u.CostUSD)); got != c.want {
				t.Errorf("usage %s, want %s", got, c.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "LC_ALL=C", "OTHER_API_KEY=sesame-open", "ANTHROPIC_API_KEY=sk-of-the-user",
		"EXTRA=1", "EDITOR=ed", "FORGE_PHASE=99", "FORGE_LEASE=old", "MY_TOKEN=let-through",
	}
	req := shell(t, "env > env.txt; env")
	req.Agent.Env = []string{"EXTRA", "MY_TOKEN"}
	req.Agent.SetEnv = map[string]string{"FIXED": "yes", "FORGE_RUN": "stolen"}
	iterate(t, New(Config{Environ: environ}), req)
	text, err := os.ReadFile(filepath.Join(req.Dir, "env.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(text), "\n")
	for _, want := range []string{
		"HOME=/nowhere", "LC_ALL=C", "EXTRA=1", "MY_TOKEN=let-through", "FIXED=yes", "FORGE_RUN=r1", "FORGE_PHASE=03",
		"FORGE_PHASE_NAME=the third", "FORGE_ITERATION=2", "FORGE_ATTEMPT=1", "FORGE_LEVEL=full", "FORGE_LEASE=" + req.Mark,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range []string{"OTHER_API_KEY", "ANTHROPIC_API_KEY", "EDITOR"} {
		if strings.Contains(string(text), name+"=") {
			t.Errorf("%s is visible", name)
		}
	}
}

// A kind's own key reaches it, and no other agent.
func TestKindsOwnSecrets(t *testing.T) {
	e := newEnviron([]string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "OPENAI_API_KEY=o", "CLAUDE_CODE_MAX_RETRIES=9", "DISABLE_TELEMETRY=0"}, "/h")
	facts := claudeFacts()
	env := e.of(work.IterationRequest{Agent: work.AgentSettings{Env: []string{"CLAUDE_CODE_MAX_RETRIES"}}}, launch{
		names: append(facts.SecretEnv, facts.Env...), set: []string{"CLAUDE_CODE_MAX_RETRIES=3", "DISABLE_TELEMETRY=1"}})
	for _, want := range []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "CLAUDE_CODE_MAX_RETRIES=9", "DISABLE_TELEMETRY=1", "HOME=/h"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	if slices.Contains(env, "OPENAI_API_KEY=o") {
		t.Error("another agent's key is visible")
	}
}

// A relative command is the checkout's, not the one that lies in the phase
// folder.
func TestExecRelativeCommand(t *testing.T) {
	a := newAgents(t)
	checkout := t.TempDir()
	write(t, filepath.Join(checkout, "agent.sh"), "#!/bin/sh\necho \"from the checkout, $1 $2\"\n", 0o755)
	write(t, filepath.Join(checkout, "plain.sh"), "echo no\n", 0o644)
	req := shell(t, "")
	write(t, filepath.Join(req.Dir, "agent.sh"), "#!/bin/sh\necho from the phase folder\n", 0o755)
	req.Agent.Checkout, req.Agent.Command, req.Agent.Args = checkout, []string{"./agent.sh", "a b"}, []string{"c"}
	if r := iterate(t, a, req); r.Message != "from the checkout, a b c" {
		t.Errorf("message %q", r.Message)
	}
	for _, command := range [][]string{nil, {""}, {"./nothing.sh"}, {"./plain.sh"}, {"."}, {"no-such-program-anywhere"}, {checkout}} {
		req.Agent.Command = command
		if r, err := a.Iterate(t.Context(), req, nil); err == nil {
			t.Errorf("%q was run: %+v", command, r)
		}
		if d := Detect(t.Context(), req.Agent, a.environ.vars); d.Usable() || d.Why == "" {
			t.Errorf("%q was found: %+v", command, d)
		}
	}
	req.Agent.Command, req.Agent.Checkout = []string{"./agent.sh"}, ""
	if _, err := a.Iterate(t.Context(), req, nil); err == nil {
		t.Error("a relative command was run without a checkout")
	}
}

// Nothing that is kept of an agent holds a secret.
func TestSecretsAreTakenOut(t *testing.T) {
	const secret = "hunter2-hunter2"
	a := New(Config{Environ: newAgents(t).environ.vars, Redact: redact.New([]string{secret})})
	req := shell(t, `printf 'hunter2-'; sleep 0.1; printf 'hunter2 here\n<blocker>it is hunter2-hunter2</blocker>\n'; echo 'no hunter2-hunter2' >&2; exit 4`)
	var seen []work.Activity
	r, err := a.Iterate(t.Context(), req, func(a work.Activity) { seen = append(seen, a) })
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(req.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != work.OutcomeAgentFailed || len(r.Signals.Blockers) != 1 || len(log) == 0 || len(seen) == 0 {
		t.Fatalf("report %+v, log of %d bytes, %d activities", r, len(log), len(seen))
	}
	if all := fmt.Sprintf("%+v %+v %s", r, seen, log); strings.Contains(all, secret) {
		t.Errorf("the secret is in %s", all)
	}
}

// Memory does not grow with what an agent prints, and a tag in the middle of
// it is found.
func TestExecFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("prints 200 MB")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever the other tests run with
	a := newAgents(t)
	for name, command := range map[string]string{
		"lines":    "yes 'all work and no play' | head -c 100000000; echo '<progress>50</progress>'; yes | head -c 100000000; echo '<promise>DONE</promise>'",
		"one line": "head -c 100000000 /dev/zero | tr '\\0' x; echo '<progress>50</progress><promise>DONE</promise>'",
	} {
		t.Run(name, func(t *testing.T) {
			req := shell(t, command)
			var most atomic.Uint64
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most.Store(max(most.Load(), m.HeapInuse))
					select {
					case <-stop:
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			}()
			r := iterate(t, a, req)
			close(stop)
			<-stopped
			if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Signals.Progress) != 1 || len(r.Message) > messageBytes {
				t.Errorf("outcome %q (%s), claims %q, signals %+v, message of %d bytes", r.Outcome, r.Detail, r.Claims, r.Signals, len(r.Message))
			}
			if most.Load() > 40<<20 {
				t.Errorf("%d MB of heap in use", most.Load()>>20)
			}
			info, err := os.Stat(req.LogPath)
			if err != nil || info.Size() > logHeadBytes+2*logTailBytes+100 || info.Size() < logHeadBytes+logTailBytes {
				t.Errorf("log %v, %v", info, err)
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	a := New(Config{Environ: newAgents(t).environ.vars}) // without any sandbox
	for name, change := range map[string]func(*work.IterationRequest){
		"unknown kind":    func(r *work.IterationRequest) { r.Agent.Kind = "oracle" },
		"no sandbox":      func(r *work.IterationRequest) { r.Sandbox.Mode = "required" },
		"unknown sandbox": func(r *work.IterationRequest) { r.Sandbox.Mode = "perhaps" },
		"no folder":       func(r *work.IterationRequest) { r.Dir = filepath.Join(r.Dir, "missing") },
		"log is a folder": func(r *work.IterationRequest) { r.LogPath = r.Dir },
		"missing script":  func(r *work.IterationRequest) { r.Agent = work.AgentSettings{Kind: "script", File: "/no/such/file"} },
		"no script":       func(r *work.IterationRequest) { r.Agent = work.AgentSettings{Kind: "script"} },
		"no claude": func(r *work.IterationRequest) {
			r.Agent = work.AgentSettings{Kind: "claude", Command: []string{"/no/claude"}}
		},
	} {
		req := shell(t, "true")
		change(&req)
		if r, err := a.Iterate(t.Context(), req, nil); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestExecDetails(t *testing.T) {
	a := newAgents(t)
	for command, want := range map[string]string{
		"echo first >&2; printf '\\033[31mlast\\033[0m\\n' >&2; exit 7": "the agent exited with code 7: last",
		"kill -9 $$": "the agent was ended by signal killed",
	} {
		if r := iterate(t, a, shell(t, command)); r.Outcome != work.OutcomeAgentFailed || r.Detail != want {
			t.Errorf("%s: outcome %q (%s), want %q", command, r.Outcome, r.Detail, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, name := range Kinds() {
		if _, ok := FactsOf(name); !ok {
			t.Errorf("no facts of %s", name)
		}
	}
	if _, ok := FactsOf("oracle"); ok {
		t.Error("facts of an unknown kind")
	}
	if d := Detect(t.Context(), work.AgentSettings{Kind: "oracle"}, nil); d.Usable() || !strings.Contains(d.Why, "script") {
		t.Errorf("%+v", d)
	}
}

// What is judged here does not depend on a process.
func TestUnknownEndIsNoSuccess(t *testing.T) {
	l := newLive(work.IterationRequest{}, redact.New(nil), nil)
	for _, end := range []proc.End{proc.EndStopped, "melted"} {
		r := work.IterationReport{Outcome: work.OutcomeOK}
		if l.judge(end, &r); r.Outcome != work.OutcomeAgentFailed {
			t.Errorf("%s: %q", end, r.Outcome)
		}
	}
}

func BenchmarkExecStream(b *testing.B) {
	l := newLive(work.IterationRequest{}, redact.New([]string{"hunter2hunter2"}), nil)
	l.started(nil, true)
	chunk := []byte(strings.Repeat("All work and no play makes a dull flood of words.\n", 655))
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	s := &execStream{live: l, red: l.red}
	for b.Loop() {
		_, _ = s.Write(chunk)
	}
}
