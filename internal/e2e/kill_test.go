package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/pace"
)

// killPlan is small enough that every offset of its journal can be tried: a
// chain, a parallel branch, a false promise and a merge onto a moved base.
const killPlan = `{"phases":[
 {"number":"01","name":"base","promise":"BASE DONE","budget":2},
 {"number":"02","name":"left","promise":"LEFT DONE","budget":3,"depends_on":["01"],"verify":["test -f left2.txt"]},
 {"number":"03","name":"right","promise":"RIGHT DONE","budget":2,"depends_on":["01"]}
]}`

const killConfig = `
[agent]
use = "dry"
[agents.dry]
kind = "script"
file = "script.toml"
[defaults]
max_parallel = 1
[verify]
commands = ["test -f a.txt"]
[proof]
product = ["**"] # of a repository without a language, nobody knows which files are
controls = false # each effect more is killed at once more
`

const killScript = `
[[step]]
phase = "01"
do = [ { write = "one.txt", content = "1\n" }, { print = "<promise>BASE DONE</promise>" } ]
[[step]]
phase = "02"
iteration = 1
do = [ { write = "left.txt", content = "l\n" }, { print = "<promise>LEFT DONE</promise>" } ]
[[step]]
phase = "02"
iteration = 2
do = [ { write = "left2.txt", content = "l\n", append = true }, { print = "<promise>LEFT DONE</promise>" } ]
[[step]]
phase = "03"
do = [ { write = "right.txt", content = "r\n", append = true }, { print = "<promise>RIGHT DONE</promise>" } ]
`

func newKilled(t *testing.T) *checkout {
	t.Helper()
	return newCheckout(t, "off", map[string]string{
		".forge/forge.toml": killConfig, ".forge/phases.json": killPlan, "script.toml": killScript, "a.txt": "a\n",
	})
}

// outcome is what must be the same however often forge died: the tree, and how
// each phase ended after how many iterations.
func (c *checkout) outcome() string {
	c.t.Helper()
	text, stderr, code := c.quick("status", "--output", "json")
	if code != 0 {
		c.t.Fatalf("forge status: exit code %d\n%s", code, stderr)
	}
	var st struct {
		Outcome string `json:"outcome"`
		Phases  []struct {
			Number     string `json:"number"`
			Outcome    string `json:"outcome"`
			Iterations int    `json:"iterations"`
			Proof      string `json:"proof"`
		} `json:"phases"`
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		c.t.Fatalf("forge status printed %q: %v", text, err)
	}
	return fmt.Sprintf("%s %v\n%s", st.Outcome, st.Phases, c.must("git", "ls-tree", "-r", "HEAD"))
}

// onceEach fails when an iteration came to a result twice.
func onceEach(t testing.TB, evs []event) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range evs {
		var d struct {
			Outcome string `json:"outcome"`
		}
		if e.Kind != "iteration.finished" || json.Unmarshal(e.Data, &d) != nil || d.Outcome == "interrupted" {
			continue
		}
		id := fmt.Sprintf("%s/%d", e.Phase, e.Iteration)
		if seen[id] {
			t.Errorf("iteration %s came to a result twice", id)
		}
		seen[id] = true
	}
}

// undisturbed is the outcome of a run that nobody kills, and its events.
func undisturbed(t *testing.T) (string, int64) {
	t.Helper()
	k := newKilled(t)
	evs, _, code := k.stream(0, "run", "--autonomous")
	if code != 0 {
		t.Fatalf("the undisturbed run ended with exit code %d", code)
	}
	if n := len(evs); n > 70 {
		t.Fatalf("the run has %d events, too many to be killed at each", n)
	}
	return k.outcome(), evs[len(evs)-1].Seq
}

// killEvery kills a run at every step-th event of its journal.
func killEvery(t *testing.T, step int64) {
	want, events := undisturbed(t)
	for at := int64(1); at < events; at += step {
		t.Run(fmt.Sprintf("event %d", at), func(t *testing.T) {
			t.Parallel()
			k := newKilled(t)
			evs, died, _ := k.stream(at, "run", "--autonomous")
			if !died {
				t.Skipf("the run was over before the kill at event %d came", at)
			}
			k.resumeToEnd(evs, want)
		})
	}
}

func (c *checkout) resumeToEnd(evs []event, want string) {
	c.t.Helper()
	more, died, code := c.stream(0, "resume")
	switch {
	case !died && code == 0:
	case len(evs) == 0:
		// A kill before the first event leaves no run to go on with.
		if more, _, code = c.stream(0, "run", "--autonomous"); code != 0 {
			c.t.Fatalf("run after a kill before the first event: exit code %d", code)
		}
	case !died && code == 2 && strings.HasPrefix(c.outcome(), "completed "):
		// All was done but the tidying up, so that there is nothing to resume.
	default:
		c.t.Fatalf("resume: exit code %d, died %v", code, died)
	}
	onceEach(c.t, append(evs, more...))
	if got := c.outcome(); got != want {
		c.t.Errorf("after a kill the run ended\n%s\nwithout one it ends\n%s", got, want)
	}
}

func TestKillAtJournalOffsets(t *testing.T) {
	pace.Slow(t, "each kill is followed by the rest of a run")
	pace.Sequential(t, processesAlone)
	killEvery(t, 14)
}

// killingGit puts a git before the real one that kills forge after its n-th
// call: the effect is done, its event is not written. It counts by itself: tens
// of thousands of calls are not to start one more program each.
func (c *checkout) killingGit(n int) {
	c.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		c.t.Fatal(err)
	}
	c.path = c.at("shim")
	c.write("shim/git", fmt.Sprintf(`#!/bin/sh
%s "$@"
code=$?
echo x >> %s/calls
n=0
while read -r _; do n=$((n + 1)); done < %s/calls
if [ $n -eq %d ]; then kill -9 $PPID; fi
exit $code
`, real, c.path, c.path, n))
	if err := os.Chmod(filepath.Join(c.path, "git"), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// killBetween kills forge after every step-th git command of a run.
func killBetween(t *testing.T, step int) {
	want, _ := undisturbed(t)
	count := newKilled(t)
	count.killingGit(0)
	if _, _, code := count.stream(0, "run", "--autonomous"); code != 0 {
		t.Fatalf("the counted run ended with exit code %d", code)
	}
	calls, err := os.ReadFile(filepath.Join(count.path, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= bytes.Count(calls, []byte("x")); n += step {
		t.Run(fmt.Sprintf("git call %d", n), func(t *testing.T) {
			t.Parallel()
			k := newKilled(t)
			k.killingGit(n)
			evs, died, code := k.stream(0, "run", "--autonomous")
			k.path = ""
			if !died && code == 0 {
				t.Skipf("the run made fewer than %d git calls", n)
			}
			k.resumeToEnd(evs, want)
		})
	}
}

func TestKillBetweenEffectAndEvent(t *testing.T) {
	pace.Slow(t, "each kill is followed by the rest of a run")
	pace.Sequential(t, processesAlone)
	killBetween(t, 40)
}
