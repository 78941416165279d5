package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
)

// freezePlan asks a person at every point of a run, and sends one answer back.
const freezePlan = `{"phases":[{"number":"01","name":"only","promise":"ONLY DONE","budget":3}]}`

const freezeScript = `
[[step]]
phase = "01"
iteration = 1
do = [ { write = "one.txt", content = "1\n" }, { print = "<promise>ONLY DONE</promise>" } ]
[[step]]
phase = "01"
iteration = 2
do = [ { write = "two.txt", content = "2\n" }, { print = "<promise>ONLY DONE</promise>" } ]
`

func newFreezing(t *testing.T) *checkout {
	t.Helper()
	return newCheckout(t, "off", map[string]string{
		".forge/forge.toml": killConfig + "[autonomy]\nlevel = \"manual\"\n", ".forge/phases.json": freezePlan, "script.toml": freezeScript, "a.txt": "a\n",
	})
}

// question is what the tests read of a checkpoint.
type question struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Revision int    `json:"revision"`
	Status   string `json:"status"`
	Question string `json:"question"`
}

func (c *checkout) checkpoints() []question {
	c.t.Helper()
	var list struct {
		Checkpoints []question `json:"checkpoints"`
	}
	out, stderr, code := c.quick("checkpoints", "--all", "--output", "json")
	if code != 0 {
		c.t.Fatalf("forge checkpoints: exit code %d\n%s", code, stderr)
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatalf("forge checkpoints printed %q: %v", out, err)
	}
	return list.Checkpoints
}

// answerTo is the answer that the person of these tests gives: the first
// result of the phase is sent back, all else is fine.
func answerTo(cp question) (args []string, status string) {
	if cp.Kind == "ckpt.phase_transition" && cp.Revision == 1 {
		return []string{"request-changes", cp.ID, "-m", "write two.txt as well"}, "changes_requested"
	}
	return []string{"approve", cp.ID}, "approved"
}

// offset is where forge is killed: one of the three is not 0.
type offset struct {
	event  int64         // when this event is on record
	git    int           // after this git command, before its event is written
	answer int           // while this answer is given …
	after  time.Duration // … so long after its start
}

func (o offset) String() string {
	switch {
	case o.event > 0:
		return fmt.Sprintf("event %d", o.event)
	case o.git > 0:
		return fmt.Sprintf("git call %d", o.git)
	}
	return fmt.Sprintf("answer %d, %s after its start", o.answer, o.after)
}

// cycle is one run that freezes, is answered and resumed until it is over,
// and is killed once on the way.
type cycle struct {
	*checkout
	at     offset
	evs    []event
	given  int               // answers
	told   map[string]string // checkpoint → answer that forge said was accepted
	shim   string            // folder of the git that kills forge, while it drives the run
	begun  bool
	killed bool
}

// drive lets one process work on the run until it freezes, ends or is killed.
func (c *cycle) drive() (over bool) {
	c.t.Helper()
	args := []string{"resume"}
	if !c.begun {
		args = []string{"run"}
	}
	at := c.at.event
	if c.killed {
		at = 0
	}
	c.begun = true
	if !c.killed {
		c.path = c.shim
	}
	evs, died, code := c.stream(at, args...)
	if !died && code == 2 && c.killed && len(c.evs) == 0 {
		// A kill before the first event leaves no run to go on with.
		evs, died, code = c.stream(0, "run")
	}
	c.evs, c.path = append(c.evs, evs...), ""
	if died {
		c.killed = true
		return false
	}
	switch code {
	case 0:
		return true
	case 3:
		return false
	case 2:
		if c.killed && strings.HasPrefix(c.outcome(), "completed ") {
			return true // all was done but the tidying up
		}
	}
	c.t.Fatalf("forge %v: exit code %d", args, code)
	return false
}

