package factory

import (
	"testing"

	"forge/internal/work"
)

// originRows is the whole of NextOfOrigin, in words: what is said where an
// issue comes from × where its card is × at which moment → what happens. The
// columns of a row are: look, claim, decision, rework, landing.
var originRows = []struct {
	says   Wanted
	column work.Column
	state  work.IssueState
	want   [5]OriginStep
}{
	// Wanted: nothing is otherwise than without a tracker.
	{WantedYes, work.ColumnBacklog, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedYes, work.ColumnReady, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedYes, work.ColumnInProgress, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedYes, work.ColumnInReview, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedYes, work.ColumnDone, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	// Nobody can say: nothing new is claimed and nothing lands; what runs, runs.
	{WantedUnknown, work.ColumnBacklog, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	{WantedUnknown, work.ColumnReady, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	{WantedUnknown, work.ColumnInProgress, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	{WantedUnknown, work.ColumnInReview, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	{WantedUnknown, work.ColumnDone, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	// Not wanted: what waits and what runs goes back, what is finished stays.
	{WantedNo, work.ColumnBacklog, "", [5]OriginStep{OriginSay, OriginSay, OriginSay, OriginSay, OriginSay}},
	{WantedNo, work.ColumnReady, "", [5]OriginStep{OriginBack, OriginBack, OriginBack, OriginBack, OriginCheck}},
	{WantedNo, work.ColumnInProgress, "", [5]OriginStep{OriginBack, OriginBack, OriginBack, OriginBack, OriginCheck}},
	{WantedNo, work.ColumnInReview, "", [5]OriginStep{OriginSay, OriginSay, OriginCheck, OriginSay, OriginCheck}},
	{WantedNo, work.ColumnDone, "", [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedNo, "odd", "", [5]OriginStep{OriginSay, OriginSay, OriginSay, OriginSay, OriginSay}},
	// Waiting for a person is standing there.
	{WantedNo, work.ColumnReady, work.IssueWaits, [5]OriginStep{OriginBack, OriginBack, OriginBack, OriginBack, OriginCheck}},
	{WantedNo, work.ColumnInProgress, work.IssueWaits, [5]OriginStep{OriginBack, OriginBack, OriginBack, OriginBack, OriginCheck}},
	{WantedNo, work.ColumnInReview, work.IssueWaits, [5]OriginStep{OriginSay, OriginSay, OriginCheck, OriginSay, OriginCheck}},
	// What stopped keeps the reason why it did.
	{WantedNo, work.ColumnBacklog, work.IssueCancelled, [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedNo, work.ColumnReady, work.IssueCancelled, [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedNo, work.ColumnInProgress, work.IssueFailed, [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	{WantedNo, work.ColumnInReview, work.IssueFailed, [5]OriginStep{OriginGo, OriginGo, OriginGo, OriginGo, OriginGo}},
	// No word, and a word that nobody knows, are unknown.
	{"", work.ColumnReady, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
	{"sure", work.ColumnInReview, "", [5]OriginStep{OriginGo, OriginHold, OriginHold, OriginHold, OriginHold}},
}

func TestNextOfOrigin(t *testing.T) {
	seen := map[Wanted]map[work.Column]bool{}
	for _, row := range originRows {
		if seen[row.says] == nil {
			seen[row.says] = map[work.Column]bool{}
		}
		seen[row.says][row.column] = true
		i := work.Issue{ID: 3, Column: row.column, State: row.state, Run: "r3", Branch: "forge/issue-3"}
		for n, at := range []Moment{AtLook, AtClaim, AtDecision, AtRework, AtLanding} {
			if got := NextOfOrigin(row.says, i, at); got != row.want[n] {
				t.Errorf("%s in %s %s at %s: %s, want %s", row.says, row.column, row.state, at, got, row.want[n])
			}
		}
	}
	for _, says := range []Wanted{WantedYes, WantedNo, WantedUnknown} {
		for _, column := range work.Columns() {
			if !seen[says][column] {
				t.Errorf("no row says what happens to %s in %s", says, column)
			}
		}
	}
}

// A card that is put back stops who works on it, and keeps what was done.
func TestPutBack(t *testing.T) {
	i := PutBack(work.Issue{ID: 3, Column: work.ColumnInProgress, Run: "r3", Branch: "forge/issue-3", Hold: []string{"x"}}, "closed_on_tracker: it was closed")
	if !takenAway(i) || i.Run != "r3" || i.Branch == "" || i.Column != work.ColumnBacklog || i.State != work.IssueWaits || i.Reason == "" || len(i.Hold) != 0 {
		t.Errorf("put back: %+v", i)
	}
}
