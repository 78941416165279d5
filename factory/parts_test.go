package factory

import (
	"testing"

	"forge/internal/work"
)

func TestAParentIsDoneWhenItsPartsAre(t *testing.T) {
	done := work.Issue{ID: 2, Column: work.ColumnDone}
	review := work.Issue{ID: 3, Column: work.ColumnInReview}
	failed := work.Issue{ID: 4, Column: work.ColumnInProgress, State: work.IssueFailed, Reason: "phase 1: stale"}
	for _, c := range []struct {
		parts  []work.Issue
		done   bool
		reason string
	}{
		{nil, false, "waits for its parts: 0 of 0 done"},
		{[]work.Issue{done, done}, true, "its 2 parts are done"},
		{[]work.Issue{done, review}, false, "waits for its parts: 1 of 2 done"},
		{[]work.Issue{done, failed}, false, "waits for its parts: 1 of 2 done; #4 failed: phase 1: stale"},
		{[]work.Issue{{ID: 5, Column: work.ColumnReady, State: work.IssueCancelled}}, false, "waits for its parts: 0 of 1 done; #5 cancelled"},
	} {
		if done, reason := Parts(c.parts); done != c.done || reason != c.reason {
			t.Errorf("Parts(%v) = %v, %q; want %v, %q", c.parts, done, reason, c.done, c.reason)
		}
	}
}
