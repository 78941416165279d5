package orchestrator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// targets is the truth about the branches that the results of several repositories
// are meant for: the commit that each is at, oldest first what it grew out of.
type targets struct {
	*rand.Rand
	at     map[string][]string
	dirty  map[string]bool // files of a person's are in the way
	proven map[string]mergedOn
	faults map[string]int
	wrong  error // what must never be
}

// mergedOn is a result merged with what its target held, and whether that is red.
type mergedOn struct {
	onto string
	red  bool
}

// handOverWorld is the truth outside that a hand-over is played against.
type handOverWorld interface {
	chance(percent int) bool
	people(s *State)
	carry(e TogetherEffect) TogetherDone
	closed(c CloseEffect) CloseDone
	check(s *State, e work.Event) error
	// between is asked before each step; decided says that all are to be moved.
	between(decided bool) error
}

func (w *targets) closed(c CloseEffect) CloseDone { return CloseDone{Command: c.Command} }

func (w *targets) between(decided bool) error {
	if !decided && (w.holds("", "landed-02") || w.holds("api", "landed-01") || w.holds("lib", "landed-03")) {
		return fmt.Errorf("a target is moved, and nobody decided that")
	}
	return w.wrong
}

func newTargets(seed uint64, faults map[string]int) handOverWorld {
	return &targets{
		Rand: rand.New(rand.NewPCG(seed, 0x706e)), dirty: map[string]bool{}, proven: map[string]mergedOn{}, faults: faults,
		at: map[string][]string{"": {"c0"}, "api": {"a0"}, "lib": {"l0"}},
	}
}

func (w *targets) chance(percent int) bool { return w.IntN(100) < percent }

func (w *targets) head(repo string) string { return w.at[repo][len(w.at[repo])-1] }

// holds says that a target holds a commit, by itself or merged: a*b holds a.
func (w *targets) holds(repo, commit string) bool {
	return slices.ContainsFunc(w.at[repo], func(at string) bool { return at == commit || strings.HasPrefix(at, commit+"*") })
}

// wentOn is where a target is that has grown out of what it was to be moved from.
func (w *targets) wentOn(e TogetherEffect) string {
	repo := e.Command.Repository
	if head := w.head(repo); head != e.Base.Commit && w.holds(repo, e.Base.Commit) && !w.holds(repo, e.Command.Commit) {
		w.faults["a target that went on"]++
		return head
	}
	return ""
}

// moves moves a target, to what is proven there.
func (w *targets) moves(e TogetherEffect) {
	repo, commit := e.Command.Repository, e.Command.Commit
	is, merged := w.proven[commit]
	switch {
	case merged && is.red:
		w.wrong = fmt.Errorf("%s is moved to %s, which is red in truth", Called(repo), commit)
	case merged && is.onto != w.head(repo), !merged && w.head(repo) != w.at[repo][0]:
		w.wrong = fmt.Errorf("%s is moved to %s from %s, and was not proven with that", Called(repo), commit, w.head(repo))
	case merged:
		w.faults["moved to a merge with what its target held"]++
	}
	w.at[repo] = append(w.at[repo], commit)
}

// carry carries a step out, as git would: by compare-and-set.
func (w *targets) carry(e TogetherEffect) TogetherDone {
	c := e.Command
	done := TogetherDone{Command: c}
	switch c.Step {
	case StepPrepare:
		if w.head(c.Repository) != e.Base.Commit || w.dirty[c.Repository] {
			done.Why, done.Onto = "it cannot be moved", w.wentOn(e)
		}
	case StepUpdate:
		done.Made, done.Tree = c.Commit+"*"+e.Update.Onto, "tree"
		is, known := w.proven[done.Made]
		if !known {
			is = mergedOn{e.Update.Onto, w.chance(20)}
			w.proven[done.Made] = is
		}
		if is.red {
			w.faults["red with what its target holds"]++
			done.Why = "it is red"
		}
	case StepMove:
		for _, b := range e.Before {
			if !w.holds(b.Repository, b.Commit) {
				done.Why = "taken out meanwhile"
			}
		}
		switch {
		case done.Why != "" || w.holds(c.Repository, c.Commit):
		case w.head(c.Repository) == e.Base.Commit && !w.dirty[c.Repository]:
			w.moves(e)
		default:
			w.faults["a target that could not be moved"]++
			done.Why, done.Onto = "it cannot be moved", w.wentOn(e)
		}
	case StepTakeBack:
		switch {
		case !w.holds(c.Repository, c.Commit):
		case w.head(c.Repository) == c.Commit && !w.dirty[c.Repository]:
			w.at[c.Repository] = w.at[c.Repository][:len(w.at[c.Repository])-1]
			w.faults["a target moved back"]++
		default:
			w.faults["a target that could not be moved back"]++
			done.Why = "somebody has built on it"
		}
	}
	return done
}

