package orchestrator

import (
	"slices"

	"forge/internal/halves"
	"forge/internal/work"
)

// A Train is a batch of phases that wait for their turn to merge while it is
// taken, and are merged together once it is free:
//
//  1. One effect merges each member onto the one before it, the first onto the
//     run's head, beside the branch. A member that conflicts, or whose reviewed
//     content the merge changed, leaves and goes alone, as without a train.
//  2. The tree of the last member is verified. When it is red, the first red one
//     is sought by halves: its member is named and goes alone, those behind it
//     wait for the next train.
//  3. The members up to the tree that is green stay. Each is asked what is asked of
//     a single one, about its own change: what it does to evidence, the proofs that
//     follow from that, the test runners. Only the commands do not run again: the
//     verify of the tree that the branch will hold stands for them. Whoever comes to
//     anything but a plain yes goes alone, and the others go together anew.
//  4. All of them land in one move of the branch. It never holds a tree in between.
//
// A train of earlier releases is none: without the setting nothing of it happens.
type Train struct {
	Number  int      // of the run's trains, for ids
	Order   []string // all who boarded, in the order in which they were proven
	Members []string // those that did not leave, in that order
	Built   bool     `json:",omitempty"` // their merged trees are known
	Span    halves.Span
	// Stands is the verify of the last member's tree, which all members land with,
	// once they are found; Green is the last one that was green.
	Stands work.CommandID `json:",omitempty"`
	Green  GreenTree      `json:",omitzero"`
	// Broken is why it comes apart: as soon as nothing of it is under way.
	Broken string   `json:",omitempty"`
	Begun  []string `json:",omitempty"` // members of which something is
	// Verifies is how many trees were verified to find who lands.
	Verifies int `json:",omitempty"`
}

// GreenTree is a verify that was green.
type GreenTree struct {
	ID     work.CommandID
	Key    string
	Millis int64
}

// TrainStartedData is the payload of train.started.
type TrainStartedData struct {
	Command work.CommandID `json:"command"`
	Members []string       `json:"members"`
}

// TrainFinishedData is the payload of train.finished: what became of each member
// is in the merge.finished events before it.
type TrainFinishedData struct {
	Command work.CommandID `json:"command"`
	Members []string       `json:"members,omitempty"` // that stay, in their order
	// Problem says that they could not be merged: each goes alone.
	Problem string `json:"problem,omitempty"`
}

// TrainDecidedData is the payload of train.decided.
type TrainDecidedData struct {
	Decision string         `json:"decision"`          // stands, named, apart
	Members  []string       `json:"members,omitempty"` // that land together
	Culprit  string         `json:"culprit,omitempty"` // whose tree is the first that is red
	Verify   work.CommandID `json:"verify,omitempty"`  // that stands for all members
	Verifies int            `json:"verifies,omitempty"`
	Reason   string         `json:"reason,omitempty"`
}

// What is decided of a train.
const (
	TrainStands = "stands" // its members are asked for themselves, and land
	TrainNamed  = "named"  // its very first member is red with the run's head
	TrainApart  = "apart"  // somebody left, so that the trees are not those that would land
)

// TrainEffect merges phases onto each other, beside the run's branch. Its fact is
// TrainDone.
type TrainEffect struct {
	Command Command
	Head    string // of the run
	Members []MergeEffect
	Keep    string // reference that keeps what the members are merged onto
}

// TrainDone is the end of a train command: what came of each member, in order. What
// conflicts is not in those behind it.
type TrainDone struct {
	Command Command
	Links   []TrainLink
}

// TrainLink is a member merged onto those before it.
type TrainLink struct {
	Phase  string
	Result MergeFinishedData
}

func (e TrainEffect) Of() Command { return e.Command }
func (TrainEffect) effect()       {}
func (TrainDone) fact()           {}
func (f TrainDone) of() Command   { return f.Command }

// LandFirst is a member of a train that lands before the one that a land command
// names, in the same move of the branch.
type LandFirst struct {
	Phase, Tree, Message string
}

// Landed is what came of it.
type Landed struct {
	Phase, Commit string
	Empty         bool
}

// BeforeTrain is what is known of a member's proof before it boards: it stands again when
// the member leaves.
type BeforeTrain struct {
	PriorProof
	Prior *PriorProof `json:",omitempty"`
	Proof work.Proof
}

// RedMerge is what verify said of a merged tree, of the member whose tree is the
// first of its train that is red.
type RedMerge struct {
	Tree, Problem, Output string
	Missing               bool `json:",omitempty"`
}

// has says that a phase is in t.
func (t *Train) has(number string) bool { return t != nil && slices.Contains(t.Members, number) }

// place is where a member stands in t, from 1; 0 = it is none.
func (t *Train) place(number string) int {
	if t == nil {
		return 0
	}
	return slices.Index(t.Members, number) + 1
}

