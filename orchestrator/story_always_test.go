package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func always(sp *Spec) {
	sp.Pulls = &work.PullSettings{Kind: "gitea", URL: "https://git.test", Repo: "o/r", Always: true}
}

// proposing takes a phase to the moment in which it is proposed.
func proposing(t *testing.T, change ...func(*Spec)) (*story, Command) {
	t.Helper()
	st := tell(t, append([]func(*Spec){always}, change...)...)
	st.work("01", says("P01"))
	st.verify("01", true)
	st.merge("01")
	st.isPending("01 publish")
	return st, st.begun("01", StepPublish)
}

func TestStoryEveryPhaseHasAPullRequest(t *testing.T) {
	st, c := proposing(t)
	if u := st.phase("01").Pull; c.Commit != "c1" || c.Checkpoint != "" || u.Branch != "forge/phases/sim/phase-1-tactical" {
		t.Fatalf("%+v, %+v", c, u)
	}
	// Whoever comes after a death does the same again.
	if again := Pending(st.s)[0]; again.ID != c.ID {
		t.Fatalf("%s is pending, not %s", again.ID, c.ID)
	}
	st.feed(PublishDone{Command: c, Result: PullPublished{Number: 4, URL: "https://git.test/4"}})
	land := st.begun("01", StepLand)
	st.feed(LandDone{Command: land, Commit: "squashed", Tree: "t1"})
	merged := PhaseMergedData{}
	for _, e := range st.events {
		if e.Kind == work.PhaseMerged {
			if err := decode(e, &merged); err != nil {
				t.Fatal(err)
			}
		}
	}
	if merged.Pull != 4 || merged.Commit != "squashed" || len(st.s.Open) != 0 {
		t.Errorf("%+v", merged)
	}
}

func TestStoryAlwaysAndTheHostIsAway(t *testing.T) {
	st, c := proposing(t)
	st.feed(PublishDone{Command: c, Result: PullPublished{Trouble: &work.PullTrouble{Kind: work.HostUnreachable, What: "no answer", Passes: true}}})
	cp := st.asked("01", gates.PointPhaseTransition)
	if !strings.Contains(cp.Facts, "no answer") || st.s.Head != "c0" {
		t.Fatalf("%+v", cp)
	}
	// It is shown as soon as the host is back, and an answer lands it there.
	st.feed(PublishDone{Command: st.begun("01", StepPublish), Result: PullPublished{Number: 4}})
	st.approve("01", gates.PointPhaseTransition)
	st.isPending("01 pull")
}

// The host merged to something that nobody proved: it is asked about.
func TestStoryAlwaysAndAnotherTree(t *testing.T) {
	st, c := proposing(t)
	st.feed(PublishDone{Command: c, Result: PullPublished{Number: 4}})
	st.feed(LandDone{Command: st.begun("01", StepLand), Commit: "odd", Tree: "odd"})
	if st.phase("01").Landed {
		t.Fatal("it has landed")
	}
	st.isPending("01 verify")
}

func TestStoryAlwaysAndNothingNew(t *testing.T) {
	st, c := proposing(t)
	st.feed(PublishDone{Command: c, Result: PullPublished{Trouble: &work.PullTrouble{Kind: work.HostNoChanges, What: "nothing"}}})
	st.land("01")
	if st.s.Head != "landed-01" {
		t.Errorf("the head is %s", st.s.Head)
	}
	// What changed nothing is not proposed at all.
	st = tell(t, always)
	st.work("01", says("P01"), changesNothing)
	if st.phase("01").Stage == StageVerify {
		st.verify("01", true)
	}
	st.merge("01", func(m *MergeFinishedData) { m.Files = 0 })
	st.isPending("01 land")
}
