//go:build real

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// pullSeed is FORGE_SEED, else another one each time.
func pullSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("FORGE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FORGE_SEED: %v", err)
		}
	}
	t.Logf("FORGE_SEED=%d plays the same again", seed)
	return seed
}

// badWeather lets one request of eight go wrong: refused or cut, before or after
// the host has done it, or slow.
func badWeather(seed uint64) func(*http.Request) hosttest.Fault {
	dice := rand.New(rand.NewPCG(seed, 1))
	return func(*http.Request) hosttest.Fault {
		if dice.IntN(8) != 0 {
			return hosttest.Fault{}
		}
		after := dice.IntN(2) == 0
		switch dice.IntN(3) {
		case 0:
			return hosttest.Fault{Status: http.StatusInternalServerError + dice.IntN(4), After: after}
		case 1:
			return hosttest.Fault{Cut: true, After: after}
		}
		return hosttest.Fault{Delay: time.Duration(dice.IntN(400)) * time.Millisecond}
	}
}

// faulty: with a server that now and then does not answer, answers too late, or
// fails after it has done what it was asked to, a run ends as on a good day.
func faulty(t *testing.T, g *hosttest.GiteaCrowd) {
	seed := pullSeed(t)
	for n := range uint64(pace.Few(1, 3)) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			proxy := hosttest.StartProxy(t, g.URL)
			w := realPulls(t, g, inThreads(pullScript, "I wrote the second line in capitals.")).hosted(proxy.URL, "forge")
			proxy.Misbehave(badWeather(seed + n))
			w.through(func(command string) ended { return w.forge(command) })
		})
	}
}

// through takes the run to its end: the first state of phase 01 is sent back
// with a comment on a line, one on the whole and a commit, all else is approved
// once people see it. forge is called until it says that all is done.
func (w *giteaWorld) through(forge func(command string) ended) {
	t := w.t
	judged := map[string]int{}
	for tries, command := 0, "run"; ; tries++ {
		e := forge(command)
		if e.code == exitDone {
			w.atEnd()
			return
		}
		if e.code != exitFrozen || tries > 40 {
			about := ""
			for _, id := range w.open() {
				about += w.forge("show", id).stdout
			}
			for _, look := range w.pulls() {
				about += fmt.Sprintf("%+v\n", look)
			}
			t.Fatalf("forge %s: exit code %d at try %d\n%s\n%s\n%s", command, e.code, tries, e.stdout, e.stderr, about)
		}
		if w.begun() {
			command = "resume"
		}
		look, id := w.visible()
		if id == "" {
			continue // the host could not be reached, or Forge was killed: it is tried again
		}
		// Who approved and sees for long that nothing comes of it looks again.
		if judged[id]++; judged[id]%5 != 1 || len(judged) == 1 && judged[id] > 1 {
			continue
		}
		if len(judged) > 1 {
			w.says("ann", look, work.PullApproved)
			continue
		}
		w.people.Say(t, "ben", look.Number, "on-the-whole")
		w.push(look.Branch, map[string]string{"by-ann.txt": "ann\n"})
		w.people.Review(t, "ben", look.Number, look.Head, work.PullCommented, "beside-it")
		w.people.Review(t, "ann", look.Number, look.Head, work.PullChangesRequested, "in-the-review", hosttest.Line{Path: "out-01.txt", Line: 2, Body: "at-the-line"})
	}
}

// visible is the pull request that shows the open question as it is, and that
// question, "" = none does.
func (w *giteaWorld) visible() (work.PullLook, string) {
	w.t.Helper()
	all := w.pulls()
	if len(all) == 0 {
		return work.PullLook{}, ""
	}
	look, err := w.host.Look(w.t.Context(), all[len(all)-1].Number)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, id := range w.open() {
		if look.State == work.PullOpen && strings.Contains(look.Body, "forge approve "+id) {
			return look, id
		}
	}
	return look, ""
}

// open are the questions that wait.
func (w *giteaWorld) open() []string {
	w.t.Helper()
	var list struct{ Checkpoints []struct{ ID, Status string } }
	if err := json.Unmarshal([]byte(w.forge("status", "--output", "json").stdout), &list); err != nil {
		return nil // there is no run yet
	}
	var out []string
	for _, cp := range list.Checkpoints {
		if cp.Status == string(work.CheckpointPending) {
			out = append(out, cp.ID)
		}
	}
	return out
}

// begun says whether there is a run.
func (w *giteaWorld) begun() bool { return w.forge("status").code == exitDone }

// atEnd says that the run came to what it comes to on a good day.
func (w *giteaWorld) atEnd() {
	t := w.t
	t.Helper()
	w.sound()
	phases := strings.Count(w.git("ls-files", "out-*"), "out-")
	if got := len(w.pulls()); got != phases || phases == 0 {
		t.Errorf("there are %d pull requests for %d phases", got, phases)
	}
	for name, want := range map[string]string{"out-01.txt": "one\nTWO\nthree", "by-ann.txt": "ann"} {
		if got := w.git("show", "HEAD:"+name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := w.git("rev-list", "--count", "HEAD"); got != fmt.Sprint(phases+1) {
		t.Errorf("the history has %s commits", got)
	}
	prompts := w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone)
	prompts.says("in-the-review", "beside-it", "at-the-line", "out-01.txt:2", "on-the-whole", "by-ann.txt")
	look, err := w.host.Look(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	words := "second line in capitals"
	// The agent cannot read the numbers of threads, and knows the first ones alone.
	for _, thread := range look.Threads {
		if n, err := strconv.Atoi(thread.ID); err != nil || n >= work.MaxSignals {
			words = "Changed in"
		}
	}
	w.answered(look, words, 1)
}

// restarted: Gitea goes away and comes back in the middle of a run.
func restarted(t *testing.T, g *hosttest.GiteaCrowd) {
	w := realPulls(t, g, pullScript).hosted(g.URL, "forge")
	w.forge("run").want(exitFrozen)
	look, id := w.current()
	w.people.Review(t, "ann", 1, look.Head, work.PullCommented, "I looked")
	w.approved = append(w.approved, look.Head) // below
	g.Stop()
	w.forge("resume").want(exitFrozen).warns("were not read")
	going := w.begin("approve", id, "--resume")
	w.eventually("the answer is taken", func() bool { return strings.Contains(going.stderr.String(), "answered") })
	g.Start(t)
	going.wait().want(exitFrozen)
	w.landed(look)
	second, _ := w.current()
	if second.Number != 2 {
		t.Fatalf("the next is %+v", second.PullRequest)
	}
	g.Stop()
	g.Start(t)
	w.says("ann", second, work.PullApproved)
	w.forge("resume").want(exitDone)
	w.landed(second)
	w.sound()
}
