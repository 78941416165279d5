package cli

import (
	"testing"

	"forge/internal/work"
)

// What is no verdict is unknown, which is neither done nor failed.
func TestExitOfReview(t *testing.T) {
	for verdict, want := range map[work.Verdict]int{
		work.VerdictPass: exitDone, work.VerdictWarn: exitDone, work.VerdictFail: exitFailed, work.VerdictUnknown: exitUnjudged, "": exitUnjudged, "approved": exitUnjudged,
	} {
		if got := exitOfReview(verdict); got != want {
			t.Errorf("%q: %d, want %d", verdict, got, want)
		}
	}
}
