package orchestrator

import (
	"fmt"
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// What came of the proofs of a claim. A red one refutes the claim; a green one
// goes on to the next that is due.

func applyVerified(s *State, p *Phase, _ work.Event, d work.VerifyFinishedData) {
	if d.On.OfBase() {
		if s.Baseline.Stage == BaselineDue {
			s.Baseline = Baseline{Stage: BaselineRed, Output: d.Problem + "\n" + d.Output, Tries: s.Baseline.Tries + 1, Repository: s.Baseline.Repository}
			if d.OK || d.On == work.OnWarm {
				s.Baseline.Stage = BaselinePassed
				s.nextBaseline()
			}
		}
		return
	}
	if p == nil {
		return
	}
	switch {
	case s.Train.has(p.Number) && p.Stage == StageTrain && d.On == work.OnMerged:
		s.applyTrainProof(p, d)
		return
	case s.Train.has(p.Number) && p.Stage == StageEvidence && d.On == p.floor():
		s.applyTrainFloor(p, d)
		return
	}
	p.sawRed(d)
	p.hookVerified(d)
	own := d.On == work.OnSnapshot || d.On == work.OnMerged
	defer p.recordDoubts()
	if d.OK && own {
		// The proofs that follow are about what this one names. A red one
		// leaves standing what was said of the last proven tree.
		s.keepProof(p)
		p.Evidence, p.Gone, p.Review.Evidence = d.Touched, d.Gone, ""
		p.Proving.take(d)
		s.Issue.verified(p, d)
	}
	switch {
	case d.On == work.OnSnapshot && p.Stage == StageVerify, d.On == work.OnMerged && p.Stage == StageReverify:
		p.Record = d.Of(s.proofCommands(p.Number))
		s.applyOwnProof(p, d)
	case !own && p.Stage == StageEvidence && d.On == p.floor():
		p.Record = p.Record.With(d)
		s.applyFloor(p, d)
	}
}

// applyOwnProof folds the verify of the claimed or merged tree itself.
func (s *State) applyOwnProof(p *Phase, d work.VerifyFinishedData) {
	p.Judged.Claim = ClaimNone
	if d.Disturbed != "" {
		p.applyDisturbed(d.Disturbed)
		return
	}
	s.judged(p, p.judgedTree(), d.HiddenSum, d.OK)
	if !d.OK {
		s.applyRed(p, d)
		return
	}
	p.Proof, p.PushedRed = work.ProofVerified, nil
	if s.accepted(p) {
		p.Proving.Floors = nil
		s.move(p, s.afterProof(p))
		return
	}
	p.Proving.Ask = d.Held && s.controlled(p.Plan.Repository)
	s.move(p, s.nextProof(p))
}

// applyRed folds a red proof, which refutes the claim.
func (s *State) applyRed(p *Phase, d work.VerifyFinishedData) {
	p.red(d)
	if p.Merge == nil {
		p.Proving.Red, p.Proving.RedOutput = p.Tree, p.Verified
	}
	p.Stage = StageJudge
	if s.asksPusher(p, d) {
		return
	}
	if u := p.Pull; u != nil && u.Taken == p.Last && p.Merge == nil {
		// People merged it, and no iteration claimed it: one may mend it.
		u.Due, u.Approved, u.Taken, p.Kind, p.Stage = nil, "", "", IterationRework, StageGate
	}
}

// applyFloor folds a proof with the evidence of a floor.
func (s *State) applyFloor(p *Phase, d work.VerifyFinishedData) {
	switch {
	case d.Disturbed != "":
		p.applyDisturbed(d.Disturbed)
	case d.OK:
		if len(p.Proving.Floors) > 1 {
			p.Proving.Floors = p.Proving.Floors[1:]
		} else {
			p.Proving.Floors, p.Evidence = nil, nil
		}
		s.move(p, s.nextProof(p))
	case s.reviews(p):
		p.Review.Evidence = tellFloor(d.On) + ": " + d.Problem
		s.move(p, s.afterProof(p))
	case s.asksPusher(p, work.VerifyFinishedData{Command: d.Command, Problem: tellFloor(d.On) + ": " + d.Problem, Output: d.Output}):
	default:
		p.Judged = Judged{Outcome: outcomeEvidence, Detail: d.Problem, Claim: ClaimNone}
		p.Stage = StageJudge
	}
}

// applyDisturbed folds a proof that was interfered with while it ran: nobody
// knows what the commands would have said.
func (p *Phase) applyDisturbed(what string) {
	p.Judged = Judged{Outcome: outcomeDisturbed, Detail: what, Claim: ClaimNone}
	p.Stage = StageJudge
}

// applyDeaf folds tests that cannot fail any more with this product in place, and
// a judge that is not the trusted one.
// Everything is green, so that a person may still let it pass.
func (s *State) applyDeaf(p *Phase, what string) {
	if !s.reviews(p) {
		p.applyDisturbed(what)
		return
	}
	p.Proving.Disturbed = true
	p.Review.Evidence = what
	s.move(p, s.afterProof(p))
}

// applyControlled folds what test runners said of a proof.
func applyControlled(s *State, p *Phase, _ work.Event, d work.ControlFinishedData) {
	if p.Stage != StageControl {
		return
	}
	if s.Train.has(p.Number) {
		s.Train.ended(p.Number)
		if d.Problem != "" {
			s.leaveTrain(p, d.Problem)
			return
		}
		defer s.rideOn(p)
	}
	p.Proving.Ask, p.Proving.Control = false, &d
	p.Record.Control = &d.ControlReport
	defer p.recordDoubts()
	switch {
	case len(d.Deaf)+len(d.Replaced) > 0:
		s.applyDeaf(p, d.Problem)
	case len(d.Lost) > 0:
		s.applyRed(p, work.VerifyFinishedData{On: work.OnSnapshot, Problem: d.Problem, Output: strings.Join(d.Lost, "\n")})
	default:
		for _, one := range s.doubtsOf(p, d.ControlReport) {
			p.doubt(one)
		}
		p.Proving.Left = s.restOf(p, d)
		s.move(p, s.afterProof(p))
	}
}

// recordDoubts keeps for people what is in doubt about the last proof. Where
// the work itself is red, doubts are about an earlier one.
func (p *Phase) recordDoubts() {
	p.Record.Doubts = nil
	if ran := p.Record.Ran; len(ran) > 0 && ran[0].OK {
		p.Record.Doubts = p.Proving.Doubts
	}
}

// doubtsOf are the doubts that follow from what test runners said. Where a phase
// is there to change nothing that a test could see, what no test needs is none.
func (s *State) doubtsOf(p *Phase, r work.ControlReport) []work.Doubt {
	var out []work.Doubt
	for _, name := range r.Unsteady {
		out = append(out, work.Doubt{Kind: work.DoubtFlaky, What: "it passes, and does not while other tests are made wrong: " + name})
	}
	for _, one := range r.Loosened {
		out = append(out, work.Doubt{Kind: work.DoubtWeakened, What: "with the settings as they are changed: " + one, Floor: work.OnTrusted})
	}
	for _, one := range r.Softened {
		out = append(out, work.Doubt{Kind: work.DoubtWeakened, What: "with the tests as they are changed: " + one, Floor: work.OnTrusted})
	}
	if !s.holdsUnproven(p) {
		return out
	}
	for _, u := range r.Unproven {
		if u.More > 0 {
			out = append(out, moreUnproven(u, "of these"))
			continue
		}
		what := "it can be taken out, and no test notices"
		if u.Name != "" {
			what = "the body of " + u.Name + " can be taken out, and no test notices"
		}
		out = append(out, work.Doubt{Kind: work.DoubtUnproven, Path: u.Path, Line: u.Line, What: what})
	}
	for _, f := range r.Unread {
		out = append(out, work.Doubt{Kind: work.DoubtUnproven, Path: f, What: "no proof reads this file"})
	}
	if a := r.Ablation; a != nil && s.settingsOf(p.Plan.Repository).Proof.Ablate == work.AblateRequire {
		for _, f := range a.Idle {
			if f.More > 0 {
				out = append(out, moreUnproven(f, "such parts"))
				continue
			}
			out = append(out, work.Doubt{Kind: work.DoubtUnproven, Path: f.Path, Line: f.Line, What: fmt.Sprintf("lines %d to %d can be taken back, and no test notices", f.Line, f.End)})
		}
		// What nobody looked at is not known to be needed.
		if a.Skipped != "" {
			out = append(out, work.Doubt{Kind: work.DoubtUnproven, What: notLookedAt(a.Skipped)})
		}
	}
	return out
}

// moreUnproven is the doubt about what an event has no room to name.
func moreUnproven(p work.Place, what string) work.Doubt {
	return work.Doubt{Kind: work.DoubtUnproven, What: fmt.Sprintf("and %d more %s (%s)", p.More, what, work.WhereAll)}
}

// holdsUnproven says that what no test needs is a doubt. The plan of an issue is
// an agent's: what it calls a refactoring is none by that.
func (s *State) holdsUnproven(p *Phase) bool {
	refactors := p.Plan.PhaseType == work.TypeRefactor && s.Issue == nil
	return s.settingsOf(p.Plan.Repository).Proof.Unproven != work.UnprovenSay && !refactors
}

func notLookedAt(skipped string) string {
	return skipped + " (proof.ablate_secs gives it more time)"
}

// take begins the proving of a tree that verify is green on.
func (g *Proving) take(d work.VerifyFinishedData) {
	*g = Proving{
		Floors: floorsOf(d), Differs: d.Differs, Millis: d.Millis, Key: d.Key, Doubts: d.Doubts, Notes: d.Notes, New: d.New, Parts: d.Parts,
		Red: g.Red, RedOutput: g.RedOutput,
	}
	if d.Before != nil {
		g.Millis = d.Before.Millis // what the controls may take is measured by a run
	}
}

// Judgements that are not about an iteration but about its proof.
const (
	outcomeEvidence  work.Outcome = "evidence_changed"
	outcomeDisturbed work.Outcome = "proof_disturbed"
)

// judgedAlready is why a claim on a tree that verify was red on is none.
const judgedAlready = "verify was red on this very tree"

// judgedCommit is what is being proven, judgedTree its tree.
func (p *Phase) judgedCommit() string {
	if p.Merge != nil {
		return p.Merge.Commit
	}
	return p.Last
}

func (p *Phase) judgedTree() string {
	if p.Merge != nil {
		return p.Merge.Tree
	}
	return p.Tree
}

// afterProof is where a proven phase goes on: to its reviews, unless they have
// nothing new to look at.
func (s *State) afterProof(p *Phase) Stage {
	switch {
	case s.toReview(p):
		return StageReview
	case p.Merge != nil:
		return s.toLand(p)
	}
	return StageProven
}

func (p *Phase) red(d work.VerifyFinishedData) {
	p.Judged.Obstacle, p.Judged.Missing = obstacleOf("verify is red: "+d.Problem, d.Problem, d.Output), d.Missing
	p.Verified = fmt.Sprintf("%s\n%s", d.Problem, d.Output)
	p.Past.refuted(p.Iteration, d.Problem, d.Output)
	p.note("Verify failed on the %s tree: %s", d.On, d.Problem)
}

// obstacleOf is said with the last line of what a red verify printed, where that
// says more than its problem.
func obstacleOf(said, problem, output string) string {
	if last := lastLine(output); last != "" && last != problem {
		said += ": " + last
	}
	return said
}

// lastLine is the last line of text with something in it, cut to what fits a
// sentence.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return texts.ClipJSON(strings.TrimSpace(lines[len(lines)-1]), 160)
}
