package landing

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// Bounds of what follows each other without a person.
const (
	mostMoves  = 20 // tries in a row in which something moved
	mostHanded = 2  // runs that are wanted for one and the same
	mostNamed  = 50 // issues that land together and are named
)

// Pauses before something is asked again that passes by itself.
const (
	firstAway = time.Second
	mostAway  = 10 * time.Minute
)

// Decide says which events follow from an input, one step at a time. It changes
// nothing.
func Decide(s *State, in Input) []work.Event {
	d := &decision{s: s, now: in.Now}
	switch f := in.Fact.(type) {
	case Begin:
		d.begin(f)
	case Started:
		if d.due(f.Command) {
			d.add(work.LandingStarted, StartedData{Command: f.Command.ID, Step: f.Command.Step, Commit: f.Command.Commit})
		}
	case Looked:
		d.finished(f.Command, FinishedData{Look: clipLook(f.Look)})
	case Proved:
		p := f.Proof
		p.Conflicts, p.Problem, p.InTheWay = clipList(p.Conflicts), clip(p.Problem), clip(p.InTheWay)
		p.With = p.With[:min(len(p.With), mostNamed)]
		d.finished(f.Command, FinishedData{Proof: &p})
	case Probed:
		p := f.Probe
		p.Problem, p.Before = clip(p.Problem), p.Before[:min(len(p.Before), mostNamed)]
		d.finished(f.Command, FinishedData{Probe: &p})
	case Landed:
		m := f.Made
		m.Moved, m.InTheWay, m.Undo = clip(m.Moved), clip(m.InTheWay), clip(m.Undo)
		d.finished(f.Command, FinishedData{Made: &m})
	case Checked:
		c := f.Check
		c.Problem = clip(c.Problem)
		d.finished(f.Command, FinishedData{Check: &c})
	case Tidied:
		d.finished(f.Command, FinishedData{})
	case Broke:
		d.broke(f)
	case settled:
		d.settle()
	}
	return d.out
}

// Feed decides, applies, and settles until nothing follows; it returns the events
// in order.
func Feed(s *State, in Input) ([]work.Event, error) {
	var all []work.Event
	for evs := Decide(s, in); len(evs) > 0; evs = Decide(s, Input{Now: in.Now, Fact: settled{}}) {
		for _, e := range evs {
			if err := Apply(s, e); err != nil {
				return nil, err
			}
		}
		if all = append(all, evs...); len(all) > 100 {
			return nil, fmt.Errorf("decide the landing of run %s: the same decisions follow each other without end", s.Run)
		}
	}
	return all, nil
}

// decision collects the events of one step.
type decision struct {
	s   *State
	now time.Time
	out []work.Event
}

func (d *decision) add(kind work.EventKind, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		raw, _ = json.Marshal(FinishedData{Problem: clip(err.Error())}) // own types, which always can
	}
	d.out = append(d.out, work.Event{
		V: work.EventVersion, Seq: d.s.Seq + int64(len(d.out)) + 1, Time: d.now.UTC(), Run: d.s.Run, Kind: kind, Attempt: d.s.Of.Try, Data: raw,
	})
}

// due says that a command is awaited: the result of an earlier try is not.
func (d *decision) due(c Command) bool {
	return d.s.awaits(c)
}

func (d *decision) begin(f Begin) {
	if d.s.Landed != nil {
		return // what is left is to tidy up
	}
	d.began(BeganData{
		For: f.For, Issue: f.Issue, Result: f.Result, Branch: f.Branch, Unwanted: clip(f.Unwanted), Pull: f.Pull, Retry: f.Retry,
	})
}

func (d *decision) began(b BeganData) {
	b.Try = d.s.Of.Try + 1
	d.add(work.LandingBegan, b)
	d.out[len(d.out)-1].Attempt = b.Try
}

func (d *decision) finished(c Command, data FinishedData) {
	if !d.due(c) {
		return
	}
	data.Command, data.Step = c.ID, c.Step
	d.add(work.LandingFinished, data)
}

