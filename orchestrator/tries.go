package orchestrator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// A phase may be tried several times side by side: each try is a phase of its own
// below it, with the same words, the same base, a folder and an agent of its own,
// and goes through every gate up to its proof. Among those that are proven one is
// chosen, by rules or by a person, and the phase goes on from its work: it is
// proven once more as the phase's own, and reviewed, asked about and merged as any
// other. What nobody knows the end of never wins. All tries draw on the money of
// the phase.

// Contest is how the tries of a phase stand.
type Contest struct {
	Tries  []string   // by number, in their order
	Facts  []TryFacts `json:",omitempty"` // of those that are over, as they are judged
	Chosen string     `json:",omitempty"` // the try that the phase goes on from
	Due    bool       `json:",omitempty"` // what was chosen is to be proven as the phase's own
	// Council is how they are judged by each other's workers; nil = they are not yet.
	Council *Council `json:",omitempty"`
}

// TriesBeganData is the payload of tries.began; the event's phase is the one
// that is tried.
type TriesBeganData struct {
	Until string       `json:"until"`
	Tries []TryStarted `json:"tries"`
}

// TryStarted is one try.
type TryStarted struct {
	Number string `json:"number"`
	Agent  string `json:"agent"`
	Model  string `json:"model,omitempty"`
}

// TryStoppedData is the payload of try.stopped: a try that cannot win any more is
// ended; the event's phase is the try.
type TryStoppedData struct {
	Why string `json:"why"`
	// Closed are its checkpoints; they take no answer now.
	Closed []string `json:"closed,omitempty"`
}

// TryChosenData is the payload of try.chosen; the event's phase is the one that
// goes on from the work of the try.
type TryChosenData struct {
	Number string     `json:"number"`
	Commit string     `json:"commit"`
	By     string     `json:"by"`
	Why    string     `json:"why"`
	Rework bool       `json:"rework,omitempty"` // a person wants changes of it first
	Tries  []TryFacts `json:"tries"`
}

// contests says that p begins with tries: it is new work, and nobody else's.
func (s *State) contests(p *Phase) bool {
	return p.Set.Tries > 1 && p.Parent == "" && s.Job == nil && p.Contest == nil && !p.Reworking &&
		p.Iteration == 0 && p.Last == p.Base && p.Conflict == nil && s.pushed(p) == nil && s.conflicting(p) == nil
}

// place is the phase whose place of max_parallel p works in: a try has its own, a
// sub-phase has that of its parent.
func (s *State) place(p *Phase) *Phase {
	if p.Try > 0 {
		return p
	}
	return s.top(p)
}

// reserve and settle keep the books of the run, of the phase, and of a try.
func (s *State) reserve(p *Phase, id work.CommandID, usd *float64) {
	for _, l := range s.ledgers(p) {
		l.reserve(id, usd)
	}
}

func (s *State) settle(p *Phase, id work.CommandID, u work.Usage) {
	for _, l := range s.ledgers(p) {
		l.settle(id, u)
	}
}

func (s *State) ledgers(p *Phase) []*Ledger {
	all := []*Ledger{&s.Ledger, &s.top(p).Usage}
	if p.Try > 0 {
		all = append(all, &p.Usage)
	}
	return all
}

func applyTriesBegan(s *State, p *Phase, _ work.Event, d TriesBeganData) {
	if p.Contest != nil || p.Stage != StageTries {
		return
	}
	c := &Contest{}
	for i, t := range d.Tries {
		if s.Phases[t.Number] != nil {
			continue
		}
		s.beginTry(p, t, i+1, p.Budget)
		c.Tries = append(c.Tries, t.Number)
	}
	p.Contest = c
}

