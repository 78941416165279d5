package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The script for pull requests is the one that review_cmd_ci.txtar
// runs, every workflow beside it calls it, and fetches what it needs.
func TestReviewExamplesAreTheTestedOnes(t *testing.T) {
	script, err := os.ReadFile(root + "/examples/ci/review/forge-review.sh")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(scripts + "review_cmd_ci.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tested), "-- project/forge-review.sh --\n"+string(script)) {
		t.Error("review_cmd_ci.txtar tests another script than examples/ci/review/forge-review.sh")
	}
	flows, err := filepath.Glob(root + "/examples/ci/review/*.yml")
	if err != nil || len(flows) != 3 {
		t.Fatalf("%d workflows, %v", len(flows), err)
	}
	for _, f := range flows {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "./forge-review.sh ") {
			t.Errorf("%s does not call forge-review.sh", f)
		}
		if !strings.Contains(string(text), "timeout-minutes:") && !strings.Contains(string(text), "timeout:") {
			t.Errorf("%s has no time limit", f)
		}
		if !strings.Contains(string(text), "fetch-depth: 0") && !strings.Contains(string(text), `GIT_DEPTH: "0"`) {
			t.Errorf("%s does not fetch the history that the review needs", f)
		}
	}
}