// merging says that a phase is being merged, alone or with others.
func (s *State) merging(number string) bool { return s.Merger == number || s.Train.has(number) }

// boards says that p may be merged with others. What a batch could not be asked
// about as a single one can, goes alone.
func (s *State) boards(p *Phase) bool {
	switch {
	case p.Stage != StageTurn, p.Parent != "", p.Alone != "", p.Rewind != nil, p.unread():
		return false
	case s.Job != nil, s.Spec.Pulls != nil, p.Reworking:
		return false
	case len(s.Spec.Repositories) > 0:
		return false // a batch is of one repository
	case len(p.Set.Verify) == 0:
		return false // no tree is verified: there is nothing to save
	case len(s.Spec.Settings.Proof.Hidden) > 0:
		return false // the owner's checks may be about this phase alone, and are asked of the tree that it lands with
	case len(s.Spec.Settings.Proof.Pages) > 0:
		return false // what they show is the phase's own change
	case len(p.Set.MayChange) > 0, len(p.Review.LetFiles) > 0:
		return false // what it brings is what those behind it would be held against
	}
	for _, at := range []work.HookEvent{work.HookBeforeVerify, work.HookAfterVerify, work.HookBeforeMerge} {
		if len(s.hooksAt(p, at)) > 0 {
			return false // they judge the very tree that lands
		}
	}
	return true
}

// nextTrain are the phases that are merged together now, in their order: those at
// the front of the turn. nil = the first goes alone, or nobody does.
func (s *State) nextTrain() []string {
	most := s.Spec.Settings.MergeBatch
	if most < 2 || s.Merger != "" || s.Train != nil || len(s.Turns) < 2 {
		return nil
	}
	granted := s.granted()
	var out []string
	for _, n := range s.Turns {
		if !granted[n] {
			continue
		}
		p := s.Phases[n]
		if !s.boards(p) || len(out) > 0 && !s.alike(s.Phases[out[0]], p) || len(out) == most {
			break // nobody overtakes it
		}
		out = append(out, n)
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// alike says that one verify can stand for two phases: it would be the same.
func (s *State) alike(p, q *Phase) bool {
	a, b := s.Spec.Settings.Agents[p.Set.Agent].Env, s.Spec.Settings.Agents[q.Set.Agent].Env
	return slices.Equal(p.Set.Verify, q.Set.Verify) && slices.Equal(a, b)
}

// pendingTrain is the command that merges the next train.
func (s *State) pendingTrain() (Command, bool) {
	c := Command{Step: StepTrain, Attempt: s.Trains + 1, Commit: s.Head}
	switch {
	case s.Train != nil && s.Train.Built:
		return Command{}, false
	case s.Train != nil:
		c.Attempt = s.Train.Number
	case len(s.nextTrain()) == 0:
		return Command{}, false
	}
	c.ID = s.id("", c.Attempt, 0, string(StepTrain))
	return c, true
}

// aboard says that p is to have something carried out for the train now.
func (s *State) aboard(p *Phase) bool {
	t := s.Train
	switch {
	case !t.has(p.Number) || !t.Built:
		return false
	case t.Broken != "":
		return slices.Contains(t.Begun, p.Number)
	case p.Stage == StageTrain && t.Stands == "":
		return t.place(p.Number) == t.Span.Probe()
	case p.Stage == StageLand:
		// The last one lands them all.
		return t.place(p.Number) == len(t.Members) && !slices.ContainsFunc(t.Members, func(n string) bool { return s.Phases[n].Stage != StageLand })
	}
	return true
}

// rides is the verify that stands for running the commands on p's merged tree; "" =
// they run.
func (s *State) rides(p *Phase) work.CommandID {
	if p == nil || p.Stage != StageTrain || !s.Train.has(p.Number) {
		return ""
	}
	return s.Train.Stands
}

func (s *State) trainEffect(c Command) TrainEffect {
	members := s.nextTrain()
	if s.Train != nil {
		members = s.Train.Members
	}
	e := TrainEffect{Command: c, Head: s.Head, Keep: Ref(s.Run, "train")}
	for _, n := range members {
		p := s.Phases[n]
		one := s.mergeEffect(Command{ID: ofMember(c, n), Phase: n, Iteration: p.Iteration, Step: StepMerge, Commit: p.Last}, p)
		one.Head = ""
		e.Members = append(e.Members, one)
	}
	return e
}

// landFirst are the members that land before the last one.
func (s *State) landFirst(p *Phase, head Head) []LandFirst {
	if !s.Train.has(p.Number) {
		return nil
	}
	var out []LandFirst
	for _, n := range s.Train.Members[:len(s.Train.Members)-1] {
		q := s.Phases[n]
		out = append(out, LandFirst{Phase: n, Tree: q.Merge.Tree, Message: s.landMessage(q, head)})
	}
	return out
}
