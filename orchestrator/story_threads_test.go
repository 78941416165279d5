package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// message is what the agent says last.
func message(text string) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Message = text }
}

// repliesTo is an answer of the agent to one thread.
func repliesTo(thread, text string) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Signals.Replies = append(d.Report.Signals.Replies, work.ThreadReply{Thread: thread, Text: text})
	}
}

// sendsBack requests changes of the result, with threads on its pull request.
func (st *story) sendsBack(threads ...string) {
	st.t.Helper()
	cp := st.asked("", gates.PointPromote)
	st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: changes, Comment: "louder", By: "ann", Door: "pull request", Heard: threads, Threads: threads}})
}

// reworks brings what was sent back to the next question.
func (st *story) reworks(n string, told ...func(*IterationDone)) {
	st.t.Helper()
	st.work(n, told...)
	st.verify(n, true)
	st.lands(n)
}

// owes says which replies are due, as "key: body"; that to nobody's thread has
// the key of all.
func (st *story) owes(want ...string) {
	st.t.Helper()
	var got []string
	for _, r := range st.s.Replies() {
		if !strings.HasSuffix(r.Key, " "+r.Thread) && !(r.Thread == "" && strings.HasSuffix(r.Key, " all")) {
			st.t.Errorf("the key of %s is %q", r.Thread, r.Key)
		}
		got = append(got, r.Key+": "+r.Body)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		st.t.Errorf("the replies are %q, want %q", got, want)
	}
}

// Each thread that an agent was told of gets the answer that the agent gave to
// it, once what came of it is decided on; under a key that stays. Where it
// answered none, its last words are said once.
func TestThreadsOfAResult(t *testing.T) {
	begin := func(t *testing.T, change ...func(*Spec)) *story {
		st := tell(t, append([]func(*Spec){ofIssue(makeTest), alwaysReviews}, change...)...)
		st.done("01")
		st.owes()
		return st
	}
	t.Run("answered", func(t *testing.T) {
		st := begin(t)
		st.sendsBack("4", "9")
		st.owes() // nobody has worked on it
		st.work("01", message("in capitals"))
		st.owes()
		st.verify("01", true)
		st.lands("01")
		first := []string{"sim/result/1 4: ", "sim/result/1 9: ", "sim/result/1 all: in capitals"}
		st.owes(first...)
		st.sendsBack("12")
		st.owes(first...)
		st.reworks("01")
		second := append(first, "sim/result/2 12: ")
		st.owes(second...)
		st.approve("", gates.PointPromote)
		st.deliver()
		st.owes(second...)
	})
	t.Run("each by its number", func(t *testing.T) {
		st := begin(t)
		st.sendsBack("4", "9")
		if prompt := st.prompt("01"); !strings.Contains(prompt, "## Threads") || !strings.Contains(prompt, "4, 9") || !strings.Contains(prompt, "only asks something wants an answer and no change") || strings.Contains(prompt, "<reply>") {
			t.Errorf("the prompt is\n%s", prompt)
		}
		st.reworks("01", repliesTo("9", "it is a word"), repliesTo("77", "nobody asked"), repliesTo("9", "it is a name"), message("all of it"))
		st.owes("sim/result/1 4: ", "sim/result/1 9: it is a name")
		if r := st.s.Replies()[0]; r.From == "" || r.To != st.s.Head {
			t.Errorf("the reply is of what changed from %q to %q, the result is %q", r.From, r.To, st.s.Head)
		}
		st.sendsBack("4")
		st.reworks("01", repliesTo("77", "nobody asked"), message("here"))
		st.owes("sim/result/1 4: ", "sim/result/1 9: it is a name", "sim/result/2 4: ", "sim/result/2 all: here")
	})
	t.Run("by another door that knows of none", func(t *testing.T) {
		st := begin(t)
		st.answer("", gates.PointPromote, changes, "quicker")
		st.reworks("01", message("quick"))
		st.owes()
	})
	t.Run("a rework that is dropped says so", func(t *testing.T) {
		st := begin(t)
		st.sendsBack("4")
		for st.phase("01").Stage != StageFinished {
			st.work("01", ends(work.OutcomeAgentFailed), message("done"))
		}
		got := st.s.Replies()
		if len(got) != 2 || !strings.HasPrefix(got[1].Body, "The agent worked on it, and nothing of that is in the branch: the rework was dropped") {
			t.Errorf("the replies are %+v", got)
		}
	})
	t.Run("rejected, nothing is owed", func(t *testing.T) {
		st := begin(t)
		cp := st.asked("", gates.PointPromote)
		st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: no, By: "ann", Threads: []string{"4"}}})
		st.owes()
	})
	t.Run("a run that goes on from an earlier result", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), phases("01", "02 after 01"), func(sp *Spec) { sp.Issue.Threads = []string{"4"} })
		st.work("01", says("P01"), message("one"))
		st.verify("01", true)
		st.lands("01")
		st.owes()
		st.work("02", says("P02"), message("two"))
		st.verify("02", true)
		st.lands("02")
		st.owes("sim/result/1 4: ", "sim/result/1 all: phase 01: one\n\nphase 02: two")
	})
}

