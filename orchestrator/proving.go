package orchestrator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// Proving is how far the proof of a phase's last claim has come, beside the
// verify of the claimed tree itself.
type Proving struct {
	// Floors are the proofs that are still due: that tree's product with the
	// evidence of the trusted state, and with that of the phase's own base.
	Floors  []work.VerifyOn `json:",omitempty"`
	Differs []string        `json:",omitempty"` // evidence that is not the trusted one
	New     []string        `json:",omitempty"` // evidence that the floors leave out
	Parts   []string        `json:",omitempty"` // that of parts of the work
	// Ask says that the controls are due on that tree; Millis is how long its
	// verify took.
	Ask    bool   `json:",omitempty"`
	Millis int64  `json:",omitempty"`
	Key    string `json:",omitempty"` // that names that verify

	Doubts  []work.Doubt              `json:",omitempty"`
	Notes   []string                  `json:",omitempty"`
	Control *work.ControlFinishedData `json:",omitempty"`
	// Left is what there was no time for; nil = nothing.
	Left *Rest `json:",omitempty"`
	// Red is the last tree of the phase that verify was red on, and what it said.
	Red       string `json:",omitempty"`
	RedOutput string `json:",omitempty"`
	// Disturbed says that what stands against the proof is that it was disturbed.
	Disturbed bool `json:",omitempty"`
}

// PriorProof is what was said of a tree that is still the phase's when the
// fix after it comes to nothing.
type PriorProof struct {
	Evidence []string `json:",omitempty"`
	Gone     []string `json:",omitempty"`
	Finding  string   `json:",omitempty"` // Forge's own objection to it
	Proving  Proving
	Record   work.ProofRecord
	Allowed  bool `json:"Lax,omitempty"` // of an issue: may_change let it pass
}

// keepProof remembers what is known of the tree that a fix began with.
func (s *State) keepProof(p *Phase) {
	p.Prior = nil
	if p.Kind != IterationFix {
		return
	}
	p.Prior = &PriorProof{Evidence: p.Evidence, Gone: p.Gone, Finding: p.Review.Evidence, Proving: p.Proving, Record: p.Record}
	if s.Issue != nil {
		p.Prior.Allowed = s.Issue.AllowedIn[p.Number]
	}
}

// restoreProof takes back what a fix, which came to nothing, had put in place of
// what is known of the tree before it: its doubts and objections stand.
func (s *State) restoreProof(p *Phase) {
	was := p.Prior
	if was == nil {
		return
	}
	red, output := p.Proving.Red, p.Proving.RedOutput
	p.Prior = nil
	p.Evidence, p.Gone, p.Review.Evidence, p.Proving, p.Record = was.Evidence, was.Gone, was.Finding, was.Proving, was.Record
	p.Proving.Red, p.Proving.RedOutput = red, output
	if s.Issue != nil {
		s.Issue.AllowedIn[p.Number] = was.Allowed
	}
}

// nextProof is where a phase goes on from a green proof: to the next proof
// that is due, to the controls, or to its reviews.
func (s *State) nextProof(p *Phase) Stage {
	switch {
	case len(p.Proving.Floors) > 0 || len(p.Gone) > 0:
		return StageEvidence
	case p.Proving.Ask:
		return StageControl
	}
	return s.afterProof(p)
}

// floor is the proof that is due at StageEvidence. Journals of earlier releases
// know one alone.
func (p *Phase) floor() work.VerifyOn {
	if len(p.Proving.Floors) == 0 {
		return work.OnProtected
	}
	return p.Proving.Floors[0]
}

// floorsOf are the proofs that follow from a green verify.
func floorsOf(d work.VerifyFinishedData) []work.VerifyOn {
	if !d.Held && len(d.Touched) > 0 {
		return []work.VerifyOn{work.OnProtected}
	}
	return d.Floors
}

// tellFloor names the evidence of a floor in a sentence.
func tellFloor(on work.VerifyOn) string {
	switch on {
	case work.OnTrusted:
		return "verify fails with the evidence that a person last accepted"
	case work.OnTrustedNew:
		return "verify fails with the evidence that a person last accepted, beside the files that are new"
	case work.OnTrustedChanged:
		return "verify fails with the evidence that a person last accepted, and with files as changed that may be product"
	case work.OnProtectedChanged:
		return "verify fails with the protected files as at the base, and with files as changed that may be product"
	case work.OnParts:
		return "verify fails with the evidence that parts of this work were proven with"
	}
	return "verify fails with the protected files as at the base"
}

// tellEvidence names the evidence that a floor put back, or left out, and what
// there is to do about it.
func (p *Phase) tellEvidence() string {
	if p.floor() == work.OnParts {
		return strings.Join(p.Proving.Parts, ", ") + "; may_change in the plan allows a phase to change them"
	}
	var said []string
	if put := p.evidenceOf(); len(put) > 0 {
		said = append(said, strings.Join(put, ", ")+"; may_change in the plan allows a phase to change them")
	}
	if len(p.Proving.New) > 0 {
		said = append(said, "without these new files, which count as evidence: "+strings.Join(p.Proving.New, ", ")+
			"; [proof] product names those that are the work itself, may_change in the plan those that may judge it")
	}
	return strings.Join(said, "; ")
}

