package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// maxTimedCommands are told with their times: an event has a bound.
const maxTimedCommands = 20

func (d *decision) verifyDone(f VerifyDone) {
	if !d.awaited(f.Command) {
		return
	}
	if f.Before != nil && !d.s.believes(f.Command, f.Key, *f.Before, d.now) {
		// Nothing follows: it is due still, and begun again.
		return
	}
	if f.Rides != "" && f.Rides != d.s.rides(d.s.Phases[f.Command.Phase]) {
		return // likewise
	}
	data := work.VerifyFinishedData{
		ID: f.Command.ID, On: f.Command.On, OK: f.Report.OK, Problem: text.ClipJSON(f.Report.Problem, 500), Sandbox: f.Report.Sandbox,
		Millis: max(f.Millis, 0), Key: text.ClipJSON(f.Key.Key, 100), Tree: text.ClipJSON(f.Key.Tree, 100), Before: f.Before, Filled: f.Filled, Rides: f.Rides, Time: f.Report.Time,
	}
	if r := f.Report.ReadOnly; r != nil {
		data.ReadOnly = &work.ReadOnly{Files: max(r.Files, 0), Of: max(r.Of, 0), Why: text.ClipJSON(r.Why, 200)}
	}
	for _, one := range f.Report.Ran[:min(len(f.Report.Ran), maxTimedCommands)] {
		data.Ran = append(data.Ran, work.CommandTime{Command: text.ClipJSON(one.Command, 200), OK: one.OK, Millis: max(one.Millis, 0)})
	}
	if f.Rides != "" {
		data.OK = true
	} else if f.Before != nil {
		data.OK = true
		if all := d.s.proofCommands(f.Command.Phase); len(all) > 0 {
			data.Command = text.ClipJSON(all[len(all)-1], 500)
		}
	} else if n := len(f.Report.Ran); n > 0 {
		last := f.Report.Ran[n-1]
		if failed := f.Report.Failed(); failed != nil {
			last = *failed
			data.Output = text.ClipMiddle(last.Output, maxOutput)
		}
		data.Command, data.ExitCode, data.TimedOut = text.ClipJSON(last.Command, 500), last.ExitCode, last.TimedOut
		data.Missing = last.Missing
	} else if f.Report.OK {
		// Nothing ran: that proves nothing.
		data.OK, data.Problem = false, "no verify command ran"
	}
	if f.Report.Disturbed != "" {
		// Whatever the commands said, they said it of another tree.
		data.OK, data.Disturbed = false, text.ClipJSON(f.Report.Disturbed, 500)
		data.Problem = cmp.Or(data.Problem, data.Disturbed)
	}
	own := data.On == work.OnSnapshot || data.On == work.OnMerged
	switch e := f.Evidence; {
	case !data.OK || !own:
	case e == nil:
		data.OK, data.Problem = false, "nobody held the change against the evidence of its proof"
	case unknownFloor(e.Floors) != "":
		data.OK, data.Problem = false, text.ClipJSON("a proof is due that this release does not know: "+unknownFloor(e.Floors), 500)
	default:
		data.Held = true
		data.Touched, data.Allowed = clipList(e.Touched, 20, 150), clipList(e.Allowed, 10, 80)
		data.Differs, data.Notes = clipList(e.Trusted, 20, 100), clipList(e.Notes, 6, 100)
		data.New, data.Parts = clipList(e.New, 10, 100), clipList(e.Parts, 10, 100)
		data.Floors, data.Doubts = inOrder(e.Floors), clipDoubts(slices.Concat(e.Doubts, d.s.ciEdited(f.Command.Phase, slices.Concat(e.Trusted, e.New))), mostDoubts)
		d.hiddenDone(d.s.repositoryOf(f.Command), f.Hidden, &data)
		d.pagesDone(d.s.repositoryOf(f.Command), f.Pages, &data)
	}
	d.emit(work.VerifyFinished, f.Command, roomFor(data))
}

