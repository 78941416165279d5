package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/work"
)

// gated is a step that waits for a file before it keeps its promise.
func gated(number, file string) string {
	return fmt.Sprintf("[[step]]\nphase = %q\ndo = [{run = \"while [ ! -e %s ]; do sleep 0.02; done\"}, {write = \"out-%s.txt\", content = \"x\\n\"}, {print = \"<promise>PHASE %s DONE</promise>\"}]\n",
		number, file, number, number)
}

// Into a pipe goes what has changed, once, and the end of the run ends it.
func TestStatusWatchPrintsWhatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, gated("01", dir+"/go-1")+gated("02", dir+"/go-2"), "true")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
	run := w.begin("run", "--autonomous")
	w.eventually("the first phase works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	watch, docs := w.begin("status", "--watch"), w.begin("status", "--watch", "--output", "json")
	w.eventually("it shows the phase", func() bool {
		return strings.Contains(watch.stdout.String(), "phase 01 first: at work") && docs.stdout.String() != ""
	})
	w.write(dir+"/go-1", "")
	w.eventually("it shows the next", func() bool { return strings.Contains(watch.stdout.String(), "phase 02 second: at work") })
	w.write(dir+"/go-2", "")
	run.wait().want(exitDone)
	got := watch.wait().want(exitDone)
	order(t, got.stdout, ": running\n", "phase 01 first: at work, 0/2 iterations\n", "phase 01 first: done, 1/2 iterations\n", "phase 02 second: at work, 0/2 iterations\n", "phase 02 second: done, 1/2", ": completed\n")
	line := regexp.MustCompile(`^\d\d:\d\d:\d\d  (run|phase|question) \S+.*: .+$`)
	var lines []string
	for l := range strings.Lines(got.stdout) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("no such line is wanted: %q", l)
		}
		lines = append(lines, l[len("00:00:00"):])
	}
	if n := len(lines); n != len(slices.Compact(lines)) {
		t.Errorf("a line stands there twice in a row:\n%s", got.stdout)
	}

	last := ""
	n := 0
	for doc := range strings.Lines(docs.wait().want(exitDone).stdout) {
		var d report.RunStatus
		if err := json.Unmarshal([]byte(doc), &d); err != nil || doc == last {
			t.Errorf("%v, or the same twice: %s", err, doc)
		}
		last, n = doc, n+1
	}
	var end report.RunStatus
	if err := json.Unmarshal([]byte(last), &end); err != nil || end.State != project.StateFinished || end.Outcome != work.RunCompleted || len(end.Phases) != 2 || n < 3 {
		t.Errorf("%v: %d documents, the last one is %s", err, n, last)
	}
	// Of a run that is over there is nothing to wait for.
	w.forge("status", "--watch").want(exitDone).says("phase 02 second: done", ": completed\n")
}

// It ends when a run waits for a person, and says what it is asked.
func TestStatusWatchEndsWhereThePersonComesIn(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	got := w.forge("status", "--watch").want(exitDone)
	order(t, got.stdout, "phase 01 ", ": waits for you,", "question ", "frozen, it waits for a person")
	w.forge("status", "--watch", "--all").want(exitUsage).warns("do not go together")
}

// Ctrl-C leaves, and the run goes on.
func TestStatusWatchIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, gated("01", dir+"/go"), "true")
	w.plan(phase("01", "first", 1))
	run := w.begin("run", "--autonomous")
	w.eventually("the phase works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	watch := w.begin("status", "--watch")
	w.eventually("it shows the phase", func() bool { return strings.Contains(watch.stdout.String(), "at work") })
	watch.stop()
	watch.wait().want(exitInterrupted)
	w.write(dir+"/go", "")
	run.wait().want(exitDone)
}

// On a terminal the same lines are drawn anew, whatever the window holds, and
// the last of them stay.
func TestStatusWatchOnATerminal(t *testing.T) {
	pace.Slow(t, "thirteen phases, two at a time")
	t.Parallel()
	dir := t.TempDir()
	var plan []work.Phase
	script := gated("01", dir+"/go-1")
	for i := range 12 {
		n := fmt.Sprintf("%02d", i+2)
		script += gated(n, dir+"/go-2")
		plan = append(plan, phase(n, "phase of a longer name, which is the "+n, 2, "01"))
	}
	w := newWorld(t, script, "true")
	w.plan(append([]work.Phase{phase("01", "first", 2)}, plan...)...)
	run := w.begin("run", "--autonomous", "--max-parallel", "2")
	w.eventually("the first phase works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	term := w.terminal(70, 16, "status", "--watch")
	// Twelve phases that wait do not fit.
	term.shows(": running", "01     first  at work", "and 0 done, 12 waiting")
	term.keys("Enter")
	w.write(dir+"/go-1", "")
	term.shows("and 1 done, 10 waiting")
	if s := term.screen(false); strings.Contains(s, "01     first") {
		t.Errorf("what was drawn before still stands there:\n%s", s)
	}
	if err := os.WriteFile(dir+"/go-2", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run.wait().want(exitDone)
	term.shows("EXIT=0")
	term.restored()
	all := term.screen(true)
	if !strings.Contains(all, "and 1 done") {
		order(t, all, ": completed", "01     first", "13     phase of a longer name, which is the 13", "EXIT=0")
	} else {
		t.Errorf("what was drawn before still stands there:\n%s", all)
	}
}

// Ctrl-C leaves a terminal as it was.
func TestStatusWatchIsInterruptedOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, gated("01", dir+"/go"), "true")
	w.plan(phase("01", "first", 1))
	run := w.begin("run", "--autonomous")
	w.eventually("the phase works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	term := w.terminal(80, 24, "status", "--watch")
	term.shows("01     first  at work")
	term.keys("C-c")
	term.shows("EXIT=130")
	term.restored()
	w.write(dir+"/go", "")
	run.wait().want(exitDone)
}
