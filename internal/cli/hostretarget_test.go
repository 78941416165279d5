package cli

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// A pull request that somebody points at main is merged nowhere until it is set
// back, whoever approves it where; there is one, and the question says why.
func TestPullRequestWhoseTargetWasChanged(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	g := hosttest.StartGitHub(t)
	w := hubAt(t, g, g.URL)
	w.forge("run").want(exitFrozen)
	look, id := w.asked(1)
	main := look.BaseHead
	g.Point(t, "main", main) // as it is while nobody else lands anything
	still := func(doing string) {
		t.Helper()
		if at, err := w.host.Head(t.Context(), "main"); err != nil || at != main {
			t.Fatalf("%s: main is at %s, %v; it was at %s", doing, at, err, main)
		}
	}
	// Approved there.
	w.people.Retarget(t, "ben", 1, "main")
	w.people.Review(t, "ann", 1, look.Head, work.PullApproved, "fine")
	const why = "its target was changed to main by ben: set it back to "
	w.forge("resume").want(exitFrozen).warns(why)
	still("approved on the host")
	w.forge("show", id).want(exitDone).says(why + look.Base + " there, or answer here")
	w.forge("host", "status").want(exitDone).says("waits", why)

	// Answered here, it is asked again, saying so; there is no second one.
	w.forge("approve", id, "--resume").want(exitFrozen)
	still("approved at the terminal")
	if two, err := w.host.Look(t.Context(), 2); work.HostKindOf(err) != work.HostNoPull {
		t.Fatalf("a second pull request of the phase: %+v, %v", two.PullRequest, err)
	}
	_, again := w.asked(1)
	if again == id {
		t.Fatalf("%s is asked again under its own name", id)
	}
	w.forge("show", again).want(exitDone).says("its target was changed to main by ben; set it back to " + look.Base)

	// Set back, the approval that is there counts.
	w.people.Retarget(t, "ben", 1, look.Base)
	w.forge("resume").want(exitFrozen)
	still("set back")
	after, err := w.host.Look(t.Context(), 1)
	if err != nil || after.State != work.PullMerged || after.Base != look.Base || after.Head != look.Head {
		t.Fatalf("set back: %+v, %v", after.PullRequest, err)
	}
	// A later phase, which goes on without it in the end.
	second, id := w.asked(2)
	w.people.Retarget(t, "ann", 2, "main")
	w.forge("approve", id, "--resume").want(exitFrozen)
	_, id = w.asked(2)
	w.forge("approve", id, "--resume").want(exitDone)
	still("gone on without it")
	if now, err := w.host.Look(t.Context(), 2); err != nil || now.State != work.PullClosed || now.Head != second.Head {
		t.Errorf("gone on without it: %+v, %v", now.PullRequest, err)
	}
	if got := w.git("show", "HEAD:out-02.txt"); got != "made by 02" {
		t.Errorf("out-02.txt is %q", got)
	}
}

// The result of an issue is approved where its pull request points elsewhere, and
// lands when that is set back.
func TestIssueWhosePullRequestWasRetargeted(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	s.forge("factory", "--once").want(exitFrozen)
	look := s.pull()
	if err := s.host.Push(t.Context(), "release", look.BaseHead, ""); err != nil {
		t.Fatal(err)
	}
	s.people.Retarget(t, "ben", 1, "release")
	s.people.Review(t, "ann", 1, look.Head, work.PullApproved, "fine")
	s.forge("factory", "--once").want(exitFrozen)
	s.card("its target was changed to release by ben", "set its target back to main")
	for _, branch := range []string{"main", "release"} {
		if at, err := s.host.Head(t.Context(), branch); err != nil || at != look.BaseHead {
			t.Fatalf("%s is at %s, %v", branch, at, err)
		}
	}
	s.people.Retarget(t, "ben", 1, "main")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
}

// What is merged elsewhere all the same, by hand or because the target was
// changed in the very moment of the merge, is no result of the phase.
func TestPullRequestMergedElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := func(t *testing.T, w *pullWorld, before string) {
		t.Helper()
		_, id := w.asked(1)
		if id == before {
			t.Fatalf("%s is not asked again", id)
		}
		w.forge("show", id).want(exitDone).says("main")
		for range 2 {
			if _, err := w.host.Pull(t.Context(), 2); work.HostKindOf(err) != work.HostNoPull {
				break
			}
			w.forge("approve", id, "--resume").want(exitFrozen)
			_, id = w.asked(1)
		}
		look, err := w.host.Look(t.Context(), 2)
		if err != nil || !strings.HasSuffix(look.Branch, "/phase-2-tactical") || look.State != work.PullOpen {
			t.Errorf("the next phase: %+v, %v", look.PullRequest, err)
		}
	}
	t.Run("ByHand", func(t *testing.T) {
		t.Parallel()
		g := hosttest.StartGitHub(t)
		w := hubAt(t, g, g.URL)
		w.forge("run").want(exitFrozen)
		look, id := w.asked(1)
		g.Point(t, "main", look.BaseHead)
		w.people.Retarget(t, "ann", 1, "main")
		w.people.MergeByHand(t, 1)
		w.forge("resume").want(exitFrozen).warns("into main, and not into forge/run-")
		w.forge("approve", id, "--resume").want(exitFrozen)
		elsewhere(t, w, id)
	})
	t.Run("InTheMoment", func(t *testing.T) {
		t.Parallel()
		g := hosttest.StartGitHub(t)
		proxy := hosttest.StartProxy(t, g.URL)
		w := hubAt(t, g, proxy.URL)
		w.forge("run").want(exitFrozen)
		look, id := w.asked(1)
		g.Point(t, "main", look.BaseHead)
		done := false
		proxy.Misbehave(func(req *http.Request) hosttest.Fault {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/merge") && !done {
				done = true
				w.people.Retarget(t, "ann", 1, "main")
			}
			return hosttest.Fault{}
		})
		w.forge("approve", id, "--resume").want(exitFrozen)
		elsewhere(t, w, id)
	})
}
