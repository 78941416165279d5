package cli

import (
	"strings"
	"testing"
)

// A plan of two phases is run, proven and merged into the user's branch.
func TestRunLandsTheResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01")+done("02"), "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
	w.forge("run", "--autonomous").want(exitDone).says("completed", "Undo:")
	if !w.exists("out-01.txt") || !w.exists("out-02.txt") {
		t.Errorf("the checkout was not moved: %s", w.git("log", "--stat", "--oneline"))
	}
	if got := w.git("log", "-1", "--format=%an <%ae>"); got != "Test <test@example.invalid>" {
		t.Errorf("author %q, want the user", got)
	}
	if got := w.git("log", "-1", "--format=%b"); !strings.Contains(got, "Forge-Phase: 02") {
		t.Errorf("trailers missing: %q", got)
	}
}
