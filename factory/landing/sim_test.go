package landing

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/pace"
	"forge/internal/work"
)

// feed lets the core decide, and holds its events to what must always be so.
func (r *simRun) feed(f Fact) {
	w, s := r.w, r.s
	if r.bug != nil && r.bug.fact != nil {
		f = r.bug.fact(s, f)
	}
	for range 100 {
		evs := Decide(s, Input{Now: w.now, Fact: f})
		if r.bug != nil && r.bug.events != nil {
			evs = r.bug.events(s, evs)
		}
		if len(evs) == 0 {
			return
		}
		for _, e := range evs {
			if err := Apply(s, e); err != nil {
				w.complain("%s: %v", r.name, err)
			}
			if r.bug != nil && r.bug.apply != nil {
				r.bug.apply(s, e)
			}
			if len(e.Data) > work.MaxEventBytes {
				w.complain("%s: an event of %d bytes", r.name, len(e.Data))
			}
			r.evs = append(r.evs, e)
			r.check(e)
		}
		f = settled{}
	}
	w.complain("%s: decisions without end", r.name)
}

// check holds one event to the truth.
func (r *simRun) check(e work.Event) {
	w := r.w
	switch e.Kind {
	case work.LandingBegan:
		if r.tries++; r.tries > mostMoves {
			w.complain("%s: more than %d tries without a pause", r.name, mostMoves)
		}
		if r.begun++; r.landed {
			w.complain("%s: tried again after it landed", r.name)
		}
	case work.LandingStarted:
		var d StartedData
		_ = json.Unmarshal(e.Data, &d)
		if was, known := r.ids[d.Command]; known && was != r.begun {
			w.complain("%s: try %d bears the id of try %d: %s", r.name, r.begun, was, d.Command)
		}
		r.ids[d.Command] = r.begun
	case work.LandingDecided:
		var d DecidedData
		_ = json.Unmarshal(e.Data, &d)
		r.decided(d)
	}
}

// decided holds a decision to the truth.
func (r *simRun) decided(d DecidedData) {
	w := r.w
	if !d.Decision.Ends() {
		return
	}
	if d.Decision == DecideLanded {
		r.landed = true
		switch {
		case !w.past[content(d.Commit)]:
			w.complain("%s: it is said to have landed at %q, and the target is %q", r.name, d.Commit, w.target)
		case !content(d.Commit).holds(r.result):
			w.complain("%s: it is said to have landed at %q, which does not hold %q", r.name, d.Commit, r.result)
		case w.commands && r.s.Check != nil && r.s.Check.Tree != r.s.proven() && r.s.Check.Verdict != Green:
			w.complain("%s: what people merged counts without a proof", r.name)
		case w.commands && r.pull != nil && r.pull.by == "ann" && r.s.Check != nil && r.s.Check.Tree != r.s.proven() && r.checkedRed:
			w.complain("%s: what people merged is red in truth", r.name)
		}
		return
	}
	if d.Reason == "" {
		w.complain("%s: %s without a word on why", r.name, d.Decision)
	}
	if d.Hold == factory.HoldShort && (!d.Waits || !d.Until.After(w.now)) {
		w.complain("%s: what the machine lacked is not waited out: %+v", r.name, d)
	}
	if p := r.s.Proof; p != nil && len(p.Conflicts) > 0 && d.Hold != factory.HoldLandingConflict && d.Decision != DecideMoved {
		w.complain("%s: a conflict is lost: %+v", r.name, d)
	}
	if d.Decision == DecideAgain && d.Hold == factory.HoldPullChecks && r.s.Of.For == ForLand {
		if p := r.s.Look.Pull; len(p.Checks.Failed) == 0 || r.fixed >= mostFixes {
			w.complain("%s: an agent is to mend what checks found, and %d heads were mended: %+v", r.name, r.fixed, p.Checks)
		}
	}
	if l := r.s.Look; d.Decision == DecideAgain && r.s.Of.For == ForLand && l != nil && ofPeople(l.Pull) && l.Pull.Against == "" {
		// Whoever goes on from what people pushed, unasked, looks at what is proven.
		if known := r.s.Proof; known == nil || len(known.Conflicts) == 0 && known.Verdict != Green && known.Verdict != NoCommands {
			w.complain("%s: an agent is set on what people pushed, which is not proven: %s", r.name, d.Hold)
		}
	}
	if d.Decision == DecideAgain && r.s.Of.For == ForLand {
		key := d.Hold + r.s.Look.Onto + r.s.at()
		if r.handed[key]++; r.handed[key] > mostHanded {
			w.complain("%s: the same was given to an agent %d times", r.name, r.handed[key])
		}
	}
}