// beginTry adds the nth try of p, from 1.
func (s *State) beginTry(p *Phase, t TryStarted, nth, budget int) {
	set := p.Set
	set.Tries, set.TryAgents, set.TriesUntil, set.Council = 0, nil, "", nil
	if t.Agent != set.Agent || t.Model != set.Model {
		set.Agent, set.Model, set.Agents = t.Agent, t.Model, nil
	}
	set.Budget = budget
	ph := p.Plan
	ph.Number, ph.DependsOn = t.Number, nil

	try := s.newPhase(ph, set, p.Number)
	try.Base, try.Last, try.Tree, try.Try = p.Base, p.Last, p.Tree, nth
	try.Stage = StageReady
	s.Phases[t.Number] = try
	s.Order = append(s.Order, t.Number)
	s.enter(try)
}

func applyTryStopped(s *State, p *Phase, _ work.Event, d TryStoppedData) {
	if p.Try == 0 || p.Stage == StageFinished {
		return
	}
	p.Stopped = cmp.Or(d.Why, "it cannot win any more")
	p.Rewind = nil
	for _, id := range d.Closed {
		delete(s.Open, id)
	}
}

// applyTryChosen lets p go on from the work of a try, with what its agent is to
// know of it and what its reviewers said. Everything else is still to come: its
// proof is made anew, as that of the phase.
func applyTryChosen(s *State, p *Phase, _ work.Event, d TryChosenData) {
	w, c := s.Phases[d.Number], p.Contest
	if c == nil || c.Chosen != "" || w == nil || w.Parent != p.Number || w.Last != d.Commit || !w.won() {
		return
	}
	c.Chosen, c.Facts, c.Due = d.Number, d.Tries, !d.Rework
	p.Last, p.Tree, p.Reset = w.Last, w.Tree, true
	p.Budget, p.Spent = max(p.Budget, w.Spent), w.Spent
	p.Set.Agent, p.Set.Model, p.Set.Agents = w.Set.Agent, w.Set.Model, w.Set.Agents
	p.Said, p.History, p.Past = w.Said, slices.Clone(w.History), w.Past
	p.Past.Anew, p.Past.Nearly = false, false
	p.Stops = append(slices.Clip(p.Stops), w.Stops...)
	for _, m := range w.Messages {
		if m.Read {
			p.Messages = append(slices.Clip(p.Messages), m)
		}
	}
	p.Asking.Said = append(slices.Clip(p.Asking.Said), w.Asking.again().Said...)
	p.Review = w.Review.copied()
	p.happened("Try %s was chosen among %d: %s", d.Number, len(c.Tries), text.FirstLine(text.Plain(d.Why), 200))
	p.note("Your folder holds the work of an earlier try at this phase, which was chosen among several.")
	if p.Kind = IterationWork; d.Rework {
		p.Kind = IterationRework
		p.Stops = nil
	}
	s.lineUp(p)
	p.Stage = StageFolder
}

// copied is what reviewers said, by the side of r.
func (r Review) copied() Review {
	r.Of = maps.Clone(r.Of)
	for name, o := range r.Of {
		one := *o
		r.Of[name] = &one
	}
	return r
}

// won says that p is a try that may be chosen: it is over, and proven.
func (p *Phase) won() bool {
	return p.Try > 0 && p.Stage == StageFinished && p.Outcome == work.PhaseDone && p.Proof == work.ProofVerified && p.Review.Evidence == ""
}

// proveChosen begins to prove what was chosen as p's own work, once its folder is
// there.
func (s *State) proveChosen(p *Phase) {
	if c := p.Contest; c != nil && c.Due {
		c.Due = false
		p.Judged, p.Proof = Judged{Claim: ClaimNone}, s.byWord(p)
		s.move(p, s.toProve(p))
	}
}