// answer answers all that waits, also beside a process that has just died. An
// answer whose process was killed may have been taken or not; if it was, the
// checkpoint says which one it is.
func (c *cycle) answer() {
	c.t.Helper()
	for _, cp := range c.checkpoints() {
		if cp.Status != "pending" {
			continue
		}
		args, status := answerTo(cp)
		c.given++
		if c.at.answer == c.given && !c.killed {
			c.killed = true
			if c.killedAnswer(args) {
				c.told[cp.ID] = status
				continue
			}
			now := slices.IndexFunc(c.checkpoints(), func(now question) bool { return now.ID == cp.ID && now.Status != "pending" })
			if now >= 0 {
				if got := c.checkpoints()[now].Status; got != status {
					c.t.Errorf("checkpoint %s is %s, nobody said so", cp.ID, got)
				}
				c.told[cp.ID] = status // it is on record, so it counts
				continue
			}
		}
		if _, stderr, code := c.forge(args...); code != 0 {
			c.t.Fatalf("checkpoint %s waits and takes no answer: exit code %d\n%s", cp.ID, code, stderr)
		}
		c.told[cp.ID] = status
	}
}

// killedAnswer gives an answer and kills it; true means that it was told to be
// accepted before that.
func (c *cycle) killedAnswer(args []string) bool {
	c.t.Helper()
	cmd := c.command(os.Args[0], args...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(c.at.after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && !status.Signaled() && status.ExitStatus() == 0
}

// heard fails when an answer that was accepted is not in the journal, once, or
// another one is.
func (c *cycle) heard() {
	c.t.Helper()
	out, stderr, code := c.quick("audit", "export")
	if code != 0 {
		c.t.Fatalf("forge audit export: exit code %d\n%s", code, stderr)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		var e event
		var d struct{ ID, Status, Refused string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatal(err)
		}
		if e.Kind != "checkpoint.answered" || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		if got[d.ID] != "" || d.Refused != "" {
			c.t.Errorf("checkpoint %s was answered %s, and then %s %s", d.ID, got[d.ID], d.Status, d.Refused)
		}
		got[d.ID] = d.Status
	}
	if !maps.Equal(got, c.told) {
		c.t.Errorf("the journal holds the answers %v, accepted were %v", got, c.told)
	}
}

// play goes round until the run is over, and returns its outcome.
func (c *cycle) play() string {
	c.t.Helper()
	for range 20 {
		if c.drive() {
			c.heard()
			return c.outcome()
		}
		c.answer()
	}
	c.t.Fatalf("the run comes to no end; told were %v", c.told)
	return ""
}

func newCycle(t *testing.T, at offset) *cycle {
	c := &cycle{checkout: newFreezing(t), at: at, told: map[string]string{}}
	c.killingGit(at.git)
	c.shim, c.path = c.path, ""
	return c
}

// killFreezing kills a cycle of freezing, answering and resuming at n offsets.
// What waits can be answered after each of them, no answer that was accepted is
// lost or counts twice, and the run ends as if nobody had killed it.
func killFreezing(t *testing.T, n int, seed uint64) {
	whole := newCycle(t, offset{})
	want := whole.play()
	calls, err := os.ReadFile(filepath.Join(whole.shim, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if whole.given < 5 || len(whole.told) != whole.given || !strings.Contains(want, "two.txt") {
		t.Fatalf("the undisturbed cycle had %d answers %v and ended\n%s", whole.given, whole.told, want)
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		var at offset
		switch i % 4 {
		case 0, 3:
			at.event = 1 + dice.Int64N(whole.evs[len(whole.evs)-1].Seq-1)
		case 1:
			at.git = 1 + dice.IntN(strings.Count(string(calls), "x"))
		default:
			at.answer, at.after = 1+dice.IntN(whole.given), time.Duration(dice.IntN(80))*time.Millisecond
		}
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			c := newCycle(t, at)
			if got := c.play(); got != want {
				t.Errorf("seed %d, killed at %s, the run ended\n%s\nwithout it ends\n%s", seed, at, got, want)
			}
			if !c.killed {
				t.Logf("the run was over before the kill came")
			}
			onceEach(t, c.evs)
		})
	}
}

// A few, always the same; make soak has twenty by chance.
func TestKillInAFreeze(t *testing.T) {
	pace.Slow(t, "a cycle of freezing and answering for each kill")
	pace.Sequential(t, processesAlone)
	killFreezing(t, 3, 1)
}
