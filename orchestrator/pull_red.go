package orchestrator

import (
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// What a person pushed to a pull request is that person's: where its proof is red,
// or the host's checks fail on it, they are told there and asked again. The agent
// is not set on it unless somebody asks for changes, and nothing lands meanwhile.

// RedPush is a commit that holds what people pushed, and that verify was red on.
type RedPush struct {
	Commit  string
	By      []string `json:",omitempty"` // as the commits say it
	Command string   `json:",omitempty"` // that failed, "" = none is known
	Problem string
	Output  string `json:",omitempty"` // the end of what it printed
}

// MostOfRed is how much of the output people are shown, in bytes.
const MostOfRed = 2 << 10

// decideProve has what is asked about proven once more.
const decideProve = "prove"

// asksPusher says that what was proven is what people pushed, and lets them be
// asked about what is red. What they merged themselves is beyond asking: an agent
// may mend that.
func (s *State) asksPusher(p *Phase, d work.VerifyFinishedData) bool {
	u := p.Pull
	if !p.peoples() || p.Merge != nil {
		return false
	}
	p.PushedRed = &RedPush{Commit: p.Last, By: u.By, Command: d.Command, Problem: d.Problem, Output: text.End(d.Output, MostOfRed)}
	u.Due, u.Approved, p.Stage = nil, "", StageProven
	p.happened("what %s pushed is red: %s", orSomebody(u.By), text.FirstLine(text.Plain(d.Problem), 200))
	return true
}

// redPush is what people pushed and verify was red on, while that is p's work;
// nil = it is not.
func (p *Phase) redPush() *RedPush {
	if r := p.PushedRed; r != nil && r.Commit == p.Last {
		return r
	}
	return nil
}

// peoples says that p's work is as people left it, and no agent changed it since.
func (p *Phase) peoples() bool {
	return p.Pull != nil && p.Last != "" && p.Pull.Taken == p.Last && p.Pull.Merged == ""
}

// tell is what a person decides on.
func (r *RedPush) tell() string {
	return fmt.Sprintf("what %s pushed is not proven: %s. The agent has not been set on it. Push what mends it and approve that; ask for changes (/forge fix) to have the agent mend it; approve to have it proven once more as it is.\n%s\n\n",
		orSomebody(r.By), text.FirstLine(text.Plain(r.Problem), 300), strings.TrimSpace(r.Output))
}

// reprove takes what people pushed back to its proof.
func (s *State) reprove(p *Phase, d PullDecidedData) {
	if u := p.Pull; u != nil {
		if u.Read != nil {
			u.hears(u.Read, d.Status) // it was acted upon: only another one has it proven again
		}
		u.Due, u.Read = nil, nil
	}
	p.Judged = Judged{Claim: ClaimNone}
	s.move(p, s.toProve(p))
}

// proveAgain lets an approval of what is red have it proven once more: nobody's
// word makes it green.
func (d *decision) proveAgain(p *Phase, a work.Answer) bool {
	if p == nil || a.Status != work.CheckpointApproved || p.redPush() == nil {
		return false
	}
	d.pullDecided(p, PullDecidedData{Decision: decideProve, By: decides(a), Status: a.Status, Reason: "what was pushed is red: it is proven once more as it is"})
	return true
}
