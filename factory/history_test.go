package factory

import (
	"testing"

	"forge/internal/work"
)

// The history says what happened, and the card where the result is.
func TestHistorySaysWhatHappened(t *testing.T) {
	done := Ended{Outcome: work.RunCompleted, Promoted: true}
	was := work.Issue{ID: 1, Column: work.ColumnInProgress}
	if got := became(work.Issue{Column: work.ColumnInReview, Hold: []string{"autonomy_disabled"}}); got != work.IssueAsked {
		t.Errorf("held for a person: %s", got)
	}
	for _, c := range []struct {
		landed Landed
		want   work.IssueAction
		reason string
	}{
		{Landed{Commit: "0123456789abcdef", Target: "forge/landed"}, work.IssueLanded, "landed on forge/landed as 0123456789ab: git merge forge/landed brings it to your branch"},
		{Landed{Hold: "red", Reason: "it is red"}, work.IssueNotDone, "it is red"},
		{Landed{Hold: "pull", Reason: "it is shown", Waits: true}, work.IssueAsked, "it is shown"},
	} {
		now, _, ok := Settled(was, done, &c.landed)
		if got := became(now); !ok || got != c.want || now.Reason != c.reason {
			t.Errorf("%+v: %v, %s, %q", c.landed, ok, got, now.Reason)
		}
	}
}
