package cli

import (
	"testing"

	"forge/internal/pullrequest"
	"forge/internal/work"
)

// What a reviewer reads first is what does the work, whatever comes first by
// name.
func TestReadFirst(t *testing.T) {
	t.Parallel()
	changes := []work.FileChange{
		{Path: "docs/prices.md", Status: "A"}, {Path: "gone.go", Status: "D"}, {Path: "price_test.go", Status: "M"}, {Path: "src/price.go", Status: "M"}, {Path: "src/total.go", Status: "A"},
	}
	if got, want := pullrequest.ReadFirst(changes).String(), "- `src/price.go`\n- `src/total.go`\n- `price_test.go`\n"; got != want {
		t.Errorf("read first:\n%s\nwant\n%s", got, want)
	}
	job := []work.FileChange{{Path: "README.md", Status: "M"}, {Path: work.JobDir + "/plan.md", Status: "A"}, {Path: work.JobDir + "/todos.yaml", Status: "A"}}
	if got, want := pullrequest.ReadFirst(job).String(), "- `forge-job/plan.md`\n- `forge-job/todos.yaml`\n- `README.md`\n"; got != want {
		t.Errorf("of a job read first:\n%s\nwant\n%s", got, want)
	}
	if got, want := pullrequest.TellChanges(changes[:2]).String(), "2 files:\n\n- `docs/prices.md` (added)\n- `gone.go` (deleted)\n"; got != want {
		t.Errorf("changed:\n%s\nwant\n%s", got, want)
	}
}

// Signals say something to Forge and nothing to people.
func TestFactsWithoutSignals(t *testing.T) {
	t.Parallel()
	got := pullrequest.TellFacts("Merge?\n\nIteration 1: ok, 1 file changed. It said: <promise>P DONE</promise>\nIteration 2: ok, 0 files changed. It said: Louder now. <promise>P DONE</promise>\n<progress>90</progress>")
	if want := "Merge?\n\nIteration 1: ok, 1 file changed.\nIteration 2: ok, 0 files changed. It said: Louder now."; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