// evidenceOf is all evidence that p's change touches, each path once.
func (p *Phase) evidenceOf() []string {
	all := slices.Concat(p.Evidence, p.Gone, p.Proving.Differs, p.Proving.Parts)
	slices.Sort(all)
	return slices.Compact(all)
}

// Trusted is the commit whose evidence the run's proofs are held against.
func (s *State) Trusted() string { return cmp.Or(s.Spec.Trusted, s.Spec.Base.Commit) }

// controlled says that test runners are asked about the proofs of a repository.
func (s *State) controlled(repository string) bool {
	return !s.settingsOf(repository).Proof.NoControls
}

// judged notes what verify said of a tree. The same tree, red once and green
// once under the same commands, is a doubt whenever it is green.
func (s *State) judged(p *Phase, tree, hidden string, green bool) {
	if tree == "" {
		return
	}
	commands := p.Set.Verify
	if hidden != "" {
		commands = append(slices.Clone(commands), hidden)
	}
	key, now := tree+" "+commandsKey(commands), verdictRed
	if green {
		now = verdictGreen
	}
	was, known := s.Verdicts[key]
	switch {
	case known && was != now:
		now = verdictBoth
	case !known && len(s.Verdicts) >= mostVerdicts:
		return
	}
	if s.Verdicts == nil {
		s.Verdicts = map[string]string{}
	}
	s.Verdicts[key] = now
	if green && now == verdictBoth {
		p.doubt(work.Doubt{Kind: work.DoubtFlaky, What: "the same tree was once red and once green under the same commands"})
	}
}

// What verify said of a tree so far.
const (
	verdictGreen = "green"
	verdictRed   = "red"
	verdictBoth  = "both"
)

// commandsKey tells lists of commands apart.
func commandsKey(commands []string) string {
	sum := sha256.Sum256([]byte(strings.Join(commands, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// mostVerdicts bounds the trees that a run remembers the verdict of.
const mostVerdicts = 2000

func (p *Phase) doubt(d work.Doubt) {
	if !slices.Contains(p.Proving.Doubts, d) {
		p.Proving.Doubts = append(slices.Clip(p.Proving.Doubts), d)
	}
}

// landDoubts takes over what is in doubt about a phase that lands. What is
// weaker than the trusted state was held against it as a whole, so that the
// last word about it counts; a phase that nothing proved, or whose tests nobody
// asked, is none.
func (s *State) landDoubts(p *Phase, commit string) {
	asked := p.Proof == work.ProofVerified && (p.Proving.Control != nil || !s.controlled(p.Plan.Repository) || s.accepted(p))
	kept := slices.DeleteFunc(slices.Clone(s.Doubts), func(d work.Doubt) bool {
		return asked && d.Kind == work.DoubtWeakened && d.Floor == work.OnTrusted
	})
	if p.Proving.Left != nil {
		s.Rests = append(slices.Clip(s.Rests), *p.Proving.Left)
	}
	moves := len(p.Set.MayChange) > 0 && len(p.Review.LetFiles) == 0
	for _, d := range p.Proving.Doubts {
		if moves && d.Kind == work.DoubtWeakened && d.Floor == work.OnTrusted {
			// What may_change lets differ is what later phases are held against:
			// none of them would say again that it became weaker.
			d.Floor = work.OnProtected
		}
		if !slices.Contains(kept, d) {
			kept = append(kept, d)
		}
	}
	s.Doubts = kept
	repo := p.Plan.Repository
	switch {
	case len(p.Review.LetFiles) > 0:
		// A person saw the change of evidence and let it pass.
		s.Moves = append(slices.Clip(s.Moves), work.TrustMove{From: s.HeadOf(repo), To: commit, Paths: []string{"**"}, Repository: repo})
	case len(p.Set.MayChange) > 0:
		s.Moves = append(slices.Clip(s.Moves), work.TrustMove{From: s.HeadOf(repo), To: commit, Paths: p.Set.MayChange, Repository: repo})
	}
	p.Proving = Proving{}
}

// inDoubt says that a person has to look at the doubts before the result lands.
func (s *State) inDoubt() bool {
	return slices.ContainsFunc(s.Doubts, func(d work.Doubt) bool { return !s.lets(d.Kind) })
}

// lets says that the policy lets doubts of a kind pass. It has no say over one
// that is none of those it can name.
func (s *State) lets(kind work.DoubtKind) bool {
	return slices.Contains(work.DoubtKinds(), kind) && s.passes(nil, gates.DoubtPoint(kind))
}

// accepts are the moves of the trusted state that follow from the result as it
// is delivered. A person who approved it was shown all of it; what a plan's
// may_change allows is the owner's word, unless an agent wrote the plan.
func (s *State) accepts() []work.TrustMove {
	switch {
	case s.Final.Approved != "":
		all := []work.TrustMove{{From: s.Spec.Base.Commit, To: s.Head, Paths: []string{"**"}}}
		for _, r := range s.Spec.Repositories {
			all = append(all, work.TrustMove{From: r.Base.Commit, To: s.Beside[r.Name], Paths: []string{"**"}, Repository: r.Name})
		}
		return all
	case s.Issue != nil || s.Job != nil:
		return nil
	}
	return s.Moves
}
