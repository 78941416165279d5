// Package agenttest is the conformance suite of agents: what every kind has to
// do alike, acted out by a real process of that kind.
package agenttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// Agent is what is tested.
type Agent interface {
	Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error)
}

// Step is one thing that the agent does in an iteration; one field is set.
type Step struct {
	Say     string // a message
	Echo    bool   // says the prompt
	Write   string // name of a file in the folder that gets Content
	Content string
	Tool    string // a shell command, as the agent's tools run it
	Hang    bool   // does nothing more until it is ended
	Fail    bool   // ends without success
	Outage  int    // its provider refuses it for so many seconds
	Refused bool   // tries what the permission mode refuses
}

// Harness makes a kind of agent act.
type Harness struct {
	Agent Agent
	// Prepare returns settings under which the next iteration in dir does the
	// steps, in order, and then ends.
	Prepare func(t *testing.T, dir string, steps ...Step) work.AgentSettings
	// Soon is about how many seconds the agent takes to its first tool where
	// nothing keeps it from it. Limits that end it begin there, and are made
	// longer where the machine is slower than that.
	Soon int
	// Alone is for an agent of which several cannot start at once in a home
	// that is empty: one iteration is over before the others begin.
	Alone bool
	// Lingers is for an agent whose process may be slow to leave after its last
	// word, and is ended then.
	Lingers bool
	// Sandbox is used for every iteration; the zero value is off.
	Sandbox work.SandboxSettings

	Messages  bool // it has more than one message in an iteration
	Continues bool // sessions can be continued
	Reports   bool // it reports usage by itself
	Outages   bool // it tells an outage from its own failure
	Refuses   bool // it has a permission mode, and says what was refused

	// Half is for an agent whose start takes seconds: of the cases it plays the even (1)
	// or the odd (2) ones, and all in make soak.
	Half int
}

const promise = "<promise>THE WORK IS DONE</promise>"

// Staying is a shell command that writes its number to tool.pid, whole, and
// does not end.
const Staying = "echo $$ > tool.new; mv tool.new tool.pid; exec tail -f /dev/null"

// Prompt is what every iteration is asked.
const Prompt = "Do the work. When it is done, say THE WORK IS DONE between the tags that are called promise."

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	cases := []struct {
		name string
		test func(*testing.T, Harness)
		skip bool
	}{
		{"edits a file", editsAFile, false},
		{"two iterations", twoIterations, false},
		{"promise before the last message", promiseTooEarly, !h.Messages},
		{"echo of the prompt", echo, false},
		{"fails", fails, false},
		{"goes silent", goesSilent, false},
		{"hangs in a tool", hangsInATool, false},
		{"leaves a process behind", leavesBehind, false},
		{"cancelled", cancelled, false},
		{"outage", outage, !h.Outages},
		{"refused", refused, !h.Refuses},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.skip {
				t.Skip("not a trait of this kind")
			}
			if h.Half > 0 && i%2 != h.Half-1 {
				pace.Soak(t, "it is played with the agents that start at once")
			}
			if i > 0 || !h.Alone {
				t.Parallel()
			}
			c.test(t, h)
		})
	}
}

// Patient are limits for an agent that is not to reach them, on a machine that
// is slow and has more to do than this.
func Patient() work.Limits {
	return work.Limits{StartSecs: 300, IdleSecs: 300, IterationSecs: 600, PostResultSecs: 180, DrainSecs: 60}
}

// slowest is how many seconds an agent may take to its first tool, at most.
const slowest = 180

// iteration is one request, in a folder of its own.
func iteration(t *testing.T, h Harness, dir string, number int, steps ...Step) work.IterationRequest {
	t.Helper()
	if h.Sandbox.Mode == "" {
		h.Sandbox.Mode = "off"
	}
	return work.IterationRequest{
		Run: "r1", Phase: "01", PhaseName: "first", Iteration: number, Attempt: 1, Level: "autonomous",
		Agent:      h.Prepare(t, dir, steps...),
		Permission: work.PermissionStandard,
		Limits:     Patient(),
		Dir:        dir,
		Prompt:     Prompt,
		Mark:       "test-" + filepath.Base(dir) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36),
		LogPath:    filepath.Join(t.TempDir(), "log"),
		Sandbox:    h.Sandbox,
	}
}

func run(t *testing.T, h Harness, req work.IterationRequest) work.IterationReport {
	t.Helper()
	r, err := h.Agent.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("Iterate: %v", err)
	}
	return r
}