// hiddenDone holds a green proof against the checks that the owner keeps from
// agents. Of one that is red, the owner's own words are all that is told.
func (d *decision) hiddenDone(repository string, h *work.HiddenReport, data *work.VerifyFinishedData) {
	if data.Rides != "" {
		return // they were asked about the tree that the branch will hold
	}
	if h == nil {
		if len(d.s.settingsOf(repository).Proof.Hidden) > 0 {
			data.OK, data.Problem = false, "nobody ran the hidden checks of the project's owner"
		}
		return
	}
	data.Hidden, data.HiddenSum = max(h.Ran, 0), text.ClipJSON(h.Sum, 64)
	switch {
	case h.Disturbed != "":
		data.OK, data.Disturbed = false, text.ClipJSON(h.Disturbed, 500)
		data.Problem = data.Disturbed
	case h.Red != "":
		data.OK, data.Problem = false, text.ClipJSON("a check of the project's owner is red: "+h.Red, 600)
	}
	if !data.OK {
		data.Command, data.ExitCode, data.TimedOut, data.Output = "", nil, false, ""
	}
}

// mostDoubts is how many doubts one event names.
const mostDoubts = 10

// clipDoubts keeps the first doubts of a change; what it leaves out, it says.
func clipDoubts(all []work.Doubt, most int) []work.Doubt {
	var out []work.Doubt
	for i, one := range all {
		if i == most {
			return append(out, work.Doubt{Kind: one.Kind, What: fmt.Sprintf("and %d more", len(all)-most), Floor: one.Floor})
		}
		out = append(out, work.Doubt{Kind: one.Kind, Path: text.ClipJSON(one.Path, 100), Line: max(one.Line, 0), What: text.ClipJSON(one.What, 150), Floor: one.Floor})
	}
	return out
}

// floors are the proofs that can be due beside a tree's own, in their order.
func floors() []work.VerifyOn {
	return []work.VerifyOn{work.OnTrusted, work.OnTrustedNew, work.OnTrustedChanged, work.OnProtected, work.OnProtectedChanged, work.OnParts}
}

// unknownFloor is what of all is no floor, "" = nothing.
func unknownFloor(all []work.VerifyOn) string {
	for _, f := range all {
		if !slices.Contains(floors(), f) {
			return cmp.Or(string(f), "one without a name")
		}
	}
	return ""
}

// inOrder says each floor once.
func inOrder(all []work.VerifyOn) []work.VerifyOn {
	return slices.DeleteFunc(floors(), func(f work.VerifyOn) bool { return !slices.Contains(all, f) })
}

// controlDone records what test runners said of a proof, and what it comes to.
func (d *decision) controlDone(f ControlDone) {
	if !d.awaited(f.Command) {
		return
	}
	if f.Command.Step == StepRest {
		data := work.RestFinishedData{ControlFinishedData: clipControls(f.Command, f.Report, d.s.Rests[0].Key)}
		d.restFinished(f.Command, data)
		return
	}
	key := ""
	if p := d.s.Phases[f.Command.Phase]; p != nil {
		key = p.Proving.Key
	}
	d.emit(work.ControlFinished, f.Command, clipControls(f.Command, f.Report, key))
}

