package house

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The script under examples/ is the one that ci_example.txtar
// runs, and every workflow beside it calls it.
func TestExamplesAreTheTestedOnes(t *testing.T) {
	script, err := os.ReadFile(root + "/examples/ci/forge.sh")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(scripts + "ci_example.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tested), "-- project/forge.sh --\n"+string(script)) {
		t.Error("ci_example.txtar tests another script than examples/ci/forge.sh")
	}
	flows, err := filepath.Glob(root + "/examples/ci/*.yml")
	if err != nil || len(flows) != 3 {
		t.Fatalf("%d workflows, %v", len(flows), err)
	}
	for _, f := range flows {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "./forge.sh") {
			t.Errorf("%s does not call forge.sh", f)
		}
		for _, words := range [][]string{{"concurrency:", "resource_group:"}, {"timeout-minutes:", "timeout:"}, {"cache:"}, {"upload-artifact", "artifacts:"}} {
			if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(string(text), word) }) {
				t.Errorf("%s has none of %v", f, words)
			}
		}
	}
}
