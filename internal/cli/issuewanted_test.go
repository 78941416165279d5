package cli

import (
	"io"
	"testing"

	"forge/factory"
	"forge/internal/work"
)

// A finished result whose issue is not wanted any more where it came from goes
// nowhere by itself, with or without a code host, and no new run is begun for
// it. What a person merged is taken note of.
func TestUnwantedResultDoesNotLand(t *testing.T) {
	t.Parallel()
	const why = "closed_on_tracker: it was closed"
	s := issueHub(t, "plan_then_review")
	s.forge("factory", "--once").want(exitFrozen)
	s.forge("approve", s.question(), "--resume").want(exitDone)
	sh := s.open(io.Discard)
	loop := sh.Loop()
	i, err := sh.Journal.Issue(t.Context(), sh.Project, 1)
	if err != nil {
		t.Fatal(err)
	}
	land := func(unwanted string) factory.Landed {
		t.Helper()
		got, err := loop.Works.Land(t.Context(), i, unwanted, func(p work.IssuePull) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ended, err := loop.Works.Drive(t.Context(), factory.Order{Issue: i, Finish: true, Named: func(string, string, *work.IssuePull) error {
		t.Error("a new run is begun")
		return nil
	}})
	if err != nil || !factory.Lands(ended) {
		t.Errorf("it ended %+v, %v", ended, err)
	}
	if got := land(why); got.Commit != "" || got.Hold != factory.HoldUnwanted || got.Reason != why || !got.Waits || !got.Until.IsZero() {
		t.Errorf("landed %+v", got)
	}
	if at := s.pull(); at.State != work.PullOpen {
		t.Fatalf("its pull request: %+v", at.PullRequest)
	}
	s.people.MergeByHand(t, 1)
	if got := land(why); got.Commit == "" || got.Hold != "" {
		t.Errorf("merged by hand: %+v", got)
	}
}

// Without a code host the same holds for the branch that results land in.
func TestUnwantedResultDoesNotLandLocally(t *testing.T) {
	t.Parallel()
	w := newWorld(t, issueScript, "true")
	w.configure("[factory]\ntriage = \"off\"\n", "true")
	w.forge("issue", "add", "Write it", "--column", "ready", "--level", "plan_then_review").want(exitDone)
	s := &issueWorld{pullWorld: &pullWorld{world: w}}
	w.forge("factory", "--once").want(exitFrozen)
	w.forge("approve", s.question(), "--resume").want(exitDone)
	sh := s.open(io.Discard)
	i, err := sh.Journal.Issue(t.Context(), sh.Project, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sh.Loop().Works.Land(t.Context(), i, "closed", nil)
	if err != nil || got.Commit != "" || got.Hold != factory.HoldUnwanted || w.git("branch", "--list", "forge/landed") != "" {
		t.Errorf("landed %+v, %v", got, err)
	}
	got, err = sh.Loop().Works.Land(t.Context(), i, "", nil)
	if err != nil || got.Commit == "" {
		t.Errorf("wanted: %+v, %v", got, err)
	}
	// It is there: that is found, whatever became of the issue.
	again, err := sh.Loop().Works.Land(t.Context(), i, "closed", nil)
	if err != nil || again.Commit != got.Commit {
		t.Errorf("landed before: %+v, %v", again, err)
	}
}
