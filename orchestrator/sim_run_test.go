package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"forge/dag"
	"forge/internal/work"
)

var (
	errStuck = errors.New("the schedule does not end")
	// errLong ends a schedule that a fuzzer stretches out; it broke nothing.
	errLong = errors.New("the schedule is longer than any that seeds alone make")
)

// bug breaks the core on purpose. Each hook may be nil.
type bug struct {
	fact   func(s *State, f Fact) Fact                            // before Decide
	events func(s *State, f Fact, evs []work.Event) []work.Event  // after it
	apply  func(s *State, e work.Event, apply func() error) error // around Apply
	hasty  bool                                                   // what is answered expires, too
	eager  bool                                                   // inbox rows are gone before their events are written
}

func (w *world) apply(s *State, e work.Event) error {
	if w.bug.apply != nil {
		return w.bug.apply(s, e, func() error { return Apply(s, e) })
	}
	return Apply(s, e)
}

// think puts a fact through the core, event by event, under the invariants.
// Nothing of it is written yet.
func (w *world) think(f Fact) error {
	if w.bug.fact != nil {
		f = w.bug.fact(w.s, f)
	}
	for n := 0; ; {
		evs := Decide(w.s, Input{Now: w.now, Day: w.today(), Fact: f})
		if w.bug.events != nil {
			evs = w.bug.events(w.s, f, evs)
			for i := range evs {
				evs[i].Seq, evs[i].V, evs[i].Run = w.s.Seq+int64(i)+1, work.EventVersion, w.s.Run
			}
		}
		if len(evs) == 0 {
			return nil
		}
		for _, e := range evs {
			w.batch = append(w.batch, e)
			if len(e.Data) > work.MaxEventBytes {
				return fmt.Errorf("event %d (%s) has %d bytes", e.Seq, e.Kind, len(e.Data))
			}
			if err := w.check.before(w.s, e); err != nil {
				return err
			}
			seen := w.edges.watch(w.s, e)
			if err := w.apply(w.s, e); err != nil {
				return err
			}
			seen(w.s)
			w.drops(e)
			if err := w.check.after(w.s); err != nil {
				return err
			}
		}
		if n += len(evs); n > 100*(len(w.s.Phases)+10) {
			return errStuck
		}
		f = settled{}
	}
}

func (w *world) today() Day { return w.spent[w.now.Format(time.DateOnly)] }

// write is one append: events, the records of checkpoints, the inbox rows that
// the events answer and the day's usage, all or nothing.
func (w *world) write() error {
	answered := 0
	for _, e := range w.batch {
		switch e.Kind {
		case work.CheckpointOpened:
			var cp work.Checkpoint
			if err := decode(e, &cp); err != nil {
				return err
			}
			w.records[cp.ID] = cp
		case work.PhaseRewound:
			var d PhaseRewoundData
			if err := decode(e, &d); err != nil {
				return err
			}
			for _, id := range d.Closed {
				if cp := w.records[id]; cp.Status == work.CheckpointPending {
					cp.Status = work.CheckpointExpired
					w.records[id] = cp
				}
			}
		case work.TryStopped:
			var d TryStoppedData
			if err := decode(e, &d); err != nil {
				return err
			}
			for _, id := range d.Closed {
				if cp := w.records[id]; cp.Status == work.CheckpointPending {
					cp.Status = work.CheckpointExpired
					w.records[id] = cp
				}
			}
		case work.CheckpointAnswered, work.PolicyChanged, work.PhaseTold, work.RewindAsked, work.Warned:
			answered++
		case work.RunFinished:
			if w.s.Outcome.Final() {
				for id, cp := range w.records {
					if cp.Status == work.CheckpointPending {
						cp.Status = work.CheckpointExpired
						w.records[id] = cp
					}
				}
			}
		}
	}
	if err := w.check.holds(w.s); err != nil {
		return err
	}
	for _, u := range w.check.used {
		w.spend(u)
	}
	before := len(w.inbox)
	w.inbox = slices.DeleteFunc(w.inbox, func(row inboxRow) bool { return w.consumed[row.ID] })
	if gone := before - len(w.inbox); gone > answered {
		return fmt.Errorf("%d answers are gone from the inbox, %d are in the journal", gone, answered)
	}
	if err := w.remember(w.batch); err != nil {
		return err
	}
	w.journal = append(w.journal, w.batch...)
	w.batch, w.heard = nil, len(w.late)
	w.check.undo, w.check.used = nil, nil
	return nil
}