// step lets the process do one thing; what it does may be its last.
func (r *simRun) step() {
	w := r.w
	if r.opened || r.landed && (r.s == nil || r.s.Stage == StageOver) && w.rand.IntN(5) > 0 {
		return // else its card was not told
	}
	if r.s == nil || r.fact == nil && (r.s.Stage == StageOver || r.s.Stage == StageNone) {
		r.begin()
		return
	}
	if !w.calm && !w.long && w.rand.IntN(14) == 0 {
		r.s, r.fact = nil, nil // killed
		return
	}
	if f := r.fact; f != nil {
		r.fact = nil
		r.feed(f)
		if !w.calm && w.rand.IntN(6) == 0 {
			r.late = append(r.late, f)
		}
		for len(r.late) > 0 && w.rand.IntN(3) == 0 { // twice, or late
			r.feed(r.late[0])
			r.late = r.late[1:]
		}
		return
	}
	c, ok := Pending(r.s)
	if !ok {
		w.complain("%s: nothing is pending at %q", r.name, r.s.Stage)
		return
	}
	r.feed(Started{c})
	e := EffectOf(r.s, c)
	if r.bug != nil && r.bug.effect != nil {
		e = r.bug.effect(w, e)
	}
	if r.fact = r.do(e); r.fact != nil {
		r.checkedRed = !w.target.good()
	}
}

// begin is a new process, or a new pass of one: all it knows is the journal.
func (r *simRun) begin() {
	w := r.w
	s := NewState(r.name)
	for _, e := range r.evs {
		if err := Apply(s, e); err != nil {
			w.complain("%s: replay: %v", r.name, err)
		}
		if r.bug != nil && r.bug.apply != nil {
			r.bug.apply(s, e)
		}
	}
	if r.s != nil {
		was, _ := json.Marshal(r.s)
		if now, _ := json.Marshal(s); string(was) != string(now) {
			w.complain("%s: replayed, the journal gives another state:\n%s\n%s", r.name, was, now)
		}
	}
	r.s, r.tries = s, 0
	w.now = w.now.Add(time.Duration(1+w.rand.IntN(3)) * time.Minute)
	b := Begin{For: ForLand, Issue: 1, Result: string(r.result), Branch: "forge/issue-1", Unwanted: r.unwanted}
	r.named = r.unwanted != ""
	if s.Again() {
		if s.Of.For == ForAgain {
			r.opened = true // another run goes on; nothing of it can be lost any more
			return
		}
		b.For = ForAgain
	}
	if r.pull != nil {
		b.Pull = &work.IssuePull{Number: 1}
	}
	r.feed(b)
}

// play lets two runs land on one target, and says what went wrong.
func play(seed uint64, bug *simBug) []string {
	rnd := rand.New(rand.NewPCG(seed, 7))
	w := &simWorld{rand: rnd, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), host: seed%2 == 0, commands: seed%7 != 0, past: map[content]bool{}}
	w.becomes(of("base"))
	for n := range 2 {
		r := &simRun{w: w, name: fmt.Sprint("run", n), result: of("base", fmt.Sprint("r", n)), ids: map[work.CommandID]int{}, handed: map[string]int{}, fixed: rnd.IntN(mostFixes + 1), reviewed: rnd.IntN(3) == 0, bug: bug}
		w.runs = append(w.runs, r)
	}
	steps, pause := 60+rnd.IntN(100), 4 // between what people do
	if w.long = seed%50 == 49; w.long {
		steps, pause = 800, 200
	}
	for range steps {
		if rnd.IntN(pause) == 0 {
			w.people()
		}
		w.runs[rnd.IntN(2)].step()
		if len(w.wrong) > 0 {
			return w.wrong
		}
	}
	w.peace()
	for range 400 {
		w.runs[rnd.IntN(2)].step()
	}
	for _, r := range w.runs {
		if !r.landed && !r.opened && !r.redPush() {
			w.complain("%s: nothing stands in the way, and it does not land: %+v", r.name, r.s.Last)
		}
		if r.landed && !w.target.holds(r.result) {
			w.complain("%s: it has landed, and the target %q does not hold it", r.name, w.target)
		}
	}
	return w.wrong
}

// Whatever dies, moves or is said twice: nothing lands unproven or twice, nothing
// is lost, and in the end all of it lands or is gone on from.
func TestLandingsOfManyWorlds(t *testing.T) {
	pace.Slow(t, "hundreds of worlds")
	pace.Sequential(t, "worlds of a pure core, in one goroutine")
	reached := map[string]bool{}
	for seed := range uint64(mostWorlds) {
		if wrong := play(seed, note(reached)); len(wrong) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(wrong, "\n"))
		}
	}
	for _, want := range []Decision{DecideProve, DecideLand, DecideCheck, DecideLanded, DecideWait, DecideAgain, DecideMoved, DecideLeft} {
		if !reached[string(want)] {
			t.Errorf("no world came to decide %q", want)
		}
	}
	for _, hold := range []string{factory.HoldLandingConflict, factory.HoldLandingRed, factory.HoldHost, factory.HoldShort, factory.HoldUnwanted, factory.HoldPullChanges, factory.HoldPullClosed, factory.HoldPullPushed, factory.HoldPullChecks} {
		if !reached[hold] {
			t.Errorf("no world came to be held by %q", hold)
		}
	}
}

// note is no bug: it sees what is reached.
func note(reached map[string]bool) *simBug {
	return &simBug{events: func(_ *State, evs []work.Event) []work.Event {
		for _, e := range evs {
			var d DecidedData
			if e.Kind == work.LandingDecided && json.Unmarshal(e.Data, &d) == nil {
				reached[string(d.Decision)], reached[d.Hold] = true, true
			}
		}
		return evs
	}}
}
