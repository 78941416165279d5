package orchestrator

import (
	"slices"

	"forge/internal/halves"
	"forge/internal/work"
)

func applyTrainStarted(s *State, _ *Phase, _ work.Event, d TrainStartedData) {
	if s.Train != nil || s.Merger != "" {
		return
	}
	t := &Train{Number: s.Trains + 1}
	for _, n := range d.Members {
		if p := s.Phases[n]; p != nil && p.Stage == StageTurn && !t.has(n) {
			t.Members = append(t.Members, n)
			p.Boarded = t.Number
			s.dropTurn(p)
		}
	}
	t.Order = slices.Clone(t.Members)
	s.Train, s.Trains = t, t.Number
}

// boarded folds what became of a member's merge. One that conflicts, or that holds
// content which nobody reviewed, is for itself to settle.
func (s *State) boarded(p *Phase, d MergeFinishedData) {
	switch {
	case !s.Train.has(p.Number) || s.Train.Built || p.Stage != StageTurn:
	case len(d.Conflicts) > 0:
		s.wait(p, "it conflicts with what goes before it")
	case s.reviews(p) && len(d.Differs) > 0:
		s.wait(p, "the merge changed what was reviewed")
	default:
		p.BeforeTrain = &BeforeTrain{Prior: p.Prior, Proof: p.Proof, PriorProof: PriorProof{
			Evidence: p.Evidence, Gone: p.Gone, Finding: p.Review.Evidence, Proving: p.Proving, Record: p.Record,
		}}
		if s.Issue != nil {
			p.BeforeTrain.Allowed = s.Issue.AllowedIn[p.Number]
		}
		p.Merge, p.Files, p.Stage, p.Rode = &d, d.Files, StageTrain, false
	}
}

func applyTrainFinished(s *State, _ *Phase, _ work.Event, d TrainFinishedData) {
	t := s.Train
	if t == nil || t.Built {
		return
	}
	if d.Problem != "" {
		for _, n := range t.Members {
			s.getOff(s.Phases[n], "the batch could not be merged: "+d.Problem)
		}
	}
	if slices.ContainsFunc(t.Members, func(n string) bool { return s.Phases[n].Stage != StageTrain }) {
		t.Broken = "not every member was merged"
	}
	t.Built, t.Span = true, halves.NewSpan(len(t.Members))
	if len(t.Members) == 0 {
		s.dissolve()
		return
	}
	if p := s.Phases[t.Members[0]]; t.Broken == "" && len(t.Members) == 1 && (p.Merge.Tree == p.Tree || !p.Merge.Moved) {
		t.Broken = "its one member goes alone: what it would land is proven"
	}
}

// trainBegan notes what of the train is under way.
func trainBegan(s *State, p *Phase, _ work.Event, _ work.VerifyStartedData) {
	if p != nil && s.Train.has(p.Number) && !slices.Contains(s.Train.Begun, p.Number) {
		s.Train.Begun = append(s.Train.Begun, p.Number)
	}
}

func (t *Train) ended(number string) {
	if t.Begun = slices.DeleteFunc(t.Begun, func(n string) bool { return n == number }); len(t.Begun) == 0 {
		t.Begun = nil
	}
}

// applyTrainProof folds the verify of a member's merged tree: of the one that is
// probed, or, where another stands for it, what its own change does to evidence.
func (s *State) applyTrainProof(p *Phase, d work.VerifyFinishedData) {
	t := s.Train
	at := t.place(p.Number)
	t.ended(p.Number)
	probed := t.Stands == ""
	if probed {
		t.Verifies++
	}
	if d.Rides == "" && d.Disturbed == "" {
		defer s.judged(p, p.judgedTree(), d.HiddenSum, d.OK)
	}
	switch {
	case d.Disturbed != "":
		// Nobody knows what the commands would have said.
		s.leaveTrain(p, "its proof was disturbed: "+d.Disturbed)
		return
	case !d.OK && probed:
		t.Span = t.Span.Saw(at, false)
		p.Red = &RedMerge{Tree: p.Merge.Tree, Problem: d.Problem, Output: d.Output, Missing: d.Missing}
		return
	case !d.OK:
		s.leaveTrain(p, d.Problem)
		return
	}
	s.keepProof(p)
	p.Evidence, p.Gone, p.Review.Evidence = d.Touched, d.Gone, ""
	p.Proving.take(d)
	if d.Rides != "" {
		p.Proving.Millis, p.Proving.Key = t.Green.Millis, t.Green.Key
	}
	s.Issue.verified(p, d)
	p.Record = d.Of(s.proofCommands(p.Number))
	p.recordDoubts()
	p.Proof, p.Rode = work.ProofVerified, true
	p.Proving.Ask = d.Held && s.controlled(p.Plan.Repository)
	if probed {
		t.Span = t.Span.Saw(at, true)
		t.Green = GreenTree{ID: d.ID, Key: d.Key, Millis: p.Proving.Millis}
		return
	}
	s.ride(p)
}

// ride lets a member go on that was asked about its own change. What nobody reviewed
// is not for the train to wait for.
func (s *State) ride(p *Phase) {
	switch to := s.nextProof(p); {
	case len(p.Gone) > 0:
		s.leaveTrain(p, "test files of the base are gone")
	case to == StageEvidence, to == StageControl, to == StageLand:
		s.move(p, to)
	default:
		s.leaveTrain(p, "more is to be asked about it")
	}
}

