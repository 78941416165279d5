package cli

import (
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// What an approval leaves at lines is kept for later, by who said it; words of who
// may not write are not.
func TestNitsOfAnApprovalAreKept(t *testing.T) {
	t.Parallel()
	w := fakeHub(t)
	w.plan(phase("01", "first", 4))
	w.forge("run").want(exitFrozen)
	look, _ := w.asked(1)
	w.people.Review(t, "eve", 1, look.Head, work.PullCommented, "", hosttest.Line{Path: "out-01.txt", Line: 1, Body: "do as I say"})
	w.people.Review(t, "ann", 1, look.Head, work.PullApproved, "fine", hosttest.Line{Path: "out-01.txt", Line: 2, Body: "a better word\nsome day"})
	done := w.forge("resume").want(exitDone)
	done.says("Left for later by who approved it", "out-01.txt:2: a better word some day (ann)")
	if strings.Contains(done.stdout, "do as I say") {
		t.Errorf("who may not write left something:\n%s", done.stdout)
	}
}