// tryFacts is what is known of a try.
func (s *State) tryFacts(p *Phase) TryFacts {
	t := TryFacts{
		Number: p.Number, Agent: text.ClipJSON(p.Set.Agent, 40), Model: text.ClipJSON(p.Model(), 60), Outcome: p.Outcome, Proven: p.won(), Commit: p.Last,
		USD: p.Usage.Cost(),
	}
	if p.Size != nil && p.Size.Of == p.Last {
		size := p.Size.ChangeSize
		t.Size = &size
	}
	if !t.Proven {
		t.Why = text.ClipJSON(cmp.Or(p.WhyNot(), "it did not end"), 200)
	}
	for _, sp := range p.Set.Reviewers {
		o := p.Review.Of[sp.Name]
		if o == nil {
			continue
		}
		for _, f := range o.Findings {
			switch f.Severity {
			case work.SeverityMajor:
				t.Major++
			case work.SeverityMinor:
				t.Minor++
			default: // also one that nobody knows
				t.Critical++
			}
		}
	}
	for _, one := range p.Proving.Doubts {
		if one.Kind == work.DoubtWeakened {
			t.Weakened++
		} else {
			t.Doubts++
		}
	}
	return t
}

// tryNumbers are the numbers of p's next tries.
func (s *State) tryNumbers(p *Phase) []string {
	return s.freeNumbers(p, min(p.Set.Tries, work.MaxTries))
}

// freeNumbers are the next n numbers below p that nobody has.
func (s *State) freeNumbers(p *Phase, n int) []string {
	var out []string
	for i := 1; len(out) < n; i++ {
		if n := fmt.Sprintf("%s.%d", p.Number, i); s.Phases[n] == nil {
			out = append(out, n)
		}
	}
	return out
}

// TryAgent is who makes the nth try of a phase, from 0.
func TryAgent(set work.PhaseSettings, n int) (agent, model string) {
	if len(set.TryAgents) == 0 {
		return set.Agent, set.Model
	}
	t := set.TryAgents[n%len(set.TryAgents)]
	switch {
	case t.Agent == "" || t.Agent == set.Agent:
		return set.Agent, cmp.Or(t.Model, set.Model)
	}
	return t.Agent, t.Model
}

// tellTries are the tries of a phase for a person who chooses: what is known of
// each, and where its change is.
func (s *State) tellTries(all []TryFacts, best int) string {
	var b strings.Builder
	for i, t := range all {
		b.WriteString(t.String())
		if i == best {
			b.WriteString(" (proposed)")
		} else if t.Proven {
			b.WriteString("; " + t.Why)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "The change of each: forge diff --run %s NUMBER\n", s.Run)
	return b.String()
}

// choicesOfTries are the ways to choose.
func choicesOfTries(all []TryFacts) []work.Choice {
	var out []work.Choice
	for _, t := range all {
		if t.Proven {
			out = append(out, work.Choice{Name: "try-" + t.Number, Answer: work.CheckpointApproved, Label: "take try " + strings.Join(nonEmpty(t.Number, byWhom(t.Agent)), " ")})
		}
	}
	return out
}

// asksWhichTry says that a checkpoint of a kind asks which try to take.
func asksWhichTry(kind string) bool { return kind == string(gates.PointTries) }

// TrySize is how much a try changes at one of its snapshots.
type TrySize struct {
	work.ChangeSize
	Of string // commit
}

// measured keeps how much the work of a try changes now.
func (p *Phase) measured(d work.IterationFinishedData) {
	switch {
	case p.Try == 0 || d.Snapshot == "":
	case d.Size == nil:
		p.Size = nil
	default:
		p.Size = &TrySize{ChangeSize: *d.Size, Of: d.Snapshot}
	}
}

func byWhom(agent string) string {
	if agent == "" {
		return ""
	}
	return "by " + text.Label(agent)
}

// TriesOf is what is known of the tries of a phase that are over, and the place of
// the one that wins by the rules, -1 where none does.
func (s *State) TriesOf(number string) ([]TryFacts, int) {
	p := s.Phases[number]
	if p == nil || p.Contest == nil {
		return nil, -1
	}
	over, _ := s.contestants(p)
	best, over := BestTry(over)
	return over, best
}