// clipControls is what an event has room for of a report about the verify with a
// key, and what it comes to.
func clipControls(c Command, r work.ControlReport, key string) work.ControlFinishedData {
	data := work.ControlFinishedData{ID: c.ID}
	if len(r.Unsteady)+len(r.Deaf)+len(r.Replaced)+len(r.Lost) > 0 {
		data.Refutes = key
	}
	data.Left = clipLeft(r.Left)
	data.Millis = max(r.Millis, 0)
	data.Lost, data.Deaf, data.Replaced = clipList(r.Lost, 15, 120), clipList(r.Deaf, 8, 120), clipList(r.Replaced, 8, 120)
	data.Loosened = clipList(r.Loosened, 8, 120)
	data.Softened = clipList(r.Softened, 8, 120)
	data.Unread, data.Skipped = clipList(r.Unread, 8, 120), clipList(r.Skipped, 6, 150)
	data.Unsteady, data.Unproven, data.Undecided = clipList(r.Unsteady, 6, 120), clipPlaces(r.Unproven, 8), clipPlaces(r.Undecided, 4)
	data.Red, data.Green = r.Red, r.Green
	for _, one := range r.Runners[:min(len(r.Runners), 6)] {
		one.Name, one.Dir, one.Command, one.Why = text.ClipJSON(one.Name, 60), text.ClipJSON(one.Dir, 80), text.ClipJSON(one.Command, 100), text.ClipJSON(one.Why, 150)
		data.Runners = append(data.Runners, one)
	}
	if a := r.Ablation; a != nil {
		short := *a
		short.Idle, short.Plain, short.Skipped = clipPlaces(a.Idle, 8), clipPlaces(a.Plain, 4), text.ClipJSON(a.Skipped, 100)
		data.Ablation = &short
	}
	switch {
	case len(data.Deaf) > 0:
		data.Problem = text.ClipJSON("with this work in place the tests cannot fail any more: "+strings.Join(data.Deaf, ", "), 500)
	case len(data.Replaced) > 0:
		data.Problem = text.ClipJSON("what setup installs for tests alone is not what it installs on the trusted state: "+strings.Join(data.Replaced, ", "), 500)
	case len(data.Lost) > 0:
		data.Problem = text.ClipJSON(fmt.Sprintf("not reported as passed, and passed before, %s: %s", text.Number(len(r.Lost), "test"), strings.Join(data.Lost, ", ")), 500)
	}
	return data
}

// clipLeft is l within the bounds that its makers keep to.
func clipLeft(l *work.ControlLeft) *work.ControlLeft {
	if l.Empty() {
		return nil
	}
	short := func(marks []string) []string {
		if len(marks) > work.MostLeft || slices.ContainsFunc(marks, func(m string) bool { return len(m) > len(work.LeftMark("")) }) {
			return []string{work.AllLeft}
		}
		return marks
	}
	return &work.ControlLeft{Runners: short(l.Runners), Functions: short(l.Functions), Hunks: short(l.Hunks), Own: l.Own, Commands: l.Commands, Changed: l.Changed}
}

func clipPlaces(all []work.Place, most int) []work.Place {
	var out []work.Place
	for _, one := range work.CutPlaces(all, most) {
		one.Path, one.Name, one.Why = text.ClipJSON(one.Path, 100), text.ClipJSON(one.Name, 60), text.ClipJSON(one.Why, 80)
		out = append(out, one)
	}
	return out
}

// doubtKinds are the kinds of the doubts, each once.
func (s *State) doubtKinds() []string {
	var out []string
	for _, one := range s.Doubts {
		if !slices.Contains(out, string(one.Kind)) {
			out = append(out, string(one.Kind))
		}
	}
	return out
}

// tellDoubts is what a person decides on, a line for each doubt.
func (s *State) tellDoubts() string {
	if len(s.Doubts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("the proof is in doubt:\n")
	for i, one := range s.Doubts {
		if i == 30 {
			fmt.Fprintf(&b, "  and %d more (forge why names them)\n", len(s.Doubts)-i)
			break
		}
		b.WriteString("  " + one.String() + "\n")
	}
	return b.String()
}

// proofCommands are the commands of a phase's proof, or of the run's where phase
// is "".
func (s *State) proofCommands(phase string) []string {
	if p := s.Phases[phase]; p != nil {
		return slices.Concat(p.Set.Verify, s.settingsOf(p.Plan.Repository).Proof.Also)
	}
	set := s.settingsOf(s.Baseline.Repository)
	return slices.Concat(set.Verify.Commands, set.Proof.Also)
}
