package cli

import (
	"strings"
	"testing"

	"forge/factory"
	"forge/internal/work"
)

// TestTriageAsksOnThePages: what triage asks is looked at and answered there as
// anything else, and is taken for a run nowhere.
func TestTriageAsksOnThePages(t *testing.T) {
	w := newWorld(t, "[[step]]\ndo = []\n", "true")
	s := withPages(t, w)
	i, err := s.worker.Add(t.Context(), work.Issue{Title: "Sort the list", Priority: work.PriorityNormal, Column: work.ColumnReady},
		factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.worker.Loop().Triage.Triage(t.Context(), i); err != nil || got.Verdict != factory.TriageWaits {
		t.Fatalf("%+v, %v", got, err)
	}
	owner := s.Owner()
	s.has(owner, "/p/demo/checkpoints/triage-1-1.1", "Go on with issue 1 (Sort the list)", "is not asked", `value="approved:accept"`, `value="changes_requested:redirect"`, `value="rejected:dismiss"`)
	if body := s.has(owner, "/p/demo/runs"); strings.Contains(body, "triage-1-1") {
		t.Error("the triage stands among the runs")
	}
	if a := owner.Get("/p/demo/runs/triage-1-1"); a.Status != 404 {
		t.Errorf("the page of a run answers %d for a triage", a.Status)
	}
}