// withPushed lets a run begin with what people pushed.
func withPushed(approved string) func(*Spec) {
	return func(sp *Spec) {
		sp.Issue.Pushed = &work.Pushed{Commit: "theirs", Tree: "their-tree", Files: []string{"by-ann.txt"}, Approved: approved}
	}
}

// Commits of people on a result, approved as they are, are proven and reviewed,
// and land without a further question.
func TestPushedToAResult(t *testing.T) {
	levels := []func(*Spec){human(gates.PointPhaseStart, gates.PointPhaseTransition, gates.PointFinal, gates.PointPromote), reviewedBy("security")}
	begin := func(t *testing.T, approved string) *story {
		st := tell(t, append([]func(*Spec){ofIssue("it is quick"), withPushed(approved)}, levels...)...)
		if approved == "" {
			st.approve("01", gates.PointPhaseStart)
		}
		st.folder("01")
		if p := st.phase("01"); p.Base != "c0" || p.Last != "theirs" || p.Tree != "their-tree" {
			t.Fatalf("it begins at %s with %s, %s", p.Base, p.Last, p.Tree)
		}
		return st
	}
	t.Run("approved", func(t *testing.T) {
		st := begin(t, "ann")
		st.isPending("01 verify")
		if c := Pending(st.s)[0]; c.Commit != "theirs" {
			t.Errorf("%s is proven", c.Commit)
		}
		st.verify("01", true)
		st.isPending("01 review")
		st.pass("01", "security")
		st.isPending("01 merge")
		st.merge("01", func(m *MergeFinishedData) { m.Tree, m.Moved = "their-tree", false })
		st.land("01")
		st.isPending("deliver")
		st.deliver()
		st.runEnded(work.RunCompleted)
		p := st.stood(StandsDone, review.ToDone, "autonomy_disabled unverified", "")
		if p.By != "person:ann" || st.count(work.CheckpointOpened) != 0 || st.count(work.IterationStarted) != 0 {
			t.Errorf("done by %s, %d questions, %d iterations", p.By, st.count(work.CheckpointOpened), st.count(work.IterationStarted))
		}
	})
	t.Run("reviewers object: the agent mends it, and people are asked", func(t *testing.T) {
		st := begin(t, "ann")
		st.verify("01", true)
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "security")
		st.approve("01", gates.PointPhaseTransition)
		st.lands("01")
		st.asked("", gates.PointFinal)
	})
	t.Run("red: the agent mends it, and people are asked", func(t *testing.T) {
		st := begin(t, "ann")
		st.verify("01", false)
		if prompt := st.prompt("01"); !strings.Contains(prompt, "by-ann.txt") || !strings.Contains(prompt, "output of make test") {
			t.Errorf("the prompt is\n%s", prompt)
		}
		st.work("01", says("P01"))
		st.verify("01", true)
		st.pass("01", "security")
		st.approve("01", gates.PointPhaseTransition)
		st.lands("01")
		st.asked("", gates.PointFinal)
	})
	t.Run("merged to something else, people are asked", func(t *testing.T) {
		st := begin(t, "ann")
		st.verify("01", true)
		st.pass("01", "security")
		st.merge("01", func(m *MergeFinishedData) { m.Tree, m.Moved = "another", false })
		st.land("01")
		st.asked("", gates.PointFinal)
	})
	t.Run("nobody approved it: an agent works on top", func(t *testing.T) {
		st := begin(t, "")
		st.isPending("01 iterate")
		if !strings.Contains(st.prompt("01"), "by-ann.txt") {
			t.Error("the agent is not told of it")
		}
		st.work("01", says("P01"))
		st.verify("01", true)
		st.pass("01", "security")
		st.asked("01", gates.PointPhaseTransition)
	})
}
