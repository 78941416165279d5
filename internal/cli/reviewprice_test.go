package cli

import (
	"regexp"
	"strings"
	"testing"

	"forge/internal/work"
)

// What a review takes is said before anybody is asked, and --max-usd bounds it
// beside what [cost] says: who does not fit any more is unknown, never a pass.
func TestReviewSaysItsPriceFirst(t *testing.T) {
	w, _ := changed(t, twoLines(), "[reviews]\nparallel = false\n")
	said := w.forge("review").want(exitDone).stderr
	price, first := strings.Index(said, "what is asked"), strings.Index(said, "review by security")
	if price < 0 || first < price || !regexp.MustCompile(`what is asked questions=4 tokens="about \d{4,}" cost="[^"]+, answers not counted"\n`).MatchString(said) {
		t.Errorf("before it asks it says:\n%s", said)
	}
	said = w.forge("review", "--max-usd", "0.5").want(exitDone).stderr
	if !strings.Contains(said, "cap=$0.50") {
		t.Errorf("its cap is not said:\n%s", said)
	}
	res := w.reviewJSON(exitUnjudged, "--max-usd", "0.000001")
	for n, r := range res.Reviewers {
		if unpaid := n > 0; unpaid != (r.Verdict == work.VerdictUnknown) || unpaid && !strings.Contains(r.Why, "cost.run_usd") {
			t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Why)
		}
	}
	for _, wrong := range []string{"0", "-1", "NaN"} {
		w.forge("review", "--max-usd", wrong).want(exitUsage)
	}
}
