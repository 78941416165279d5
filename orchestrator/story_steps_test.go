package orchestrator

import (
	"encoding/json"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/work"
)

func (st *story) verify(n string, green bool, told ...func(*VerifyDone)) {
	st.t.Helper()
	done := VerifyDone{Command: st.begun(n, StepVerify), Report: report(green), Evidence: &work.EvidenceReport{}}
	for _, change := range told {
		change(&done)
	}
	st.feed(done)
}

// merge is onto an unmoved head, unless told.
func (st *story) merge(n string, told ...func(*MergeFinishedData)) {
	st.t.Helper()
	c, p := st.begun(n, StepMerge), st.phase(n)
	res := MergeFinishedData{Command: c.ID, Head: st.s.Head, Commit: p.Last, Tree: p.Tree, Files: 1}
	for _, change := range told {
		change(&res)
	}
	st.feed(MergeDone{Command: c, Result: res})
}

// moved: others merged meanwhile, so that the tree is another one.
func moved(conflicts ...string) func(*MergeFinishedData) {
	return func(m *MergeFinishedData) {
		m.Moved, m.Tree, m.Commit, m.Conflicts = true, m.Tree+"+", m.Commit+"+", conflicts
	}
}

func (st *story) land(n string) {
	st.t.Helper()
	c := st.begun(n, StepLand)
	st.feed(LandDone{Command: c, Commit: "landed-" + n})
}

// done takes a phase from its next iteration to its merge.
func (st *story) done(n string) {
	st.t.Helper()
	st.work(n, says(st.phase(n).Plan.Promise))
	if st.phase(n).Stage == StageVerify {
		st.verify(n, true)
	}
	st.merge(n)
	st.land(n)
}

func (st *story) deliver() {
	st.t.Helper()
	c := st.begun("", StepDeliver)
	st.feed(DeliverDone{Command: c, Delivery: work.Delivery{Branch: "forge/run-sim", Commit: c.Commit}})
}

// asked is the open checkpoint of a phase ("" = the run) at a point.
func (st *story) asked(n string, at gates.Point) *work.Checkpoint {
	st.t.Helper()
	for _, cp := range st.s.Open {
		if cp.Phase == n && cp.Kind == string(at) {
			return cp
		}
	}
	st.t.Fatalf("nobody is asked at %s of phase %q; the last events are\n%s", at, n, tail(st.events, 6))
	return nil
}

func (st *story) answer(n string, at gates.Point, status work.CheckpointStatus, words ...string) []work.Event {
	st.t.Helper()
	a := work.Answer{Checkpoint: st.asked(n, at).ID, Status: status, Comment: strings.Join(words, " "), By: "test", Door: "cli"}
	return st.feed(Answered{a})
}

func (st *story) approve(n string, at gates.Point) {
	st.t.Helper()
	st.answer(n, at, work.CheckpointApproved)
}

func (st *story) later(d time.Duration) { st.now = st.now.Add(d) }

func (st *story) stands(n string, at Stage) {
	st.t.Helper()
	if p := st.phase(n); p.Stage != at {
		st.t.Errorf("phase %s stands at %s, want %s; the last events are\n%s", n, p.Stage, at, tail(st.events, 6))
	}
}

func (st *story) ended(n string, o work.PhaseOutcome, r work.Reason) {
	st.t.Helper()
	if p := st.phase(n); p.Stage != StageFinished || p.Outcome != o || p.Reason != r {
		st.t.Errorf("phase %s stands at %s, %s %s; want %s %s; the last events are\n%s", n, p.Stage, p.Outcome, p.Reason, o, r, tail(st.events, 6))
	}
}

func (st *story) runEnded(o work.RunOutcome) {
	st.t.Helper()
	if st.s.Live && st.s.Stopping != nil {
		st.feed(Drained{})
	}
	if st.s.Live || st.s.Outcome != o {
		st.t.Errorf("the run is %q (live: %v), want %s; pending is %v, the last events are\n%s", st.s.Outcome, st.s.Live, o, st.pending(), tail(st.events, 6))
	}
}

// stopped says that the core itself asked the run to end, and why.
func (st *story) stopped(o work.RunOutcome, why string) {
	st.t.Helper()
	stop := st.s.Stopping
	if stop == nil || stop.Outcome != o || !strings.Contains(stop.Reason, why) {
		st.t.Errorf("the run is stopping %+v, want %s because of %q; the last events are\n%s", stop, o, why, tail(st.events, 6))
	}
}

// last is the payload of the last event of a kind.
func last[T any](st *story, kind work.EventKind) T {
	st.t.Helper()
	var d T
	for i := len(st.events) - 1; i >= 0; i-- {
		if st.events[i].Kind == kind {
			if err := json.Unmarshal(st.events[i].Data, &d); err != nil {
				st.t.Fatal(err)
			}
			return d
		}
	}
	st.t.Fatalf("there is no %s", kind)
	return d
}

func (st *story) count(kind work.EventKind) (n int) {
	for _, e := range st.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// prompt is what the next iteration of a phase would be told.
func (st *story) prompt(n string) string {
	p := st.phase(n)
	return Prompt(st.s, p, st.s.sessionOf(p))
}

// dies and comes back: the state is what the journal tells, and the run goes on.
func (st *story) dies(again Resumed) {
	st.t.Helper()
	s, err := NewState(st.s.Run, st.spec)
	if err != nil {
		st.t.Fatal(err)
	}
	for _, e := range st.events {
		if err := Apply(s, e); err != nil {
			st.t.Fatal(err)
		}
	}
	st.s = s
	st.feed(again)
}