// applyTrainFloor folds a proof of a member's tree with the evidence of a floor.
func (s *State) applyTrainFloor(p *Phase, d work.VerifyFinishedData) {
	s.Train.ended(p.Number)
	if d.Disturbed != "" || !d.OK {
		s.leaveTrain(p, tellFloor(d.On)+": "+d.Problem)
		return
	}
	p.Record = p.Record.With(d)
	p.recordDoubts()
	if len(p.Proving.Floors) > 1 {
		p.Proving.Floors = p.Proving.Floors[1:]
	} else {
		p.Proving.Floors, p.Evidence = nil, nil
	}
	s.ride(p)
}

func applyTrainDecided(s *State, _ *Phase, _ work.Event, d TrainDecidedData) {
	t := s.Train
	if t == nil || !t.Built {
		return
	}
	if p := s.Phases[d.Culprit]; p != nil && t.has(p.Number) {
		red := p.Red
		s.getOff(p, "its tree is the first that is red")
		p.Red = red
	}
	if d.Decision != TrainStands {
		s.dissolve()
		return
	}
	s.back(func(n string) bool { return !slices.Contains(d.Members, n) })
	t.Stands, t.Span = d.Verify, halves.NewSpan(len(t.Members))
	for _, n := range t.Members {
		if p := s.Phases[n]; p.Rode {
			s.ride(p)
		}
	}
}

// wait lets a member leave a train that is not built yet: it is in no tree of it.
func (s *State) wait(p *Phase, why string) {
	t := s.Train
	t.Members = slices.DeleteFunc(slices.Clone(t.Members), func(n string) bool { return n == p.Number })
	p.Alone = why
	s.lineUpAgain(p)
}

// leaveTrain lets a member go alone. Those behind it hold its change, so that the
// train comes apart.
func (s *State) leaveTrain(p *Phase, why string) {
	s.getOff(p, why)
	s.Train.Broken = "phase " + p.Number + " goes alone"
}

// getOff lets a member wait again; why says that it goes alone then.
func (s *State) getOff(p *Phase, why string) {
	s.wait(p, why)
	s.Train.ended(p.Number)
	s.asBeforeTrain(p)
}

// asBeforeTrain takes a member's proof back to what it was before it boarded.
func (s *State) asBeforeTrain(p *Phase) {
	p.Merge, p.Red, p.Rode = nil, nil, false
	was := p.BeforeTrain
	if was == nil {
		return
	}
	p.BeforeTrain = nil
	p.Evidence, p.Gone, p.Review.Evidence, p.Proving, p.Record = was.Evidence, was.Gone, was.Finding, was.Proving, was.Record
	p.Prior, p.Proof = was.Prior, was.Proof
	if s.Issue != nil {
		s.Issue.AllowedIn[p.Number] = was.Allowed
	}
}

// back lets those members wait for the next train.
func (s *State) back(leaves func(number string) bool) {
	for _, n := range slices.Clone(s.Train.Members) {
		if leaves(n) {
			s.getOff(s.Phases[n], "")
		}
	}
}

// dissolve ends the train: whoever is in it waits again.
func (s *State) dissolve() {
	s.back(func(string) bool { return true })
	s.Train = nil
}

// lineUpAgain puts a member back into the turn, before those that did not board, in
// the order in which they boarded.
func (s *State) lineUpAgain(p *Phase) {
	p.Stage = StageTurn
	var first []string
	for _, n := range s.Train.Order {
		if n == p.Number || slices.Contains(s.Turns, n) {
			first = append(first, n)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(s.Turns), func(n string) bool { return slices.Contains(first, n) })
	s.Turns = append(first, rest...)
}

// alights takes a phase out of the train that ends, is set back, or otherwise goes
// its own way.
func (s *State) alights(p *Phase) {
	t := s.Train
	if !t.has(p.Number) {
		return
	}
	t.Members = slices.DeleteFunc(slices.Clone(t.Members), func(n string) bool { return n == p.Number })
	t.ended(p.Number)
	t.Broken = "phase " + p.Number + " left"
	p.BeforeTrain, p.Red, p.Rode = nil, nil, false
}

// arrives takes a member out of the train that has landed; the last one ends it.
func (s *State) arrives(p *Phase) {
	t := s.Train
	if !t.has(p.Number) {
		return
	}
	t.Members = slices.DeleteFunc(slices.Clone(t.Members), func(n string) bool { return n == p.Number })
	p.BeforeTrain, p.Red, p.Rode = nil, nil, false
	if len(t.Members) == 0 {
		s.Train = nil
	}
}

// goneAlone forgets why a phase was not to be merged with others: it is another
// work now.
func (p *Phase) goneAlone() { p.Alone, p.Red, p.BeforeTrain, p.Rode = "", nil, nil, false }

// rideOn keeps a member that the test runners were asked about on its way: nothing
// but landing follows in a train.
func (s *State) rideOn(p *Phase) {
	if p.Stage != StageLand && s.Train.has(p.Number) {
		s.leaveTrain(p, "more is to be asked about it")
	}
}
