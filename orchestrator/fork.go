package orchestrator

import (
	"cmp"
	"fmt"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

// Fork is where a run began as a fork of another one: with the plan, settings and
// policy of that one, one phase at what an iteration had left, and what was on the
// run branch when that phase began. Nothing else is taken over but what speaks
// against that: every proof and answer of what follows is its own.
type Fork struct {
	Run       string `json:"run"`
	Phase     string `json:"phase"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt,omitempty"`
	By        string `json:"by,omitempty"`
	Text      string `json:"text,omitempty"` // for the agent of the phase
	Head      string `json:"head"`           // of the run branch then
	Commit    string `json:"commit"`         // that the phase goes on from
	Tree      string `json:"tree,omitempty"`
	// Done are the phases whose work is in Head.
	Done []ForkDone `json:"done,omitempty"`
	// Doubts, Assumed and Rests are what the other run still had to answer for.
	Doubts  []work.Doubt `json:"doubts,omitempty"`
	Assumed []Assumption `json:"assumed,omitempty"`
	Rests   []Rest       `json:"rests,omitempty"`
}

// ForkDone is a phase that was done before the fork.
type ForkDone struct {
	Number string     `json:"number"`
	Proof  work.Proof `json:"proof,omitempty"`
	Files  int        `json:"files"`
}

// HeadAt is a commit of the run branch, and the phase that landed with it.
type HeadAt struct{ Phase, Commit string }

// CannotFork says why no run can begin at what an iteration of a phase left; "" =
// one can.
func (s *State) CannotFork(number string, iteration, attempt int) string {
	_, err := s.SnapOf(number, iteration, attempt)
	switch {
	case err != nil:
		return err.Error()
	case s.Job != nil:
		return "the phases of a job follow from each other; forge job start begins another job"
	case s.Issue != nil:
		return fmt.Sprintf("it is the run of issue #%d, whose runs the board begins", s.Spec.Issue.ID)
	case s.Phases[number].Parent != "":
		return fmt.Sprintf("%s is a sub-phase; fork phase %s", number, s.Phases[number].Parent)
	}
	return ""
}

// ForkOf is what a run is opened with that goes on from what an iteration of a phase
// left. CannotFork is asked first.
func (s *State) ForkOf(r work.Rewind, by string) (Spec, error) {
	if why := s.CannotFork(r.Phase, r.Iteration, r.Attempt); why != "" {
		return Spec{}, fmt.Errorf("fork run %s: %s", s.Run, why)
	}
	at, err := s.SnapOf(r.Phase, r.Iteration, r.Attempt)
	if err != nil {
		return Spec{}, err
	}
	spec := s.Spec
	spec.AnswerYes, spec.Fresh = false, false // they were said of that run
	f := &Fork{
		Run: s.Run, Phase: r.Phase, Iteration: at.Iteration, Attempt: at.Attempt, By: text.ClipJSON(by, 200), Text: text.ClipJSON(r.Text, work.MaxMessage),
		Head: at.Base, Commit: at.Commit, Tree: at.Tree, Doubts: slices.Clone(s.Doubts), Assumed: slices.Clone(s.Assumed),
	}
	for _, n := range s.landedAt(at.Base) {
		p := s.Phases[n]
		f.Done = append(f.Done, ForkDone{Number: n, Proof: cmp.Or(p.Proof, work.ProofClaim), Files: p.Files})
	}
	for _, rest := range s.Rests {
		if slices.ContainsFunc(f.Done, func(d ForkDone) bool { return d.Number == rest.Phase }) {
			f.Rests = append(f.Rests, rest)
		}
	}
	spec.Fork = f
	return spec, nil
}

// landedAt are the phases whose work is in a commit of the run branch, each once, in
// the graph's order.
func (s *State) landedAt(head string) []string {
	in := map[string]bool{}
	if f := s.Spec.Fork; f != nil {
		for _, d := range f.Done {
			in[d.Number] = true
		}
	}
	last := -1
	for i, h := range s.Heads {
		if h.Commit == head {
			last = i
		}
	}
	for _, h := range s.Heads[:last+1] {
		in[h.Phase] = true
	}
	var out []string
	for _, n := range s.topo {
		if in[n] {
			out = append(out, n)
		}
	}
	return out
}

// fork makes s begin where its spec says.
func (s *State) fork(f *Fork) error {
	p := s.Phases[f.Phase]
	if p == nil || p.Stage == StageFinished {
		return fmt.Errorf("open run %s: it is a fork at phase %s, which it does not have", s.Run, text.Label(f.Phase))
	}
	s.Head, s.Doubts, s.Assumed, s.Rests = f.Head, f.Doubts, f.Assumed, f.Rests
	for _, d := range f.Done {
		q := s.Phases[d.Number]
		if q == nil || d.Number == f.Phase {
			return fmt.Errorf("open run %s: phase %s cannot be done before the fork", s.Run, text.Label(d.Number))
		}
		if q.Stage == StageFinished {
			continue
		}
		if err := s.frontier.LeaveOut(d.Number); err != nil {
			return fmt.Errorf("leave out phase %s: %w", d.Number, err)
		}
		q.Stage, q.Outcome, q.Reason, q.Proof, q.Files = StageFinished, work.PhaseDone, work.ReasonUser, d.Proof, d.Files
		s.Unproven = s.Unproven || d.Proof == work.ProofClaim
	}
	p.Base, p.Last, p.Tree = f.Head, f.Commit, f.Tree
	p.happened("it began with what %s of run %s", leftBy(f.Iteration), f.Run)
	p.note("Your folder holds what %s in an earlier try at this. Go on from there.", leftBy(f.Iteration))
	if f.Text != "" {
		p.Messages = []Message{{ID: "fork", By: f.By, Text: f.Text}}
	}
	return nil
}
