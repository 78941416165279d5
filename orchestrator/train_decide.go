package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// clipMerge is what an event has room for of a merge.
func clipMerge(m MergeFinishedData) MergeFinishedData {
	m.Conflicts, m.Differs = clipList(m.Conflicts, 30, 200), clipList(m.Differs, 30, 200)
	if len(m.Paths) > mostPaths {
		m.Paths = nil
	}
	return m
}

// ofMember is the id of what a command for a whole train did for one of it: no two
// results have the same.
func ofMember(c Command, phase string) work.CommandID { return c.ID + work.CommandID("/"+phase) }

// trainDone takes over what became of each member of a train.
func (d *decision) trainDone(f TrainDone) {
	if !d.awaited(f.Command) {
		return
	}
	t := d.s.Train
	if t == nil {
		return // it never began
	}
	data := TrainFinishedData{Command: f.Command.ID}
	for _, one := range f.Links {
		p := d.s.Phases[one.Phase]
		if p == nil || !t.has(one.Phase) {
			continue
		}
		m := clipMerge(one.Result)
		m.Command, m.Train = ofMember(f.Command, one.Phase), t.Number
		d.phase(one.Phase, work.MergeFinished, m)
		if len(m.Conflicts) == 0 && !(d.s.reviews(p) && len(m.Differs) > 0) {
			data.Members = append(data.Members, one.Phase)
		}
	}
	d.emit(work.TrainFinished, f.Command, data)
}

// trainBroke lets every member go alone: nobody knows what became of them together.
func (d *decision) trainBroke(f Broke) {
	d.emit(work.TrainFinished, f.Command, TrainFinishedData{Command: f.Command.ID, Problem: text.ClipJSON(f.Problem, 300)})
}

// train decides what follows from what is known of the train; false = nothing yet.
func (d *decision) train() bool {
	t := d.s.Train
	if t == nil || !t.Built {
		return false
	}
	switch {
	case t.Broken != "":
		if len(t.Begun) > 0 {
			return false // what is under way ends first
		}
		d.run(work.TrainDecided, TrainDecidedData{Decision: TrainApart, Reason: t.Broken})
	case t.Stands != "" || t.Span.Probe() != 0:
		return false
	default:
		d.foundGreen(t)
	}
	return true
}

// foundGreen decides who lands together: those before the first tree that is red.
func (d *decision) foundGreen(t *Train) {
	data := TrainDecidedData{Decision: TrainStands, Members: slices.Clone(t.Members[:t.Span.Good]), Verify: t.Green.ID, Verifies: t.Verifies}
	if at := t.Span.Culprit(); at > 0 {
		data.Culprit = t.Members[at-1]
	}
	behind := len(t.Members) - t.Span.Good
	switch {
	case t.Span.Good == 0:
		data.Decision, data.Verify = TrainNamed, ""
		data.Reason = fmt.Sprintf("merged with the run's head alone, phase %s is red", data.Culprit)
	case data.Culprit == "":
		data.Reason = fmt.Sprintf("the tree of all %s is green", text.Number(len(data.Members), "phase"))
	default:
		data.Reason = fmt.Sprintf("the tree up to phase %s is green, and with phase %s it is red", data.Members[len(data.Members)-1], data.Culprit)
		if behind > 1 {
			data.Reason += fmt.Sprintf("; %s behind it wait for the next batch", text.Number(behind-1, "phase"))
		}
	}
	d.run(work.TrainDecided, data)
}

// landBefore records those that landed before the last one, in the same move of the
// branch.
func (d *decision) landBefore(f LandDone) {
	for _, one := range f.Before {
		d.phase(one.Phase, work.PhaseMerged, PhaseMergedData{
			Command: ofMember(f.Command, one.Phase), Commit: one.Commit, Empty: one.Empty, Files: max(d.s.Phases[one.Phase].Files, 0), Train: d.s.Train.Number,
		})
	}
}

// landsAll says that a fact tells of each member that lands before the last one, in
// their order.
func (t *Train) landsAll(before []Landed) bool {
	var told []string
	for _, one := range before {
		told = append(told, one.Phase)
	}
	return strings.Join(told, " ") == strings.Join(t.Members[:len(t.Members)-1], " ")
}