func (w *world) spend(u work.Usage) {
	d := w.today()
	usd := u.CostUSD
	if usd == nil {
		usd = w.spec.Settings.Cost.IterationUSD
	}
	if usd == nil {
		d.UnknownUSD++
	} else {
		d.USD += *usd
	}
	if n, ok := u.Tokens(); ok {
		d.Tokens += n
	} else {
		d.UnknownTokens++
	}
	w.spent[w.now.Format(time.DateOnly)] = d
}

// tell thinks and writes.
func (w *world) tell(f Fact) error {
	if err := w.think(f); err != nil {
		return err
	}
	return w.write()
}

// begin sets going what is pending: first on record, then in the world.
func (w *world) begin() error {
	var jobs []effect
	begun := map[work.CommandID]bool{}
	for c, due := w.next(begun); due; c, due = w.next(begun) {
		e := effect{Command: c}
		if p := w.s.Phases[c.Phase]; p != nil {
			e.usd, e.tokens = w.s.ceiling(p, w.today())
		}
		if err := w.think(Began{Command: c}); err != nil {
			return err
		}
		begun[c.ID] = true
		jobs = append(jobs, e)
	}
	if len(w.batch) > 0 && w.chance(1) {
		return w.crash("crash before the write")
	}
	if err := w.write(); err != nil {
		return err
	}
	if len(jobs) > 0 && w.chance(1) {
		return w.crash("crash between event and effect")
	}
	for _, e := range jobs {
		w.under[e.ID] = e
		if err := w.check.performs(e); err != nil {
			return err
		}
	}
	return nil
}

// next is a pending command that is neither under way nor among begun.
func (w *world) next(begun map[work.CommandID]bool) (Command, bool) {
	for _, c := range Pending(w.s) {
		if w.ending(c.Phase) {
			continue
		}
		if _, ok := w.under[c.ID]; !ok && !begun[c.ID] && c.Step != StepWait {
			return c, true
		}
	}
	return Command{}, false
}

