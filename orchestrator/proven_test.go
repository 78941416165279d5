package orchestrator

import (
	"testing"

	"forge/internal/work"
)

// TestRedInThisRunIsAskedAgain: a record of a tree that is red in this run cannot
// hide that it is flaky.
func TestRedInThisRunIsAskedAgain(t *testing.T) {
	r := open(t)
	key := work.ProofKey{Key: "k", Tree: "t"}
	b := work.ProvenBefore{Key: "k", Tree: "t", Run: "r", Command: "c", At: r.now}
	r.s.Spec.Settings.Verify.ReuseSecs = 60
	c := Command{On: work.OnBase}
	if !r.s.believes(c, key, b, r.now) {
		t.Fatal("a good record is not believed")
	}
	for _, verdict := range []string{verdictRed, verdictBoth} {
		r.s.Verdicts = map[string]string{"t 123": verdict}
		if r.s.believes(c, key, b, r.now) {
			t.Errorf("believed of a tree that was %s", verdict)
		}
	}
	r.s.Verdicts = map[string]string{"t2 123": verdictRed}
	if !r.s.believes(c, key, b, r.now) {
		t.Error("another tree was red")
	}
}

// TestResumedFresh: from a resume with --fresh on nothing stands for a run.
func TestResumedFresh(t *testing.T) {
	r := open(t, func(s *Spec) { s.Settings.Verify.ReuseSecs = 60 })
	if r.s.reuse("") == 0 {
		t.Fatal("nothing is reused")
	}
	applyResumed(r.s, nil, work.Event{}, RunResumedData{})
	if r.s.reuse("") == 0 {
		t.Error("a resume without --fresh runs all of it")
	}
	applyResumed(r.s, nil, work.Event{}, RunResumedData{Fresh: true})
	applyResumed(r.s, nil, work.Event{}, RunResumedData{})
	if r.s.reuse("") > 0 {
		t.Error("--fresh is forgotten")
	}
}
