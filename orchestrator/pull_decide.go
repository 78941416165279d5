package orchestrator

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// The decisions about pull requests, beside those of other gates.
const (
	decideLook = "look"
	decideTake = "take"
	// A proposal that would be empty is landed without one.
	decidePlain = "plain"
)

// byPull is who decides where a rule about pull requests does.
const byPull = "rule:pull"

// pullFirst lets an answer wait until the branch was read.
func (d *decision) pullFirst(cp *work.Checkpoint, a work.Answer) bool {
	p := d.s.Phases[cp.Phase]
	if p == nil || p.Pull == nil || p.AskedAt != StageProven || p.Pull.Number == 0 && p.Pull.Publishing == nil {
		return false
	}
	a.Comment, a.Policy, a.Role = text.ClipJSON(a.Comment, maxWords), nil, text.ClipJSON(a.Role, 40)
	a.Choice, a.Head = text.ClipJSON(a.Choice, 40), text.ClipJSON(a.Head, 100)
	if a.Edited != nil {
		e := *a.Edited
		e.Files = clipList(e.Files, 15, 60)
		a.Edited = &e
	}
	d.phase(p.Number, work.PullDue, PullDueData{
		Checkpoint: work.Checkpoint{ID: cp.ID, Run: cp.Run, Phase: cp.Phase, Kind: cp.Kind, Points: cp.Points, Revision: cp.Revision, Policy: cp.Policy},
		Answer:     a,
	})
	return true
}

func (d *decision) publishDone(f PublishDone) {
	if !d.awaited(f.Command) || d.s.Phases[f.Command.Phase].Pull.Publishing == nil {
		return
	}
	r := f.Result
	r.URL, r.Trouble = text.ClipJSON(r.URL, 500), clipTrouble(r.Trouble)
	if r.Number <= 0 && r.Trouble == nil {
		r.Trouble = &work.PullTrouble{Kind: work.HostRefused, What: "the host does not say which pull request it is"}
	}
	d.emit(work.PublishFinished, f.Command, PublishFinishedData{Command: f.Command.ID, PullPublished: r})
	if r.Trouble != nil && d.s.Phases[f.Command.Phase].Stage == StageLand {
		d.notProposed(f, r.Trouble)
	}
}

func (d *decision) readDone(f ReadDone) {
	if !d.awaited(f.Command) {
		return
	}
	r := f.Reading
	if !NamesConflicts(r.Conflicts) {
		r = PullReading{Trouble: &work.PullTrouble{
			Kind: work.HostConflict, What: fmt.Sprintf("what people pushed conflicts with the agent's work in %d files, more than can be told it, or with names too long", len(r.Conflicts)),
			Fix: "merge the phase's branch into theirs and push that, or take the commits back",
		}}
	}
	r.Trouble, r.Lost, r.MergedBy = clipTrouble(r.Trouble), text.ClipJSON(r.Lost, 300), text.ClipJSON(r.MergedBy, 100)
	r.Todos = d.s.Phases[f.Command.Phase].checked(r.Todos)
	if c := r.Checks; c != nil {
		short := *c
		short.Failed, short.Broken, short.Late = clipList(c.Failed, 20, 80), clipList(c.Broken, 20, 80), clipList(c.Late, 20, 80)
		r.Checks = &short
	}
	r.Files, r.By, r.Said = clipList(r.Files, 20, 80), clipList(r.By, 5, 60), text.ClipJSON(r.Said, maxSaid)
	d.emit(work.PullFinished, f.Command, PullFinishedData{Command: f.Command.ID, PullReading: r})
}

// maxSaid is how much of people's comments one reading carries; what is longer
// is told in the next round.
const maxSaid = 9 << 10

func clipTrouble(t *work.PullTrouble) *work.PullTrouble {
	if t == nil {
		return nil
	}
	out := *t
	out.What, out.Fix = text.ClipJSON(out.What, 500), text.ClipJSON(out.Fix, 300)
	return &out
}

func (d *decision) landRefused(f LandDone) {
	d.emit(work.LandRefused, f.Command, LandRefusedData{Command: f.Command.ID, Trouble: *clipTrouble(f.Refused), Commit: f.Commit, Tree: f.Tree})
}

func (d *decision) pullDecided(p *Phase, data PullDecidedData) {
	data.By, data.Reason = cmp.Or(data.By, byPull), text.ClipJSON(data.Reason, 1000)
	d.phase(p.Number, work.PullDecided, data)
}

