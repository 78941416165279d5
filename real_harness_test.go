//go:build real

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// withClaude is a project whose agent is the real Claude Code, in an empty
// home and with a dummy key, and the model server that it asks.
type withClaude struct {
	*checkout
	name   string // of what the server is to answer
	server *fakemodel.Server
}

// onePhase is a plan of one phase whose promise is ALL DONE.
func onePhase(budget int, more string) string {
	return fmt.Sprintf(`{"phases":[{"number":"01","name":"only","promise":"ALL DONE","budget":%d%s}]}`, budget, more)
}

// claim is the last turn of an iteration that says that the phase is done.
var claim = fakemodel.Turn{Text: "It is done and checked.\n<promise>ALL DONE</promise>"}

// newWithClaude makes a project of the plan and the configuration, whose agent
// is answered with turns.
func newWithClaude(t *testing.T, sandbox, plan, config string, turns ...fakemodel.Turn) *withClaude {
	t.Helper()
	program := os.Getenv("FORGE_REAL_CLAUDE")
	if program == "" {
		t.Skip("FORGE_REAL_CLAUDE does not name the program")
	}
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c := &withClaude{checkout: newCheckout(t, sandbox, map[string]string{
		".forge/phases.json": plan, ".forge/forge.toml": config,
		".forge/spec.md": "# A small thing\n\nWords of the whole specification.\n", "a.txt": "a\n",
	}), name: "one", server: server}
	var env []string
	for _, kv := range c.env {
		if !strings.HasPrefix(kv, "ANTHROPIC_") && !strings.HasPrefix(kv, "CLAUDE") {
			env = append(env, kv)
		}
	}
	c.env = append(env, "ANTHROPIC_BASE_URL="+c.answer(turns...), "ANTHROPIC_API_KEY=dummy")
	c.path = filepath.Dir(program)
	return c
}

// answer sets what the model says from now on.
func (c *withClaude) answer(turns ...fakemodel.Turn) (url string) {
	return c.server.Script(c.name, turns...)
}

// follow is stream, but lets do see each event as it comes, with what kills
// forge.
func (c *withClaude) follow(do func(e event, kill func()), args ...string) (evs []event, code int) {
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
func (c *withClaude) runs(want int, args ...string) []event {
	c.t.Helper()
	evs, code := c.follow(nil, args...)
	if code != want {
		c.t.Fatalf("forge %s ended with exit code %d, want %d", strings.Join(args, " "), code, want)
	}
	return evs
}

// asked is what one request of the agent's main conversation says.
type asked struct {
	prompt string // the user's words since the model spoke last
	before string // everything said before them
}

// prompts are the requests that brought a new prompt, oldest first; one that
// was repeated counts once.
func (c *withClaude) prompts() []asked {
	c.t.Helper()
	var out []asked
	for _, r := range c.server.Requests(c.name) {
		var body struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if r.Side {
			continue
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			c.t.Fatal(err)
		}
		var a asked
		results := false
		for _, m := range body.Messages {
			words, result := wordsOf(m.Content)
			switch m.Role {
			case "assistant":
				a.before += a.prompt + words + "\n"
				a.prompt, results = "", false
			case "user":
				a.prompt += words
				results = results || result
			}
		}
		if !results && (len(out) == 0 || out[len(out)-1] != a) {
			out = append(out, a)
		}
	}
	return out
}

// wordsOf is the text of a message without what the agent adds to the user's
// words, and whether it brings results of tools.
func wordsOf(content json.RawMessage) (words string, result bool) {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &words) != nil {
		_ = json.Unmarshal(content, &blocks)
	}
	for _, b := range blocks {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			words += b.Text
		}
		result = result || b.Type == "tool_result"
	}
	return words, result
}

// sent is the prompt that Forge says it gave to an attempt at an iteration.
func (c *withClaude) sent(iteration, attempt int) string {
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

func finished(t *testing.T, evs []event) []iterationEnd {
	t.Helper()
	return payloads[iterationEnd](t, evs, "iteration.finished")
}

// runEnd is the payload of run.finished.
type runEnd struct {
	Outcome, Reason string
	usage
}

// ends is how a forge process left the run, and what it cost until then.
func ends(t *testing.T, evs []event) (runEnd, float64) {
	t.Helper()
	d := payloads[runEnd](t, evs, "run.finished")
	if len(d) != 1 || d[0].CostUSD == nil {
		t.Fatalf("the run ended %+v", d)
	}
	return d[0], *d[0].CostUSD
}

func payloads[T any](t *testing.T, evs []event, kind string) []T {
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

func bash(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Bash", Input: map[string]string{"command": command, "description": "a step"}}
}

// writes is a file of the folder that the agent works in.
func writes(name, content string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Write", Input: map[string]string{"file_path": name, "content": content}}
}

func says(text string, tools ...fakemodel.Tool) fakemodel.Turn {
	return fakemodel.Turn{Text: text, Tools: tools}
}