func wantOutcome(t *testing.T, r work.IterationReport, want work.Outcome) {
	t.Helper()
	if r.Outcome != want {
		t.Fatalf("outcome %q (%s), want %q", r.Outcome, r.Detail, want)
	}
	if !want.KeepsClaim() && len(r.Claims) > 0 {
		t.Errorf("claims %q in spite of outcome %q", r.Claims, want)
	}
}

// wantDone fails unless the agent came to its end by itself.
func wantDone(t *testing.T, h Harness, r work.IterationReport) {
	t.Helper()
	if h.Lingers && r.Outcome == work.OutcomePostResult {
		return
	}
	wantOutcome(t, r, work.OutcomeOK)
}

// ended runs iterations in which a limit ends the agent, until one comes as far
// as to write the file here before that: how long this takes is the machine's,
// and no limit is both soon over and long enough for each of them. limit sets
// it to a number of seconds.
func ended(t *testing.T, h Harness, secs int, limit func(*work.Limits, int), here string, want work.Outcome, steps ...Step) (dir string) {
	t.Helper()
	for ; ; secs *= 2 {
		dir := t.TempDir()
		req := iteration(t, h, dir, 1, steps...)
		limit(&req.Limits, secs)
		wantOutcome(t, run(t, h, req), want)
		if exists(filepath.Join(dir, here)) {
			return dir
		}
		if secs >= slowest {
			t.Fatalf("the agent did not come to its tool in %d s", secs)
		}
	}
}

func editsAFile(t *testing.T, h Harness) {
	dir := t.TempDir()
	req := iteration(t, h, dir, 1, Step{Say: "I begin. <progress>40</progress>"}, Step{Write: "a.txt", Content: "hello\n"}, Step{Say: "So it is.\n" + promise})
	var seen []work.Activity
	r, err := h.Agent.Iterate(t.Context(), req, func(a work.Activity) { seen = append(seen, a) })
	if err != nil {
		t.Fatal(err)
	}
	wantDone(t, h, r)
	if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "hello\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if want := []string{"THE WORK IS DONE"}; !slices.Equal(r.Claims, want) || !slices.Equal(r.Signals.Promises, want) {
		t.Errorf("claims %q, promises %q, want %q", r.Claims, r.Signals.Promises, want)
	}
	if !slices.Equal(r.Signals.Progress, []float64{40}) {
		t.Errorf("progress %v", r.Signals.Progress)
	}
	if !strings.Contains(r.Message, "So it is.") {
		t.Errorf("last message %q", r.Message)
	}
	if r.Outcome == work.OutcomeOK && (r.ExitCode == nil || *r.ExitCode != 0) {
		t.Errorf("exit code %v", r.ExitCode)
	}
	if h.Continues != (r.Session != "") {
		t.Errorf("session %q of a kind that continues: %v", r.Session, h.Continues)
	}
	if _, known := r.Usage.Tokens(); known != h.Reports {
		t.Errorf("usage %+v of a kind that reports: %v", r.Usage, h.Reports)
	}
	if len(seen) == 0 {
		t.Error("no activity was seen")
	}
	for _, a := range seen {
		if a.Phase != "01" || a.Iteration != 1 || len(a.Text) > 200 || strings.ContainsAny(a.Text, "\n\x1b") {
			t.Errorf("activity %+v", a)
		}
	}
	if log, err := os.ReadFile(req.LogPath); err != nil || !strings.Contains(string(log), "So it is.") {
		t.Errorf("log of %d bytes lacks the words, %v", len(log), err)
	}
}