// broke ends a try whose step could not be carried out.
func (d *decision) broke(f Broke) {
	if !d.due(f.Command) {
		return
	}
	data := FinishedData{AfterSecs: int(f.After / time.Second), Problem: clip(f.Problem)}
	if t := f.Trouble; t != nil {
		short := *t
		short.What, short.Fix = clip(t.What), clip(t.Fix)
		data.Trouble = &short
	}
	d.finished(f.Command, data)
	switch t := data.Trouble; {
	case f.Command.Step == StepTidy:
	case f.Short != "":
		until := d.later(0)
		d.ends(DecidedData{Decision: DecideWait, Hold: factory.HoldShort, Waits: true, Until: until,
			Reason: fmt.Sprintf("tried again at %s: %s", until.UTC().Format("15:04:05Z"), clip(f.Short))})
	case t == nil:
		d.ends(DecidedData{Decision: DecideWait, Reason: data.Problem})
	case moves(t.Kind):
		d.moved(t.What)
	case t.Passes:
		until := d.later(f.After)
		d.ends(DecidedData{Decision: DecideWait, Hold: factory.HoldHost, Waits: true, Until: until,
			Reason: fmt.Sprintf("tried again at %s: %s", until.UTC().Format("15:04:05Z"), tell(*t))})
	default:
		d.ends(DecidedData{Decision: DecideWait, Hold: factory.HoldPullBlocked, Waits: true, Reason: tell(*t)})
	}
}

// moves says that a host refused because something is not as it was looked at.
func moves(kind work.HostKind) bool {
	return slices.Contains([]work.HostKind{work.HostHeadMoved, work.HostBaseMoved, work.HostPullMerged, work.HostPullClosed}, kind)
}

func tell(t work.PullTrouble) string {
	if t.Fix == "" {
		return t.What
	}
	return t.What + " (" + t.Fix + ")"
}

// later is when something is asked again that passes by itself: after a longer
// pause each time.
func (d *decision) later(asked time.Duration) time.Time {
	return d.now.Add(min(max(firstAway<<min(d.s.Away, 20), asked), mostAway))
}

// ends is a decision that ends the try.
func (d *decision) ends(data DecidedData) {
	data.Try, data.To = d.s.Of.Try, StageOver
	if data.Decision == DecideLanded && d.s.Look.Host && d.s.Look.Pull != nil {
		data.To = StageTidy
	}
	if data.Target == "" && d.s.Look != nil {
		data.Target = d.s.Look.Target
	}
	data.Reason = text.ClipJSON(data.Reason, 3<<10)
	d.add(work.LandingDecided, data)
}

func (d *decision) goes(decision Decision, to Stage) {
	d.add(work.LandingDecided, DecidedData{Try: d.s.Of.Try, Decision: decision, To: to})
}

func (d *decision) wait(hold, format string, args ...any) {
	d.ends(DecidedData{Decision: DecideWait, Hold: hold, Reason: fmt.Sprintf(format, args...), Waits: true})
}

// fails holds a result until a person says that it is to be tried again.
func (d *decision) fails(hold, format string, args ...any) {
	d.ends(DecidedData{Decision: DecideWait, Hold: hold, Reason: fmt.Sprintf(format, args...)})
}

// moved begins anew, as long as that does not go on for ever.
func (d *decision) moved(what string) {
	if d.s.Row+1 >= mostMoves {
		until := d.later(0)
		d.ends(DecidedData{Decision: DecideWait, Hold: factory.HoldLandingMoves, Waits: true, Until: until,
			Reason: fmt.Sprintf("tried again at %s: something moved in each of %d tries, the last time: %s", until.UTC().Format("15:04:05Z"), mostMoves, what)})
		return
	}
	again := d.s.Of
	again.Moved, again.Retry = true, false
	if l := d.s.Look; l != nil && l.Pull != nil {
		again.Pull = &l.Pull.Card
	}
	d.ends(DecidedData{Decision: DecideMoved, Reason: what})
	d.began(again)
}

// again has another run go on from the result, as often as that may help; then
// people have to see to it.
func (d *decision) again(hold, reason, more string) {
	if d.s.handing(hold).Times > mostHanded && d.s.Of.For != ForAgain {
		d.wait(hold, "%s: mend that, then forge issue retry %d", reason, d.s.Of.Issue)
		return
	}
	d.ends(DecidedData{Decision: DecideAgain, Hold: hold, Reason: reason + more, Waits: true, Until: d.now})
}

func clip(words string) string { return text.ClipJSON(words, 1000) }

func clipList(names []string) []string {
	var out []string
	for _, n := range names[:min(len(names), 30)] {
		out = append(out, text.ClipJSON(n, 200))
	}
	return out
}

func clipLook(l Look) *Look {
	l.Out = clip(l.Out)
	if l.Pull != nil {
		p := *l.Pull
		p.Why, p.Against, p.MergedBy, p.Mark = clip(p.Why), text.ClipJSON(p.Against, 100), text.ClipJSON(p.MergedBy, 100), text.ClipJSON(p.Mark, 100)
		p.Card.URL = text.ClipJSON(p.Card.URL, 500)
		p.Checks.Failed, p.Checks.Broken, p.Checks.Late = clipList(p.Checks.Failed), clipList(p.Checks.Broken), clipList(p.Checks.Late)
		l.Pull = &p
	}
	return &l
}
