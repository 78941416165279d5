package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/factory"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// conflictScript resolves what stands with markers in out.txt so that it holds
// text; what holds none stays.
func conflictScript(text string) string {
	return fmt.Sprintf(`[[step]]
phase = "1"
do = [{run = "if grep -q '<<<<<<<' out.txt; then printf '%s' >out.txt; fi"}, {print = "I kept both. <promise>ISSUE 1 DONE</promise>"}]
`, strings.ReplaceAll(text, "\n", `\\n`))
}

// What conflicts with the target when it is to land goes back to the agent, in a
// run of its own: the same pull request grows by what came of it, and is asked
// about again.
func TestIssueThatConflictsWithTheTarget(t *testing.T) {
	pace.Slow(t, "an issue is worked on until its conflict is solved")
	t.Parallel()
	issueHub(t, "plan_then_review").conflicts()
}

func (s *issueWorld) conflicts() {
	t := s.t
	s.forge("factory", "--once").want(exitFrozen)
	first, run := s.pull(), s.run()
	s.push("main", map[string]string{"out.txt": "of main\n"})
	s.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	s.write(".forge/agent.toml", conflictScript("of main\none\ntwo\n"))
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review (pull request 1 waits for you", "it conflicts with its target branch” → nothing", "After      "+run)
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1").want(exitDone).says("does not go together with main", "Conflict markers are left in these files", "out.txt")
	next := s.pull()
	if next.Head == first.Head || next.State != work.PullOpen || !s.grew(next.Branch, first.Head) {
		t.Fatalf("after the conflict: %+v", next.PullRequest)
	}
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("of main\none\ntwo\n", 3)
	s.forge("issue", "show", "1").want(exitDone).says("Cost       ", "Time       ", "Diff       git diff ")
}

// An agent that leaves the markers has resolved nothing: the issue fails, and
// nothing of it lands.
func TestIssueWhoseConflictStays(t *testing.T) {
	pace.Slow(t, "an issue is worked on until its conflict is given to people")
	t.Parallel()
	s := issueHub(t, "end_to_end")
	s.people.Protect(t, "main", 1, "")
	s.forge("factory", "--once").want(exitFrozen)
	first := s.pull()
	main := s.push("main", map[string]string{"out.txt": "of main\n"})
	s.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	s.write(".forge/agent.toml", "[[step]]\nphase = \"1\"\ndo = [{write = \"more.txt\", content = \"x\\n\", append = true}, {print = \"<promise>ISSUE 1 DONE</promise>\"}]\n")
	s.forge("factory", "--once").want(exitFailed)
	s.card("in_progress, failed (phase 1: stale: stuck again after the pivot; conflict markers are left in out.txt")
	s.forge("why", "1", "--run", s.run()).want(exitDone).says("conflict markers are left in out.txt")
	s.forge("issue", "show", "1").want(exitDone).says("Again:     forge issue retry 1\n", "Why:       forge why --run "+s.run()+"\n", "Time       ")
	if at, err := s.host.Head(t.Context(), "main"); err != nil || at != main {
		t.Errorf("main is at %s, %v", at, err)
	}
	if look := s.pull(); look.State != work.PullOpen || look.Head != first.Head {
		t.Errorf("the pull request: %+v", look.PullRequest)
	}
	// Tried again, the agent does it.
	s.write(".forge/agent.toml", conflictScript("of main\none\ntwo\n"))
	s.forge("issue", "retry", "1").want(exitDone)
	s.forge("factory", "--once").want(exitDone)
	s.landed("of main\none\ntwo\n", 3)
}

// A target that is red is for people to mend: nothing is spent on the conflict
// before, and the result that conflicts is gone on from afterwards.
func TestIssueConflictWithRedTarget(t *testing.T) {
	pace.Slow(t, "an issue is worked on until its conflict is solved")
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	s.forge("factory", "--once").want(exitFrozen)
	first, run := s.pull(), s.run()
	s.push("main", map[string]string{"out.txt": "of main\n", "red.txt": "x\n"})
	s.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	s.write(".forge/agent.toml", conflictScript("of main\none\ntwo\n"))
	s.forge("factory", "--once").want(exitFailed)
	s.card("in_progress, failed (the project's setup or verify commands fail before any work")
	red, err := s.host.Fetch(t.Context(), "main", "refs/forge/at")
	if err != nil {
		t.Fatal(err)
	}
	mended, err := s.store.WithFilesFrom(t.Context(), red, s.git("rev-parse", "HEAD"), []string{"red.txt"})
	if err == nil {
		err = s.host.Push(t.Context(), "main", mended, red)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.forge("issue", "retry", "1").want(exitDone)
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review (pull request 1 waits for you", "after: nothing → “"+run+"”")
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1").want(exitDone).says("does not go together with main")
	if next := s.pull(); next.Head == first.Head || !s.grew(next.Branch, first.Head) {
		t.Errorf("after the retry: %+v", next.PullRequest)
	}
}

// Where Forge dies when the card names the run that resolves a conflict and
// nothing of that run is there yet, it begins with the conflict all the same.
func TestIssueConflictOutlivesItsCard(t *testing.T) {
	t.Parallel()
	s := issueHub(t, "end_to_end")
	s.people.Protect(t, "main", 1, "")
	s.forge("factory", "--once").want(exitFrozen)
	s.push("main", map[string]string{"out.txt": "of main\n"})
	s.people.Review(t, "ann", 1, s.pull().Head, work.PullApproved, "fine")
	s.write(".forge/agent.toml", conflictScript("of main\none\ntwo\n"))
	sh, i := s.worker()
	i.After = i.Run
	// Also where the card's pull request is none of this host's: what it conflicts
	// with is on the host all the same.
	for run, pull := range map[string]*work.IssuePull{"i1-none": i.Pull, "i1-moved": nil} {
		i.Run, i.Pull = run, pull
		ended, err := sh.Drive(t.Context(), factory.Order{Issue: i, Named: func(run, _ string, _ *work.IssuePull) error {
			return fmt.Errorf("the card names a run, and %s as well", run)
		}})
		if err != nil || ended.Outcome != work.RunCompleted {
			t.Fatalf("%+v, %v", ended, err)
		}
		s.forge("logs", "1", "--run", run, "--prompt", "--iteration", "1").want(exitDone).says("does not go together with main", "Conflict markers are left in these files")
	}
}

// pushesConflict lets a person push what conflicts with what the agent does at the same
// time, and returns that commit. Both stand beside each other then.
func (s *issueWorld) pushesConflict() string {
	t := s.t
	s.forge("factory", "--once").want(exitFrozen)
	look := s.pull()
	begun, pushed := filepath.Join(s.home, "begun"), filepath.Join(s.home, "pushed")
	s.write(".forge/agent.toml", fmt.Sprintf(`[[step]]
phase = "1"
do = [{run = "touch %s; n=0; while [ ! -e %s ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done"}, {write = "out.txt", content = "one\nTWO\n"}]
`, begun, pushed))
	s.people.Review(t, "ann", 1, look.Head, work.PullChangesRequested, "louder", hosttest.Line{Path: "out.txt", Line: 2, Body: "in capitals"})
	work := s.begin("factory", "--once")
	s.eventually("the agent works", func() bool { return s.exists(begun) })
	by := s.push(look.Branch, map[string]string{"out.txt": "one\nby ann\n"})
	if err := os.WriteFile(pushed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	work.wait().want(exitFrozen)
	s.card("in_review (pull request 1 has commits of people that conflict with what the agent did meanwhile", "pull_pushed")
	if at := s.pull(); at.Head != by {
		t.Fatalf("what ann pushed was written over: %s, want %s", at.Head, by)
	}
	return by
}

// Approved all the same, by another door, the agent gets both.
func TestIssueThatPeoplePushAgainst(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	by := s.pushesConflict()
	s.write(".forge/agent.toml", conflictScript("one\nTWO by ann\n"))
	s.forge("approve", s.question(), "-m", "good enough").want(exitDone)
	s.forge("factory", "--once").want(exitFrozen)
	s.both(by)
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1").want(exitDone).says("does not go together with what people pushed to its branch", "Conflict markers are left in these files")
}

// Sent back, the rework begins with both.
func TestIssueSentBackBesidePushes(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	by := s.pushesConflict()
	s.write(".forge/agent.toml", conflictScript("one\nTWO by ann\n"))
	s.forge("request-changes", s.question(), "-m", "take both").want(exitDone)
	s.forge("factory", "--once").want(exitFrozen)
	s.both(by)
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "3").want(exitDone).says("take both", "with markers where they conflict", "Conflict markers are left in these files")
}

// both says that the branch grew out of what ann pushed, and that what became of
// both lands once she approves it.
func (s *issueWorld) both(by string) {
	t := s.t
	t.Helper()
	s.card("in_review (pull request 1 waits for you")
	next := s.pull()
	if next.Head == by || next.State != work.PullOpen || !s.grew(next.Branch, by) {
		t.Fatalf("after the conflict: %+v", next.PullRequest)
	}
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\nTWO by ann\n", 2)
}
