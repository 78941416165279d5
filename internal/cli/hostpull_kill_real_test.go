//go:build real

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// offsets is how often make soak kills a review round.
const offsets = 20

// oneRound is a project of one phase.
func oneRound(t *testing.T, g *hosttest.GiteaCrowd) *giteaWorld {
	w := realPulls(t, g, inThreads(pullScript, "I wrote the second line in capitals.")).hosted(g.URL, "forge")
	w.plan(phase("01", "first", 2))
	return w
}

// killed: killed at any event since people were first shown something, Forge
// goes on to the same end.
func killed(t *testing.T, g *hosttest.GiteaCrowd) {
	seed := pullSeed(t)
	dice := rand.New(rand.NewPCG(seed, 2))
	var first, last int64
	if !t.Run("Undisturbed", func(t *testing.T) {
		w := oneRound(t, g)
		w.through(func(command string) ended {
			_, e := w.killedAt(0, command, func(seq int64, kind work.EventKind) {
				if last = seq; first == 0 && kind == work.PublishBegan {
					first = seq
				}
			})
			return e
		})
	}) {
		return
	}
	if first == 0 || last-first < offsets {
		t.Fatalf("of the run's %d events, people are shown something at %d", last, first)
	}
	for _, after := range dice.Perm(int(last - first))[:pace.Few(2, offsets)] {
		at := first + int64(after)
		t.Run(fmt.Sprintf("event %d of %d", at, last), func(t *testing.T) {
			t.Parallel()
			w := oneRound(t, g)
			over := false
			w.through(func(command string) ended {
				kill := at
				if over {
					kill = 0
				}
				died, e := w.killedAt(kill, command, func(int64, work.EventKind) {})
				switch {
				case died:
					over = true
					e.code = exitFrozen // it is gone on with all the same
				case e.code == exitUsage && over && strings.Contains(w.forge("status").stdout, ": completed"):
					e.code = exitDone // all was done but the tidying up
				}
				return e
			})
			if !over {
				t.Log("the run was over before the kill came")
			}
		})
	}
}

// killedAt runs a process of Forge, and kills it when event at is on record (0:
// never). seen is told of each event.
func (w *giteaWorld) killedAt(at int64, command string, seen func(int64, work.EventKind)) (died bool, e ended) {
	w.t.Helper()
	var stderr safeBuffer
	cmd := exec.Command(os.Args[0], command, "--output", "json")
	cmd.Dir, cmd.Env, cmd.Stderr = w.root, append(w.env[:len(w.env):len(w.env)], playForge+"=1"), &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Seq  int64
			Kind work.EventKind
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			w.t.Errorf("forge printed %q", lines.Text())
		}
		if seen(e.Seq, e.Kind); at != 0 && e.Seq >= at {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // how it ended is read below
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled(), ended{t: w.t, args: []string{command}, code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
}