// pulled decides what follows from what was read.
func (d *decision) pulled(p *Phase) {
	u := p.Pull
	r, due := u.Read, u.Due
	if u.Publishing != nil || r == nil && u.Number != 0 {
		return
	}
	if due == nil {
		d.looked(p, r)
		return
	}
	a := due.Answer
	if r == nil {
		// Nothing came to be that anybody could have pushed to.
		d.acts(p, nil)
		return
	}
	again := func(why string) {
		d.pullDecided(p, PullDecidedData{Decision: decideAskAgain, Reason: why, Lost: r.Lost})
	}
	switch {
	case a.Checks != "":
		d.mends(p, r, again)
	case a.Status == work.CheckpointRejected:
		d.acts(p, r)
	case r.Trouble != nil:
		again("the answer \"" + strings.ReplaceAll(string(a.Status), "_", " ") + "\" is not acted upon, since the branch could not be read: " + tellTrouble(*r.Trouble))
	case r.Lost != "" && u.Lost == "":
		again(r.Lost + "; answer here again: with the pull request where that was put right there by then, else with what Forge has, without it")
	case r.Lost != "":
		d.acts(p, r)
	case r.Merged != "" && r.Merged == p.Last:
		d.acts(p, r)
	case r.Merged != "" && a.Status == work.CheckpointApproved:
		d.pullDecided(p, PullDecidedData{Decision: decideTake, Reason: "it was merged on the host by " + r.MergedBy, Merged: true, Approved: true})
	case r.Merged != "":
		again("it was merged on the host by " + r.MergedBy + " meanwhile; approve it to go on, and ask for changes of what follows")
	case r.Commit != "" && a.Status == work.CheckpointChangesRequested:
		d.pullDecided(p, PullDecidedData{Decision: decideTake, Reason: tellPushed(r), Rework: true})
		d.acts(p, r)
	case r.Commit != "":
		seen := a.Head != "" && a.Head == r.Head && r.Commit == r.Head && !p.spoiled(r)
		d.pullDecided(p, PullDecidedData{Decision: decideTake, Reason: tellPushed(r), Approved: seen})
	default:
		d.acts(p, r)
	}
}

// spoiled says that people's commits leave the todos of a job so that its phase
// is not at its end.
func (p *Phase) spoiled(r *PullReading) bool {
	if p.Todos == "" {
		return false
	}
	then := *p
	then.Check = r.Todos
	return then.unborne() != ""
}

func tellPushed(r *PullReading) string {
	said := fmt.Sprintf("%s pushed to the branch: %s", orSomebody(r.By), text.Number(len(r.Files), "file"))
	if len(r.Conflicts) > 0 {
		said += "; it conflicts with the agent's work in " + strings.Join(r.Conflicts, ", ")
	}
	return said
}

// looked decides whether what is to be asked about is what the branch will
// hold.
func (d *decision) looked(p *Phase, r *PullReading) {
	switch {
	case r == nil:
		d.pullDecided(p, PullDecidedData{Decision: decideAsk})
	case r.Merged != "":
		d.pullDecided(p, PullDecidedData{Decision: decideAsk, Lost: "pull request was merged on the host by " + r.MergedBy + " meanwhile", Reason: "its last state was merged on the host meanwhile"})
	case r.Commit != "":
		d.pullDecided(p, PullDecidedData{Decision: decideTake, Reason: tellPushed(r)})
	case r.Trouble != nil:
		d.pullDecided(p, PullDecidedData{Decision: decideAsk, Reason: "the branch could not be read: " + tellTrouble(*r.Trouble)})
	default:
		d.pullDecided(p, PullDecidedData{Decision: decideAsk, Lost: r.Lost, Reason: r.Lost})
	}
}

// acts turns the answer that waited into what follows from it, with everything
// that people said on the host.
func (d *decision) acts(p *Phase, r *PullReading) {
	due := *p.Pull.Due
	a := due.Answer
	if d.proveAgain(p, a) {
		return
	}
	if a.Status == work.CheckpointChangesRequested && r != nil && r.Said != "" {
		a.Comment = strings.TrimSpace(text.ClipJSON(a.Comment, maxWords-maxSaid-(1<<9)) + "\n\n" + r.Said)
	}
	d.pullDecided(p, PullDecidedData{Decision: decideGo, By: decides(a), Status: a.Status})
	d.follow(&due.Checkpoint, a)
}

// before decides what has to be known of p's pull request before anybody is
// asked about it.
func (d *decision) beforeAsking(p *Phase) bool {
	u := p.Pull
	switch {
	case u == nil || p.Last == "":
	case u.Approved == p.Last && u.Due != nil:
		d.acts(p, nil)
		return true
	case u.live() && u.Merged == "" && u.Commit != p.Last && u.Looked != p.Last:
		d.pullDecided(p, PullDecidedData{Decision: decideLook, Reason: "the branch is read before it is written"})
		return true
	}
	return false
}

// told is what a person has to know of p's pull request, "" = nothing.
func (p *Phase) told() string {
	said := ""
	if r := p.redPush(); r != nil {
		said = r.tell()
	}
	if p.Pull != nil && p.Pull.Told != "" {
		said += p.Pull.Told + "\n\n"
	}
	return said
}

// landDone takes over what was merged, or why it was not.
func (d *decision) landDone(f LandDone) {
	p := d.s.Phases[f.Command.Phase]
	data := PhaseMergedData{Command: f.Command.ID, Commit: f.Commit, Empty: f.Empty, Files: max(p.Files, 0)}
	if p.Pull.live() {
		if f.Refused == nil && (f.Tree == "" || f.Tree != p.Merge.Tree) {
			f.Refused = &work.PullTrouble{Kind: work.HostRefused, What: "the host merged it to something else than what was proven", Fix: "look at the result as it is now"}
		}
		if f.Refused != nil {
			d.landRefused(f)
			return
		}
		data.Pull = p.Pull.Number
	}
	if t := d.s.Train; t.has(p.Number) {
		if !t.landsAll(f.Before) {
			d.broke(Broke{Command: f.Command, Problem: "the batch landed otherwise than it was asked"})
			return
		}
		d.landBefore(f)
	}
	d.emit(work.PhaseMerged, f.Command, data)
}