// step lets one thing happen.
func (w *world) step() error {
	w.now = w.now.Add(time.Duration(w.IntN(60)) * time.Second)
	if err := w.begin(); err != nil || !w.s.Live {
		return err
	}
	if w.host != nil && w.chance(10) {
		w.host.people()
	}
	if w.s.Stopping == nil && len(w.s.Order) > 0 && w.aside(1) {
		w.says()
	}
	if w.s.Stopping == nil && w.rewinding() && w.aside(4) {
		w.setsBack()
	}
	switch x := w.IntN(200); {
	case x < 2:
		return w.crash("crash")
	case x < 8 && len(w.late) > 0:
		w.fault("duplicate")
		return w.tell(w.late[w.IntN(len(w.late))])
	case x < 10 && w.s.Stopping == nil:
		w.fault("stop")
		if w.chance(30) {
			w.fault("deadline")
			return w.tell(Stop{Outcome: work.RunLimit, Reason: "the deadline has come"})
		}
		return w.tell(Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
	case x < 22:
		return w.tick()
	case x < 28 && len(w.s.Overdue(w.now)) > 0 && w.s.Stopping == nil:
		return w.expire()
	case x < 54 && w.open():
		return w.answer()
	case x < 66 && len(w.inbox) > 0 && w.s.Stopping == nil:
		return w.takeAnswers()
	case len(w.under) == 0:
		return w.idle()
	}
	id := pick(w, w.under)
	if w.trains && len(w.under) > 1 && w.rails.IntN(100) < 70 && w.s.merging(w.under[id].Phase) {
		id = pick(w, w.under) // to merge takes long
	}
	e := w.under[id]
	delete(w.under, id)
	if p := w.s.Phases[e.Phase]; e.Step == StepReview && p.Stage == StageFinished {
		w.fault("a review of a phase that is over")
		return w.tell(w.outcome(e))
	}
	if e.Step == StepTell && !w.s.expects(e.Command) {
		w.fault("a message taken as its iteration ended")
		return w.tell(TellDone{Command: e.Command, Report: work.TellReport{Taken: true}})
	}
	if w.dropped[id] {
		w.fault("a result of what was dropped")
		return w.tell(w.outcome(e))
	}
	if !w.s.expects(e.Command) {
		return fmt.Errorf("nobody waits for %s, which is under way", e.ID)
	}
	if w.s.Stopping != nil && w.chance(50) {
		w.fault("cancelled")
		if e.Step != StepIterate {
			return nil
		}
		rep := work.IterationReport{Outcome: work.OutcomeInterrupted}
		if w.chance(50) {
			rep.Usage, _ = w.usage(e, rep.Outcome)
		}
		return w.think(IterationDone{Command: e.Command, Report: rep})
	}
	f := w.outcome(e)
	if w.host != nil && w.host.wrong != nil {
		return w.host.wrong
	}
	if w.chance(3) {
		return w.crash("crash between effect and event")
	}
	if w.s.Stopping != nil {
		w.fault("result after a stop")
	}
	w.late = append(w.late, f)
	w.check.observed(f)
	return w.think(f)
}

// pick takes one key at random, in a way that the seed alone decides.
func pick[K ~string, V any](w *world, of map[K]V) K {
	keys := slices.Sorted(maps.Keys(of))
	return keys[w.IntN(len(keys))]
}

func (w *world) tick() error {
	switch x := w.IntN(100); {
	case x < 8:
		w.fault("days pass")
		w.now = w.now.Add(time.Duration(1+w.IntN(100)) * 24 * time.Hour)
	case x < 16:
		w.fault("the clock is set back")
		w.now = w.now.Add(-time.Duration(w.IntN(7200)) * time.Second)
	}
	return w.tell(Tick{})
}

// idle is what the process does when nothing is under way.
func (w *world) idle() error {
	if w.s.Stopping == nil {
		if len(w.inbox) > 0 {
			return w.takeAnswers()
		}
		if len(w.s.Overdue(w.now)) > 0 && w.chance(50) {
			return w.expire()
		}
		if w.open() && w.chance(65) {
			return w.answer()
		}
		if pending := Pending(w.s); len(pending) > 0 {
			if pending[0].Step != StepWait {
				return nil // the process has just come up
			}
			w.now = w.now.Add(time.Minute)
			return w.tell(Tick{})
		}
	}
	if len(w.s.pendingCloses()) > 0 {
		return nil // likewise
	}
	before := w.s.Seq
	if err := w.tell(Drained{}); err != nil {
		return err
	}
	if w.s.Seq == before {
		return fmt.Errorf("%w: nothing is pending at event %d", errStuck, before)
	}
	return nil
}

// crash kills the process: what is not written is gone, and what was under
// way is lost or half done.
func (w *world) crash(how string) error {
	w.fault(how)
	w.check.rollBack()
	w.late = w.late[:w.heard]
	if err := w.rebuild(); err != nil {
		return err
	}
	if err := w.check.lost(w.s); err != nil {
		return err
	}
	return w.tell(Resumed{})
}

// rebuild makes the state of a new process from the journal, as it comes back
// from disk.
func (w *world) rebuild() error {
	spec, evs := w.spec, w.journal
	if w.chance(4) && len(evs) > 0 {
		raw, err := json.Marshal(evs)
		if err != nil {
			return err
		}
		evs = nil
		if err := json.Unmarshal(raw, &evs); err != nil {
			return err
		}
		var d RunStartedData
		if err := decode(evs[0], &d); err != nil {
			return err
		}
		spec = *d.Spec
	}
	s, err := NewState("sim", spec)
	if err != nil {
		return err
	}
	for _, e := range evs {
		if err := w.apply(s, e); err != nil {
			return err
		}
	}
	// To make the pictures takes ten times as long as to see that nothing differs.
	if len(w.batch) == 0 && !reflect.DeepEqual(s, w.s) {
		if got, want := picture(s), picture(w.s); got != want {
			return fmt.Errorf("the state after a replay differs:\n%s\n%s", got, want)
		}
	}
	w.s, w.batch = s, nil
	w.under, w.consumed, w.dropped = map[work.CommandID]effect{}, map[int64]bool{}, map[work.CommandID]bool{}
	return nil
}

// picture is everything that a state holds, as text.
func picture(s *State) string {
	nodes := map[string]dag.State{}
	for _, n := range s.topo {
		nodes[n] = s.frontier.State(n)
	}
	raw, err := json.Marshal(struct {
		*State
		Working []string
		Skips   any
		Nodes   any
	}{s, s.working, s.skips, nodes})
	if err != nil {
		return fmt.Sprintf("%v %+v", err, s)
	}
	return string(raw)
}
