package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// The result of a run of several repositories is handed over together or not at
// all. Git moves one repository at a time, so that it is done in steps, each of
// which is recorded before it is begun and after it:
//
//  1. Prepare, in each: the result is put on a branch of its own, and it is looked
//     whether the target could be moved to it now. No target moves. One that went on
//     since the run began is merged into the result first (together_update.go).
//  2. The decision: move, in this order; or keep everything where it is.
//  3. Move, one by one, each by compare-and-set. Whoever goes on after a crash goes
//     on forward.
//  4. Where one cannot be moved, those before it are moved back, by compare-and-set
//     too. Where somebody has built on one of them, nothing is taken from them: the
//     run is held, says so, and goes on forward when it is resumed.

// Together is how far the hand-over has come.
type Together struct {
	Of    []TogetherOne
	Stage TogetherStage
	Tries int // results so far, for the ids of commands
	// Updates counts how often in a row results were merged with targets that went on.
	Updates int    `json:",omitempty"`
	Why     string `json:",omitempty"` // why the targets stay, or the run is held
}

// TogetherOne is one repository of a hand-over, in its order.
type TogetherOne struct {
	Repository string `json:",omitempty"`
	From, To   string // what the target is moved from, and to
	State      TogetherState
	Why        string `json:",omitempty"` // it was not to be moved, or not back
	Undo       string `json:",omitempty"`
	// Tree is what its target holds once a host has merged it; "" = what To holds.
	Tree string `json:",omitempty"`
	ResultPulled
	// Asked says that a host was asked to merge it, and nobody knows what came of it.
	Asked bool `json:",omitempty"`
}

// TogetherStage is where a hand-over stands.
type TogetherStage string

const (
	TogetherPrepare  TogetherStage = "prepare"
	TogetherUpdating TogetherStage = "update"
	TogetherPropose  TogetherStage = "propose"
	TogetherLink     TogetherStage = "link"
	TogetherLook     TogetherStage = "look"
	TogetherMove     TogetherStage = "move"
	TogetherBack     TogetherStage = "back"
	TogetherHeld     TogetherStage = "held"
	TogetherOver     TogetherStage = "over"
)

// TogetherState is where one repository of it stands.
type TogetherState string

const (
	TogetherDue    TogetherState = ""
	TogetherReady  TogetherState = "ready"
	TogetherBehind TogetherState = "behind" // its target went on, and nothing else is in the way
	TogetherKept   TogetherState = "kept"   // it cannot be moved
	TogetherMoved  TogetherState = "moved"
	TogetherTaken  TogetherState = "back"
	TogetherStuck  TogetherState = "stuck" // moved, and not to be moved back, or to something that nobody proved
)

// TogetherEffect is one step of a hand-over in one repository. Its fact is
// TogetherDone.
type TogetherEffect struct {
	Command Command
	Run     string
	Branch  string // that holds the result
	Base    work.Base
	// Accepts is recorded before the target is moved.
	Accepts []work.TrustMove `json:",omitempty"`
	// Before have to stand where they were moved to, or nothing more is moved.
	Before []TogetherPlace `json:",omitempty"`
	// Pull is the pull request by which the target is moved; nil = it is moved here.
	Pull *ResultPull `json:",omitempty"`
	// Update is how the result is merged with its target; nil = it is not now.
	Update *TogetherUpdate `json:",omitempty"`
}

// TogetherPlace is a target that was moved.
type TogetherPlace struct {
	Repository string `json:",omitempty"`
	Branch     string
	Commit     string
}

// TogetherFinishedData is the payload of together.finished.
type TogetherFinishedData struct {
	Command    work.CommandID `json:"command"`
	Step       Step           `json:"step"`
	Repository string         `json:"repository"` // as people call it
	Commit     string         `json:"commit"`
	OK         bool           `json:"ok"`
	Why        string         `json:"why,omitempty"`
	Undo       string         `json:"undo,omitempty"`
	Made       string         `json:"made,omitempty"` // the merge with its target
	Tree       string         `json:"tree,omitempty"` // what that holds
	ResultPulled
}

// TogetherStartedData is the payload of together.started.
type TogetherStartedData struct {
	Command    work.CommandID `json:"command"`
	Step       Step           `json:"step"`
	Repository string         `json:"repository"`
	Commit     string         `json:"commit"`
}

// TogetherDecidedData is the payload of together.decided.
type TogetherDecidedData struct {
	To    TogetherStage `json:"to"`
	Order []string      `json:"order"` // the repositories, as people call them
	Why   string        `json:"why,omitempty"`
}

