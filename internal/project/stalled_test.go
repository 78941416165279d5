package project

import (
	"context"
	"testing"

	"forge/internal/journal"
	"forge/internal/work"
)

// Asked is about runs that several machines drive and that are not over, and about no
// others: what a process of one machine drives, nobody else knows.
func TestAskStalled(t *testing.T) {
	together, alone := &journal.Owner{ID: "temporal/r", Host: "temporal"}, &journal.Owner{ID: "x", PID: 7, Host: "h"}
	rows := []journal.RunRow{
		{ID: "waits", Owner: together, Alive: true},
		{ID: "left", Owner: together}, // whoever watched it is gone
		{ID: "alone", Owner: alone, Alive: true},
		{ID: "nobody's"},
		{ID: "over", Owner: together, Status: journal.Status{Outcome: work.RunCompleted}},
	}
	asked := 0
	p := &Checkout{Env: Env{Stalled: func(_ context.Context, _ *Checkout, run string) string { asked++; return "no worker for " + run }}}
	for i := range rows {
		p.AskStalled(t.Context(), &rows[i])
	}
	for i, want := range []string{"no worker for waits", "no worker for left", "", "", ""} {
		if rows[i].Stalled != want {
			t.Errorf("of %s it is said %q, want %q", rows[i].ID, rows[i].Stalled, want)
		}
	}
	if asked != 2 {
		t.Errorf("%d were asked about", asked)
	}
	(&Checkout{}).AskStalled(t.Context(), &rows[0]) // nobody can be asked
}
