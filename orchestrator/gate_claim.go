package orchestrator

import (
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const gateClaim = "claim"

func claimGate() gate {
	return gate{
		names: []string{gateClaim}, stages: []Stage{StageJudge}, decide: (*decision).claims, fold: foldClaim,
		moves: map[string][]Stage{decideClaimed: {StageVerify, StageReview, StageLand, StageProven}},
		leads: func(s *State, p *Phase, _ work.GateDecidedData) Stage { return s.toProve(p) },
	}
}

// claims judges whether the agent is at the end of what p asks for. Of an
// iteration outside the budget nobody waits for a new promise, and there is no
// second one.
func (d *decision) claims(p *Phase) bool {
	if !p.Kind.Free() {
		due := p.Judged.Claim == ClaimDue && p.claims()
		if due {
			d.claim(p)
		}
		return due
	}
	switch bad := p.badFree(); {
	case len(p.Judged.Markers) > 0:
		d.finish(p, work.PhaseFailed, work.ReasonMergeConflict, bad)
	case bad != "":
		d.finish(p, work.PhaseFailed, work.ReasonVerifyFailed, bad)
	default:
		d.rule(p.Number, gateClaim, decideClaimed, "a "+string(p.Kind)+" that was asked for needs no new promise")
	}
	return true
}

func (d *decision) claim(p *Phase) {
	if d.s.ofJob(p) {
		d.claimJob(p)
		return
	}
	promise := strings.TrimSpace(p.Plan.Promise)
	said, one := work.Claim(p.Judged.Claims)
	switch {
	case len(p.Judged.Markers) > 0:
		d.rule(p.Number, gateClaim, decideNone, tellMarkers(p))
	case !one:
		d.rule(p.Number, gateClaim, decideNone, "the last message holds different promises")
	case p.Proving.Red != "" && p.Proving.Red == p.Tree:
		d.rule(p.Number, gateClaim, decideNone, judgedAlready)
	case said != promise:
		d.rule(p.Number, gateClaim, decideNone, p.otherPromise(said))
	default:
		d.rule(p.Number, gateClaim, decideClaimed, "the promise stands in the last message")
	}
}

// claimJob judges the end of a job's phase, as the agent claims it: nothing is
// taken from its words that its todos do not bear out.
func (d *decision) claimJob(p *Phase) {
	why := ""
	said, one := work.Claim(p.Judged.Claims)
	switch {
	case len(p.Judged.Markers) > 0:
		why = tellMarkers(p)
	case p.Complete != nil:
		why = p.unborne()
	case !one:
		why = "the last message holds different promises"
	case said != strings.TrimSpace(p.Plan.Promise):
		why = p.otherPromise(said)
	default:
		why = p.unborne()
	}
	if why != "" {
		d.rule(p.Number, gateClaim, decideNone, why)
		return
	}
	d.rule(p.Number, gateClaim, decideClaimed, "the promise stands in the last message, and the todos bear it out")
}

// otherPromise says what was promised and what is to be.
func (p *Phase) otherPromise(said string) string {
	return fmt.Sprintf("the last message says the promise %q instead of %q", text.ClipJSON(said, 100), text.ClipJSON(strings.TrimSpace(p.Plan.Promise), 100))
}

// claiming says that the iteration is about to be proven.
func (p *Phase) claiming() bool {
	switch {
	case p.Judged.Claim != ClaimDue || p.Kind == IterationResolve || p.Asking.questions():
		return false
	case p.Kind.Free():
		return p.badFree() == ""
	}
	return p.Merge == nil && p.claims()
}

// claims says that the agent claims the end of the phase, or of the job.
func (p *Phase) claims() bool { return len(p.Judged.Claims) > 0 || p.Complete != nil }

// badFree is why an iteration outside the budget came to nothing; "" when it
// did not.
func (p *Phase) badFree() string {
	switch {
	case !p.Judged.Outcome.KeepsClaim():
		return fmt.Sprintf("the iteration ended %s: %s", p.Judged.Outcome, p.Judged.Detail)
	case len(p.Judged.Markers) > 0:
		return tellMarkers(p)
	case p.Judged.Claim == ClaimNone:
		return "verify fails: " + text.FirstLine(text.Plain(p.Verified), 200)
	case p.Todos != "" && p.Kind != IterationResolve:
		return p.unborne()
	}
	return ""
}

func tellMarkers(p *Phase) string {
	return "conflict markers are left in " + strings.Join(p.Judged.Markers, ", ")
}

func foldClaim(s *State, p *Phase, d folded) {
	if d.Decision != decideClaimed {
		s.foldNoClaim(p, d)
		return
	}
	p.Judged.Claim, p.Asking.Due = ClaimMade, nil
	if len(p.Set.Verify) == 0 {
		p.Proof = s.byWord(p)
	}
}

// foldNoClaim folds that nothing is claimed, or nothing that counts.
func (s *State) foldNoClaim(p *Phase, d folded) {
	p.Judged.Claim, p.Judged.Obstacle = ClaimNone, d.Reason
	if d.Reason == judgedAlready {
		problem, output, _ := strings.Cut(p.Proving.RedOutput, "\n")
		p.Judged.Obstacle += obstacleOf(": "+problem, problem, output)
		p.Verified = p.Proving.RedOutput
		p.note("You claimed the same tree again, which verify was red on. Change it first.")
	}
	if s.ofJob(p) {
		p.note("The phase is not at its end: %s", d.Reason)
		if p.Kind == IterationWork { // a fix that comes to nothing takes back nothing
			p.Complete = nil
		}
	}
}

// byWord is the proof of what no command proves.
func (s *State) byWord(p *Phase) work.Proof {
	if s.settingsOf(p.Plan.Repository).Verify.None {
		return work.ProofWaived
	}
	return work.ProofClaim
}
