//go:build real

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// withAgent is a project whose agent is a real one, in an empty home and with a
// dummy key, and the model server that it asks.
type withAgent struct {
	*checkout
	player player
	server *fakemodel.Server
}

// onePhase is a plan of one phase whose promise is ALL DONE.
func onePhase(budget int, more string) string {
	return fmt.Sprintf(`{"phases":[{"number":"01","name":"only","promise":"ALL DONE","budget":%d%s}]}`, budget, more)
}

// claim is the last turn of an iteration that says that the phase is done.
var claim = fakemodel.Turn{Text: "It is done and checked.\n<promise>ALL DONE</promise>"}

// newWith makes a project of the plan and the configuration, whose agent is p,
// answered with turns.
func newWith(t *testing.T, p player, sandbox, plan, config string, turns ...fakemodel.Turn) *withAgent {
	t.Helper()
	p.program(t)
	c := newWithAll(t, []player{p}, sandbox, plan, config)
	c.answer(turns...)
	return c
}

// newWithAll is newWith for several agents, of which the first is that of
// phases that name none. None is answered yet.
func newWithAll(t *testing.T, all []player, sandbox, plan, config string) *withAgent {
	t.Helper()
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c := &withAgent{checkout: newCheckout(t, sandbox, map[string]string{
		".forge/phases.json": plan, ".forge/forge.toml": config,
		".forge/spec.md": "# A small thing\n\nWords of the whole specification.\n", "a.txt": "a\n",
	}), player: all[0], server: server}
	c.env = slices.DeleteFunc(c.env, func(kv string) bool {
		return slices.ContainsFunc([]string{"ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_", "OPENCODE_", "XDG_DATA", "XDG_CACHE", "XDG_STATE"},
			func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
	})
	// Many that start at the same time may each be slow to.
	user := fmt.Sprintf("[sandbox]\nmode = %q\n[agent]\nuse = %q\n[limits]\nstart_secs = 300\n", sandbox, all[0].name)
	var folders []string
	for _, p := range all {
		program := p.program(t)
		folders = append(folders, filepath.Dir(program))
		user += p.settle(c, program, server.URL(p.name))
	}
	c.path = strings.Join(folders, string(os.PathListSeparator))
	c.write("config/forge/config.toml", user)
	return c
}

// answer sets what the model says from now on.
func (c *withAgent) answer(turns ...fakemodel.Turn) { c.server.Script(c.player.name, turns...) }

// follow is stream, but lets do see each event as it comes, with what kills
// forge.
func (c *withAgent) follow(do func(e event, kill func()), args ...string) (evs []event, code int) {
	c.t.Helper()
	var stderr bytes.Buffer
	cmd := c.command(os.Args[0], append(args, "--output", "json")...)
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() }
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			kill()
			c.t.Fatalf("forge printed %q: %v", lines.Text(), err)
		}
		evs = append(evs, e)
		if do != nil {
			do(e, kill)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("forge %s\n%s%s", strings.Join(args, " "), story(evs), &stderr)
		}
	})
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return evs, -1
	}
	return evs, cmd.ProcessState.ExitCode()
}

// runs is follow for a run that has to end with an exit code.
func (c *withAgent) runs(want int, args ...string) []event {
	c.t.Helper()
	evs, code := c.follow(nil, args...)
	if code != want {
		c.t.Fatalf("forge %s ended with exit code %d, want %d", strings.Join(args, " "), code, want)
	}
	return evs
}

// sent is the prompt that Forge says it gave to an attempt at an iteration.
func (c *withAgent) sent(iteration, attempt int) string {
	c.t.Helper()
	files, _ := filepath.Glob(c.at(fmt.Sprintf("state/runs/*/logs/01-%d-%d.prompt", iteration, attempt)))
	if len(files) != 1 {
		c.t.Fatalf("iteration %d, attempt %d has %d prompts", iteration, attempt, len(files))
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// usage is what an iteration or a session used.
type usage struct {
	CostUSD *float64 `json:"cost_usd"`
	Input   *int64   `json:"input_tokens"`
}

// iterationStart and iterationEnd are the payloads of an iteration's two events.
type iterationStart struct {
	Session, Prompt string
}

type iterationEnd struct {
	Outcome, Detail, Session, Sandbox string
	Changed                           bool
	Claims, Denied                    []string
	Signals                           struct{ Promises []string }
	Usage, Total                      usage
	ResetAt                           *time.Time `json:"reset_at"`
}

func started(t *testing.T, evs []event) []iterationStart {
	t.Helper()
	return payloads[iterationStart](t, evs, "iteration.started")
}

func finished(t testing.TB, evs []event) []iterationEnd {
	t.Helper()
	return payloads[iterationEnd](t, evs, "iteration.finished")
}

// runEnd is the payload of run.finished.
type runEnd struct {
	Outcome, Reason string
	usage
}

// ends is how a forge process left the run, and what it cost until then; -1
// when that is not known.
func ends(t testing.TB, evs []event) (runEnd, float64) {
	t.Helper()
	d := payloads[runEnd](t, evs, "run.finished")
	if len(d) != 1 {
		t.Fatalf("the run ended %+v", d)
	}
	if d[0].CostUSD == nil {
		return d[0], -1
	}
	return d[0], *d[0].CostUSD
}

func payloads[T any](t testing.TB, evs []event, kind string) []T {
	t.Helper()
	var out []T
	for _, e := range evs {
		if e.Kind != kind {
			continue
		}
		var d T
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		out = append(out, d)
	}
	return out
}

func says(text string, tools ...fakemodel.Tool) fakemodel.Turn {
	return fakemodel.Turn{Text: text, Tools: tools}
}
