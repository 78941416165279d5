package orchestrator

import (
	"cmp"
	"fmt"
	"slices"

	"forge/internal/work"
)

// Where a target went on since the run began, the result is merged with what it holds by
// now, and proven as that, before it is looked once more whether all can be moved. So it
// is with each target that went on, and again where one did meanwhile. One that was set
// back is left alone: somebody took out of it what the result rests on.

// mostUpdates is how often that is done in a row. Whoever resumes the run counts anew.
const mostUpdates = 20

// TogetherUpdate is what proves a result merged with its target.
type TogetherUpdate struct {
	Onto    string // the target's commit
	Proof   Proof  // of what comes of it, whose commit is not known yet
	Message string // of the merge
	Ref     string // that keeps it
	// Approved says that a person approved the result: what it does to evidence is
	// accepted by that.
	Approved bool
}

// behind says that all that is in the way of one is that its target went on.
func (o *TogetherOne) behind(d TogetherFinishedData) {
	if !d.OK && d.Onto != "" && d.Onto != o.From && o.State == TogetherKept {
		o.State, o.Onto = TogetherBehind, d.Onto
	}
}

// updated notes what came of merging one with its target. On a code host the branch stays
// at what people look at, and the host makes the merge; here the merge is what the target
// is moved to.
func (o *TogetherOne) updated(d TogetherFinishedData, host bool) {
	if !d.OK || d.Made == "" || d.Tree == "" {
		o.State, o.Why = TogetherKept, cmp.Or(d.Why, "nobody knows what came of merging it with its target")
		return
	}
	o.From, o.Onto, o.State, o.Why = o.Onto, "", TogetherDue, ""
	if o.Tree = ""; host {
		o.Tree = d.Tree
	} else {
		o.To = d.Made
	}
}

// update decides what follows where nothing is in the way but that targets went on; false
// = none did.
func (d *decision) update(over TogetherStage) bool {
	t := d.s.Together
	if t.count(TogetherBehind) == 0 {
		return false
	}
	if t.Updates >= mostUpdates {
		d.togetherDecided(over, fmt.Sprintf("a target went on in each of %d tries; %s", mostUpdates, t.tell()))
		return true
	}
	d.togetherDecided(TogetherUpdating, "")
	return true
}

// provenOnTargets decides what follows once each result was merged with its target.
func (d *decision) provenOnTargets(why string) {
	t := d.s.Together
	opened := slices.ContainsFunc(t.Of, func(o TogetherOne) bool { return o.Number != 0 })
	switch {
	case t.count(TogetherKept) > 0 && opened:
		d.togetherDecided(TogetherHeld, t.tell())
	case t.count(TogetherKept) > 0:
		d.togetherDecided(TogetherOver, why)
	case opened:
		d.togetherDecided(TogetherLook, "")
	default:
		d.togetherDecided(TogetherPrepare, "")
	}
}

// updateOf is how one is merged with its target: what proved its phases proves it, and
// what one of them may change of the evidence it may.
func (s *State) updateOf(c Command, o TogetherOne) *TogetherUpdate {
	u := &TogetherUpdate{
		Onto: o.Onto, Approved: s.Final.Approved != "", Proof: s.proof(Command{Repository: c.Repository, Commit: o.To}, nil),
		Ref:     Ref(s.Run, fmt.Sprintf("result/%s-%d", Called(c.Repository), s.Together.Tries+1)),
		Message: fmt.Sprintf("merge of the result of run %s\n\nForge-Run: %s\n", s.Run, s.Run),
	}
	set := s.settingsOf(c.Repository)
	commands := slices.Clone(set.Verify.Commands)
	var may []string
	for _, n := range s.topo {
		if p := s.Phases[n]; p.Plan.Repository == c.Repository && p.Landed {
			commands, may = append(commands, p.Set.Verify...), append(may, p.Set.MayChange...)
		}
	}
	commands = each(append(commands, set.Proof.Also...))
	of := &u.Proof
	of.Log = fmt.Sprintf("together-%s-verify", Called(c.Repository))
	of.Verify.Phase, of.Verify.Commands, of.Verify.Commit, of.Verify.Base = work.LandingPhase, commands, "", s.BaseOf(c.Repository).Commit
	of.Evidence.Base, of.Evidence.Commit, of.Evidence.MayChange = o.Onto, "", each(may)
	of.Evidence.Commands = slices.Concat(commands, set.Worktree.Setup)
	return u
}

// each is what list holds, once.
func each(list []string) []string {
	var out []string
	for _, one := range list {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}