// handOver begins to hand the results of several repositories over. Those that
// nothing landed in are no part of it.
func (s *State) handOver() {
	s.Together = nil
	if len(s.Spec.Repositories) == 0 {
		return
	}
	t := &Together{Stage: TogetherPrepare}
	for _, name := range s.order() {
		if from, to := s.BaseOf(name).Commit, s.HeadOf(name); from != to {
			t.Of = append(t.Of, TogetherOne{Repository: name, From: from, To: to})
		}
	}
	if len(t.Of) > 0 {
		s.Together = t
	}
}

// next is the repository whose turn it is, and what is to be done there.
func (t *Together) next() (at int, step Step, due bool) {
	switch t.Stage {
	case TogetherPrepare:
		at = slices.IndexFunc(t.Of, func(o TogetherOne) bool { return o.State == TogetherDue })
		step = StepPrepare
	case TogetherUpdating:
		at = slices.IndexFunc(t.Of, func(o TogetherOne) bool { return o.State == TogetherBehind })
		if step = StepUpdate; t.count(TogetherKept) > 0 {
			at = -1
		}
	case TogetherPropose, TogetherLink, TogetherLook:
		return t.nextPull()
	case TogetherMove:
		at = slices.IndexFunc(t.Of, func(o TogetherOne) bool { return o.State != TogetherMoved })
		if step = StepMove; t.count(TogetherBehind, TogetherKept, TogetherStuck) > 0 {
			at = -1
		}
	case TogetherBack:
		at = -1
		for i, o := range t.Of {
			if o.State == TogetherMoved {
				at = i // the last that was moved goes back first
			}
		}
		step = StepTakeBack
	default:
		at = -1
	}
	return at, step, at >= 0
}

// count is how many stand so.
func (t *Together) count(states ...TogetherState) (n int) {
	for _, o := range t.Of {
		if slices.Contains(states, o.State) {
			n++
		}
	}
	return n
}

// moved says that its target was moved, to whatever.
func (o TogetherOne) moved() bool {
	return o.State == TogetherMoved || o.State == TogetherStuck || o.Merged != ""
}

// half says that some targets stand moved and others do not, or that nobody knows.
func (t *Together) half() bool {
	if t == nil {
		return false
	}
	moved, asked := 0, false
	for _, o := range t.Of {
		asked = asked || o.Asked
		if o.moved() {
			moved++
		}
	}
	return t.Stage == TogetherMove || t.Stage == TogetherBack || asked || moved > 0 && moved < len(t.Of)
}

// tell says where each repository stands.
func (t *Together) tell() string {
	var said []string
	for _, o := range t.Of {
		state := "is not moved"
		if o.moved() {
			state = "is moved"
		}
		if o.Number != 0 {
			state += fmt.Sprintf(", pull request %d", o.Number)
		}
		if o.Why != "" {
			state += " (" + o.Why + ")"
		}
		said = append(said, Called(o.Repository)+" "+state)
	}
	return text.ClipJSON(strings.Join(said, ", "), 1000)
}

func (s *State) pendingTogether() (Command, bool) {
	t := s.Together
	if t == nil || s.Final.Stage != FinalDeliver {
		return Command{}, false
	}
	at, step, due := t.next()
	if !due {
		return Command{}, false
	}
	one := t.Of[at]
	id := s.id("", s.Final.Tries+1, t.Tries+1, string(step)+"-"+Called(one.Repository))
	return Command{ID: id, Step: step, Repository: one.Repository, Commit: one.To}, true
}

func (s *State) togetherEffect(c Command) (Effect, error) {
	want, due := s.pendingTogether()
	if !due || want.ID != c.ID {
		return nil, fmt.Errorf("carry out %s: it is not its turn", c.ID)
	}
	at, _, _ := s.Together.next()
	e := TogetherEffect{Command: want, Run: s.Run, Branch: s.Spec.Branch, Base: s.BaseOf(want.Repository), Pull: s.resultPull(want)}
	if from := s.Together.Of[at].From; from != e.Base.Commit {
		e.Base.Commit, e.Base.Was = from, ""
	}
	if c.Step == StepUpdate {
		e.Update = s.updateOf(want, s.Together.Of[at])
	}
	if c.Step != StepMove {
		return e, nil
	}
	for _, m := range s.accepts() {
		if m.Repository == want.Repository {
			e.Accepts = append(e.Accepts, m)
		}
	}
	for _, o := range s.Together.Of {
		if o.State == TogetherMoved {
			e.Before = append(e.Before, TogetherPlace{Repository: o.Repository, Branch: s.BaseOf(o.Repository).Branch, Commit: cmp.Or(o.Merged, o.To)})
		}
	}
	return e, nil
}

