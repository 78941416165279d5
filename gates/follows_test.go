package gates

import (
	"strings"
	"testing"
)

// Every point at which the three answers mean something says what comes of each,
// as a sentence; where choices say it, nothing else does.
func TestFollowsOfEveryPoint(t *testing.T) {
	points := append(Points(), PointPhaseTransition, PointDeliverable, PointFinalOutput, PointQuestion, CheckpointPoint("release-notes"))
	for _, pt := range points {
		for _, ofIssue := range []bool{false, true} {
			f := FollowsOf(pt, ofIssue)
			said := map[string]bool{f.Verb: true, f.Approved: true, f.Changes: true, f.Rejected: true}
			switch choices := len(Choices(pt)) > 0 || pt == AnyCheckpoint || pt == PointIntent || pt == PointContext || pt == PointAction; {
			case choices && f != (Follows{}):
				t.Errorf("%s: its choices say what follows, and so does %+v", pt, f)
			case choices:
			case len(said) != 4 || said[""]:
				t.Errorf("%s: not each answer says its own: %+v", pt, f)
			default:
				for _, sentence := range []string{f.Approved, f.Changes, f.Rejected} {
					if !strings.HasSuffix(sentence, ".") || strings.ContainsAny(sentence, "_<") {
						t.Errorf("%s: no sentence for a person: %q", pt, sentence)
					}
				}
			}
		}
	}
	if f := FollowsOf("nonsense", false); f != (Follows{}) {
		t.Errorf("of a point that nobody knows it says %+v", f)
	}
	run, issue := FollowsOf(PointFinal, false), FollowsOf(PointFinal, true)
	if !strings.Contains(run.Rejected, "run fails") || !strings.Contains(issue.Rejected, "in review") {
		t.Errorf("a result that is rejected: run %q, issue %q", run.Rejected, issue.Rejected)
	}
}