// people commit on targets, and have files in the way for a while. Nobody takes
// anything out of a branch.
func (w *targets) people(s *State) {
	repo := []string{"", "api", "lib"}[w.IntN(3)]
	switch x := w.IntN(100); {
	case x < 4:
		w.at[repo] = append(w.at[repo], fmt.Sprintf("person-%d", w.IntN(1000)))
	case x < 10:
		w.dirty[repo] = true
	case x < 30:
		w.dirty[repo] = false
	}
	if t := s.Together; t != nil && t.Stage == TogetherHeld && w.chance(50) {
		for _, o := range t.Of { // what the run says is what they do
			if !w.holds(o.Repository, o.To) {
				w.at[o.Repository] = append(w.at[o.Repository], o.To)
				w.faults["merged by hand"]++
			}
		}
	}
}

// handedOver is the journal of a run of three repositories up to the hand-over.
func handedOver(t *testing.T, change ...func(*Spec)) ([]work.Event, Spec) {
	t.Helper()
	st := open(t, func(sp *Spec) {
		inSeveral(sp)
		phases("01", "02 after 01", "03 after 02")(sp)
		sp.Plan.Phases[0].Repository, sp.Plan.Phases[2].Repository = "api", "lib"
		sp.Repositories = append(sp.Repositories, work.Repository{Name: "lib", Base: work.Base{Commit: "l0", Branch: "main"}, Proof: work.ProofSettings{NoControls: true}})
		for _, c := range change {
			c(sp)
		}
	})
	st.base(true)
	st.base(true)
	st.inAPI()
	st.done("02")
	st.work("03", says("P03"))
	st.verify("03", true)
	st.merge("03", func(m *MergeFinishedData) { m.Head = "l0" })
	st.land("03")
	return st.events, st.spec
}