// together decides what follows once every repository has had its turn.
func (d *decision) together() {
	t := d.s.Together
	if _, _, due := t.next(); due {
		return
	}
	why := t.Why
	for _, o := range t.Of {
		if o.State == TogetherKept {
			why = cmp.Or(why, Called(o.Repository)+": "+o.Why)
		}
	}
	switch t.Stage {
	case TogetherPrepare:
		if why = cmp.Or(d.s.stays(d.s.whole()), why); why != "" {
			d.togetherDecided(TogetherOver, why)
			return
		}
		if d.update(TogetherOver) {
			return
		}
		if d.s.proposes() {
			d.togetherDecided(TogetherPropose, "")
			return
		}
		d.togetherDecided(TogetherMove, "")
	case TogetherUpdating:
		d.provenOnTargets(why)
	case TogetherPropose, TogetherLink, TogetherLook:
		d.proposed()
	case TogetherMove:
		if (d.s.proposes() || t.count(TogetherMoved) == 0) && t.count(TogetherKept, TogetherStuck) == 0 && d.update(d.s.keeps()) {
			return
		}
		if d.s.proposes() && t.count(TogetherKept, TogetherStuck) > 0 {
			d.togetherDecided(TogetherHeld, t.tell()) // no host takes a merge back
			return
		}
		if t.count(TogetherBehind, TogetherKept) > 0 && t.count(TogetherMoved) > 0 {
			d.togetherDecided(TogetherBack, why)
			return
		}
		d.togetherDecided(TogetherOver, why)
	case TogetherBack:
		if t.count(TogetherStuck) > 0 {
			d.togetherDecided(TogetherHeld, t.tell())
			return
		}
		if t.count(TogetherKept) == 0 && d.update(TogetherOver) {
			return
		}
		d.togetherDecided(TogetherOver, why)
	case TogetherHeld:
		d.run(work.RunStopping, t.held())
	case TogetherOver:
		d.run(work.DeliverFinished, DeliverFinishedData{Command: d.s.deliverCommand().ID, Delivery: d.s.delivered()})
	}
}

func (d *decision) togetherDecided(to TogetherStage, why string) {
	data := TogetherDecidedData{To: to, Why: text.ClipJSON(why, 1000)}
	for _, o := range d.s.Together.Of {
		data.Order = append(data.Order, Called(o.Repository))
	}
	d.run(work.TogetherDecided, data)
}

func (d *decision) togetherDone(f TogetherDone) {
	if !d.awaited(f.Command) {
		return
	}
	c := f.Command
	d.emit(work.TogetherFinished, c, TogetherFinishedData{
		Command: c.ID, Step: c.Step, Repository: Called(c.Repository), Commit: c.Commit, OK: f.Why == "",
		Why: f.why(), Undo: text.ClipJSON(f.Undo, 300), Made: text.ClipJSON(f.Made, 100), Tree: text.ClipJSON(f.Tree, 100), ResultPulled: f.clipped(),
	})
}

// delivered is what became of the results, as one delivery.
func (s *State) delivered() work.Delivery {
	t := s.Together
	all := t.count(TogetherMoved) == len(t.Of)
	out := work.Delivery{Branch: s.Spec.Branch, Commit: s.Head, FastForwarded: all, Reason: t.Why}
	switch {
	case !all:
		out.Next = "git merge " + s.Spec.Branch + " in each repository"
	case s.proposes():
		out.Next = "git pull in each repository"
	}
	for _, o := range t.Of {
		if o.Repository == "" {
			out.Commit = o.To
		}
		out.Repositories = append(out.Repositories, work.RepositoryDelivery{
			Repository: Called(o.Repository), Target: s.BaseOf(o.Repository).Branch, From: o.From, To: o.To,
			Moved: o.State == TogetherMoved, Why: o.Why, Undo: o.Undo, Pull: o.URL, Merged: o.Merged,
		})
	}
	return out
}

// tellHalf says where the repositories stand, while only some of them are moved.
func (s *State) tellHalf() string {
	if s.Final.Stage != FinalDeliver || !s.Together.half() {
		return ""
	}
	return "; its repositories: " + s.Together.tell()
}

// notHalf lets no stop end a run for good while some targets are moved and others
// are not: whoever resumes it brings them together.
func (s *State) notHalf(stop Stop) RunStoppingData {
	if stop.Outcome.Final() && s.Final.Stage == FinalDeliver && s.Together.half() {
		return RunStoppingData{Outcome: work.RunInterrupted, Reason: text.ClipJSON("it was to end ("+stop.Reason+") while its repositories were being moved: "+s.Together.tell(), 500)}
	}
	return RunStoppingData(stop)
}

// together says that it is a step of a hand-over.
func (s Step) together() bool {
	return slices.Contains([]Step{StepPrepare, StepUpdate, StepPropose, StepLink, StepLook, StepMove, StepTakeBack}, s)
}

func (e TogetherEffect) Of() Command { return e.Command }

func (TogetherEffect) effect() {}