func twoIterations(t *testing.T, h Harness) {
	dir := t.TempDir()
	first := run(t, h, iteration(t, h, dir, 1, Step{Write: "a.txt", Content: "1"}, Step{Say: "There is more to do."}))
	wantDone(t, h, first)
	if len(first.Claims) > 0 {
		t.Errorf("claims %q", first.Claims)
	}
	req := iteration(t, h, dir, 2, Step{Write: "b.txt", Content: "2"}, Step{Say: promise})
	req.Session, req.Before = first.Session, first.Total
	second := run(t, h, req)
	wantDone(t, h, second)
	if len(second.Claims) != 1 {
		t.Errorf("claims %q", second.Claims)
	}
	if second.Session != first.Session || second.SessionLost {
		t.Errorf("session %q went on as %q, lost: %v", first.Session, second.Session, second.SessionLost)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if a, b := first.Usage.CostUSD, second.Usage.CostUSD; a != nil && b != nil && *b > 1.5**a {
		t.Errorf("an iteration like the first cost %v after %v: earlier cost is counted again", *b, *a)
	}
}

func promiseTooEarly(t *testing.T, h Harness) {
	r := run(t, h, iteration(t, h, t.TempDir(), 1,
		Step{Say: promise}, Step{Write: "a.txt", Content: "x"}, Step{Say: "No, there is more to do."}))
	wantDone(t, h, r)
	if len(r.Claims) > 0 || len(r.Signals.Promises) != 1 {
		t.Errorf("claims %q, promises %q", r.Claims, r.Signals.Promises)
	}
}

// An agent that does nothing claims nothing, also where it says what it was
// asked to.
func echo(t *testing.T, h Harness) {
	r := run(t, h, iteration(t, h, t.TempDir(), 1, Step{Echo: true}))
	wantDone(t, h, r)
	if len(r.Claims)+len(r.Signals.Promises) > 0 {
		t.Errorf("an echo claims %q, promises %q", r.Claims, r.Signals.Promises)
	}
}

func fails(t *testing.T, h Harness) {
	r := run(t, h, iteration(t, h, t.TempDir(), 1, Step{Say: promise}, Step{Fail: true}))
	wantOutcome(t, r, work.OutcomeAgentFailed)
	if r.Detail == "" {
		t.Error("nothing says why")
	}
}

func goesSilent(t *testing.T, h Harness) {
	ended(t, h, h.Soon, func(l *work.Limits, secs int) { l.IdleSecs = secs }, "here", work.OutcomeIdleTimeout,
		Step{Say: promise}, Step{Tool: "touch here"}, Step{Hang: true})
}

func hangsInATool(t *testing.T, h Harness) {
	dir := ended(t, h, 2*h.Soon, func(l *work.Limits, secs int) { l.IterationSecs = secs }, "tool.pid", work.OutcomeIterationTimeout,
		Step{Say: promise}, Step{Tool: Staying})
	wantGone(t, filepath.Join(dir, "tool.pid"))
}

func leavesBehind(t *testing.T, h Harness) {
	dir := t.TempDir()
	r := run(t, h, iteration(t, h, dir, 1,
		Step{Tool: "setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo $! > left.pid"}, Step{Say: promise}))
	wantDone(t, h, r)
	wantGone(t, filepath.Join(dir, "left.pid"))
}

func cancelled(t *testing.T, h Harness) {
	dir := t.TempDir()
	r := Interrupted(t, h.Agent, iteration(t, h, dir, 1, Step{Say: promise}, Step{Tool: Staying}))
	wantOutcome(t, r, work.OutcomeInterrupted)
	wantGone(t, filepath.Join(dir, "tool.pid"))
}

// Interrupted runs an iteration and cancels it as soon as its agent runs
// Staying.
func Interrupted(t *testing.T, a Agent, req work.IterationRequest) work.IterationReport {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if exists(filepath.Join(req.Dir, "tool.pid")) {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	r, err := a.Iterate(ctx, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func outage(t *testing.T, h Harness) {
	r := run(t, h, iteration(t, h, t.TempDir(), 1, Step{Say: promise}, Step{Tool: "true"}, Step{Outage: 3000}))
	wantOutcome(t, r, work.OutcomeRateLimited)
	if r.ResetAt == nil || time.Until(*r.ResetAt) < 40*time.Minute || time.Until(*r.ResetAt) > time.Hour {
		t.Errorf("reset at %v", r.ResetAt)
	}
}

func refused(t *testing.T, h Harness) {
	r := run(t, h, iteration(t, h, t.TempDir(), 1, Step{Refused: true}, Step{Say: "I was not allowed to."}))
	wantDone(t, h, r)
	if len(r.Denied) == 0 {
		t.Error("nothing says what was refused")
	}
}

// wantGone fails when the process whose number stands in a file still lives.
func wantGone(t *testing.T, pidFile string) {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatalf("the process did not start: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		t.Fatalf("process number %q", text)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive(pid) {
			return
		}
	}
	t.Errorf("process %d still lives", pid)
}

func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// One that nobody has waited for yet is dead all the same.
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || !exists("/proc/self/stat")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
