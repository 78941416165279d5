package cli

import (
	"regexp"
	"strings"
	"testing"
)

// The level is changed from elsewhere while a terminal asks: what is asked
// waits on, since it was asked before, and what comes after is decided by the
// new level, also where a yes was typed in between.
func TestLevelChangesWhileATerminalAsks(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]struct{ next, exit string }{
		"autonomous": {"completed", "EXIT=0"},
		"manual":     {`? Run iteration 1 of phase 01 "first"?`, ""},
	} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, done("01")+done("02"), "test -f README.md")
			w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
			term := w.terminal(100, 30, "run")
			term.shows(`? Start phase 01 "first"?`, "or its letter")
			run := regexp.MustCompile(`run (\S+) started`).FindStringSubmatch(term.screen(true))
			if run == nil {
				t.Fatalf("which run is it?\n%s", term.screen(true))
			}
			w.forge("level", run[1], level).want(exitDone).says("was asked before, and still waits", "takes it up by itself")
			term.shows("the policy is " + level + " from here on")
			term.shows(`? Start phase 01 "first"?`, "or its letter")
			if w.exists("out-01.txt") {
				t.Fatal("the phase began without an answer")
			}
			term.keys("y")
			term.shows(want.next)
			if want.exit == "" {
				w.forge("level", run[1], "autonomous").want(exitDone)
				term.shows("the policy is autonomous from here on", want.next, "or its letter")
				term.keys("y")
			}
			term.restored()
			term.shows("EXIT=0")
			if !w.exists("out-01.txt") || !w.exists("out-02.txt") || strings.Contains(term.screen(true), "Start phase 02") {
				t.Errorf("it did not go on by itself:\n%s", term.screen(true))
			}
		})
	}
}
