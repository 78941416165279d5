package cli

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// checksScript changes something in each of its iterations.
const checksScript = `[[step]]
phase = "01"
iteration = 1
do = [{write = "out-01.txt", content = "one\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
iteration = 2
do = [{write = "out-01.txt", content = "two\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
do = [{write = "out-01.txt", content = "three\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
`

// Checks that fail on a phase's pull request go to the agent, each head once and
// as often as allowed; what is flaky is said and left alone; then people decide.
func TestChecksOfAPhaseAreMended(t *testing.T) {
	pace.Slow(t, "round after round of a pull request")
	t.Parallel()
	w := fakeHub(t)
	w.write(".forge/agent.toml", checksScript)
	w.plan(phase("01", "first", 8))
	w.forge("run").want(exitFrozen)
	head := func() string {
		t.Helper()
		look, _ := w.asked(1)
		return look.Head
	}
	says := func(what, commit, state string, moves bool) string {
		t.Helper()
		w.people.Status(t, commit, what, state)
		w.forge("resume").want(exitFrozen)
		now := head()
		if (now != commit) != moves {
			t.Fatalf("%s is %s: the head was %s and is %s", what, state, commit, now)
		}
		return now
	}
	first := head()
	says("unit", first, "pending", false)
	second := says("unit", first, "failure", true)
	w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone).says("Checks of the code host fail on commit "+first[:12], "Check unit failed", "unit is failure", "~~~data-")
	w.people.Status(t, second, "unit", "failure")
	says("unit", second, "success", false)
	look, _ := w.asked(1)
	flaky := 0
	for _, c := range look.Comments {
		if strings.Contains(c.Body, "Flaky: on the same commit") {
			flaky++
		}
	}
	w.forge("resume").want(exitFrozen)
	if flaky != 1 {
		t.Errorf("flaky was said %d times: %+v", flaky, look.Comments)
	}
	third := says("unit", second, "failure", true)
	says("unit", third, "failure", false)
	_, id := w.asked(1)
	w.forge("show", id).want(exitDone).says("the agent tried to mend that 2 times, which host.ci_fixes allows")
	w.forge("why", "01").want(exitDone).says("The host's checks asked for changes")
	// A person knows better.
	w.people.Review(t, "ann", 1, third, work.PullApproved, "it is the runner")
	w.forge("resume").want(exitDone)
}

// The same holds for the result of an issue, which was decided to be done: a run
// goes on from it, in the same pull request, until it is held.
func TestChecksOfAnIssueAreMended(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "end_to_end")
	s.people.Protect(t, "main", 0, "unit")
	once := func(want int) string {
		t.Helper()
		s.forge("factory", "--once").want(want)
		return s.pull().Head
	}
	head := once(exitFrozen)
	for n := range 2 {
		s.write(".forge/agent.toml", strings.ReplaceAll(workerScript, `one\ntwo\n`, fmt.Sprintf(`one\ntry %d\n`, n)))
		s.people.Status(t, head, "unit", "failure")
		next := once(exitFrozen)
		if next == head {
			t.Fatalf("failure %d was not worked on", n+1)
		}
		s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1").want(exitDone).says("Check unit failed")
		head = next
	}
	s.people.Status(t, head, "unit", "failure")
	if once(exitFrozen) != head {
		t.Fatal("it was worked on once too often")
	}
	s.card("pull_checks", "host.ci_fixes allows")
	s.people.Status(t, head, "unit", "success")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntry 1\n", 2)
}

// An agent that is told of red checks and edits what CI runs is held: nothing lands
// because of it, and who decides is told the file.
func TestChecksAreNotMadeGreenByAnEdit(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "end_to_end")
	s.people.Protect(t, "main", 0, "unit")
	s.push("main", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	s.forge("factory", "--once").want(exitFrozen)
	head := s.pull().Head
	s.write(".forge/agent.toml", strings.ReplaceAll(workerScript, `{write = "out.txt"`, `{write = ".github/workflows/ci.yml", content = "on: never\n"}, {write = "out.txt"`))
	s.people.Status(t, head, "unit", "failure")
	s.forge("factory", "--once").want(exitFrozen)
	_, id := s.asked(1)
	s.forge("show", id).want(exitDone).says(".github/workflows/ci.yml", "what CI runs was changed after the host's checks failed")
	s.people.Status(t, s.pull().Head, "unit", "success")
	s.forge("factory", "--once").want(exitFrozen)
	if s.pull().State != work.PullOpen {
		t.Errorf("it is %s", s.pull().State)
	}
}