// handOverPlay plays one schedule: steps, people, crashes at any moment, stops and
// resumes, until the run is over. bug changes events behind the core's back.
func handOverPlay(journal []work.Event, spec Spec, w handOverWorld, bug func(*State, Fact, []work.Event) []work.Event, faults map[string]int) error {
	journal = slices.Clone(journal)
	var s *State
	replay := func() (err error) {
		if s, err = NewState("sim", spec); err != nil {
			return err
		}
		for _, e := range journal {
			if err := Apply(s, e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := replay(); err != nil {
		return err
	}
	now := journal[len(journal)-1].Time
	toMove := func(e work.Event) bool {
		var d TogetherDecidedData
		return e.Kind == work.TogetherDecided && decode(e, &d) == nil && d.To == TogetherMove
	}
	decided := slices.ContainsFunc(journal, toMove)
	// feed is one input, written as it is decided: a crash loses what is not written.
	feed := func(f Fact, lose bool) error {
		for evs := bug(s, f, Decide(s, Input{Now: now, Fact: f})); len(evs) > 0; evs = bug(s, settled{}, Decide(s, Input{Now: now, Fact: settled{}})) {
			if lose {
				faults["crash before the write"]++
				return replay()
			}
			for _, e := range evs {
				if err := Apply(s, e); err != nil {
					return err
				}
				journal = append(journal, e)
				decided = decided || toMove(e)
				if err := w.check(s, e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for range 400 {
		w.people(s)
		if err := w.between(decided); err != nil {
			return err
		}
		switch {
		case !s.Live && s.Outcome.Final():
			return nil
		case !s.Live:
			if err := feed(Resumed{RunResumedData: RunResumedData{By: "test"}, Reopen: true}, false); err != nil {
				return err
			}
			continue
		case s.Stopping != nil && len(Pending(s)) > 0:
			c := Pending(s)[0]
			e, err := EffectOf(s, c, Known{})
			if err != nil {
				return err
			}
			if err := feed(w.closed(e.(CloseEffect)), w.chance(10)); err != nil {
				return err
			}
			continue
		case s.Stopping != nil:
			if err := feed(Drained{}, w.chance(10)); err != nil {
				return err
			}
			continue
		case w.chance(4):
			faults["stop"]++
			outcome := work.RunInterrupted
			if w.chance(50) {
				outcome = work.RunCancelled
			}
			if err := feed(Stop{Outcome: outcome, Reason: "the test"}, false); err != nil {
				return err
			}
			continue
		case w.chance(8):
			faults["crash"]++
			if err := replay(); err != nil {
				return err
			}
			if err := feed(Resumed{RunResumedData: RunResumedData{By: "test"}}, false); err != nil {
				return err
			}
			continue
		}
		all := Pending(s)
		if len(all) != 1 {
			return fmt.Errorf("%d commands are pending while repositories are handed over", len(all))
		}
		c := all[0]
		lost := w.chance(5)
		if err := feed(Began{Command: c}, lost); err != nil {
			return err
		}
		if lost {
			continue // nothing is begun that is not on record
		}
		if e, err := EffectOf(s, c, Known{}); err != nil {
			return err
		} else if w.chance(6) {
			faults["broke"]++
			if err := feed(Broke{Command: c, Problem: "no answer of git"}, false); err != nil {
				return err
			}
		} else {
			done := w.carry(e.(TogetherEffect))
			if err := feed(done, w.chance(10)); err != nil {
				return err
			}
			if w.chance(10) {
				faults["a result twice"]++
				if err := feed(done, false); err != nil {
					return err
				}
			}
		}
	}
	if t := s.Together; t != nil && t.count(TogetherMoved, TogetherStuck) > 0 {
		return nil // people are always in the way; it says so
	}
	if s.proposes() {
		return nil // it waits for people, for as long as they want
	}
	return fmt.Errorf("the run never ends: %s", s.Together.tell())
}

// check holds that at rest no repository has its part of a result alone.
func (w *targets) check(s *State, e work.Event) error {
	if e.Kind != work.RunFinished || !s.Outcome.Final() {
		return nil
	}
	var have, lack []string
	for repo, commit := range map[string]string{"": "landed-02", "api": "landed-01", "lib": "landed-03"} {
		if w.holds(repo, commit) {
			have = append(have, Called(repo))
		} else {
			lack = append(lack, Called(repo))
		}
	}
	if len(have) > 0 && len(lack) > 0 {
		return fmt.Errorf("the run is over (%s), and of its repositories %s have the result alone", s.Outcome, strings.Join(have, ", "))
	}
	if d := s.Delivery; d != nil && d.FastForwarded != (len(lack) == 0) {
		return fmt.Errorf("the run says %v, and moved are %v", d.FastForwarded, have)
	}
	w.faults["over: "+string(s.Outcome)+fmt.Sprintf(", %d moved", len(have))]++
	return nil
}

func noBug(_ *State, _ Fact, evs []work.Event) []work.Event { return evs }

func TestSimulationOfRepositories(t *testing.T) {
	pace.Slow(t, "hundreds of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	journal, spec := handedOver(t)
	faults := map[string]int{}
	for seed := range uint64(schedules(1500)) {
		if err := handOverPlay(journal, spec, newTargets(seed+1, faults), noBug, faults); err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
	}
	t.Logf("faults %v", faults)
	for _, f := range []string{
		"a target that could not be moved", "a target moved back", "a target that could not be moved back", "merged by hand", "crash", "crash before the write",
		"stop", "broke", "a result twice", "over: completed, 3 moved", "over: completed, 0 moved", "over: cancelled, 0 moved",
		"a target that went on", "moved to a merge with what its target held", "red with what its target holds",
	} {
		if faults[f] == 0 {
			t.Errorf("no schedule met %q", f)
		}
	}
}

func TestSeededBugsOfRepositories(t *testing.T) {
	pace.Slow(t, "many schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	journal, spec := handedOver(t)
	for name, bug := range map[string]func(*State, Fact, []work.Event) []work.Event{
		"a target that was not moved taken for moved": rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Step == StepMove
		}),
		"one that was not moved back taken for moved back": rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Step == StepTakeBack
		}),
		"what is red with its target taken for proven": rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Step == StepUpdate
		}),
		"the result alone taken for what was proven with its target": rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			if d.Step == StepUpdate {
				d.Made = d.Commit
			}
		}),
		"those that were moved before one that cannot be left": rewrite(work.TogetherDecided, func(_ *State, _ *work.Event, d *TogetherDecidedData) {
			if d.To == TogetherBack {
				d.To = TogetherOver
			}
		}),
		"a cancelled run that ends half-way": func(_ *State, f Fact, evs []work.Event) []work.Event {
			for i := range evs {
				var d RunStoppingData
				if stop, ok := f.(Stop); ok && evs[i].Kind == work.RunStopping && decode(evs[i], &d) == nil {
					evs[i].Data, _ = json.Marshal(RunStoppingData(stop))
				}
			}
			return evs
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(1500) {
				if err := handOverPlay(journal, spec, newTargets(seed+1, map[string]int{}), bug, map[string]int{}); err != nil {
					if !slices.ContainsFunc([]string{"have the result alone", "the run says", "red in truth", "not proven with that"}, func(want string) bool { return strings.Contains(err.Error(), want) }) {
						t.Errorf("seed %d: found as %v", seed+1, err)
					}
					return
				}
			}
			t.Error("no schedule finds it")
		})
	}
}
