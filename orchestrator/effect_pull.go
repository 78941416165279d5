package orchestrator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// PublishEffect shows a judged commit to people. Its fact is PublishDone.
type PublishEffect struct {
	Command Command
	Request PullPublish
}

// ReadEffect reads a pull request. Its fact is ReadDone.
type ReadEffect struct {
	Command Command
	Request PullRead
	Todos   bool // of a job: read them in what people made
}

// LandPullEffect lets the code host merge. Its fact is LandDone.
type LandPullEffect struct {
	Command Command
	Request PullLand
	Journal Head
}

// CloseEffect closes a pull request. Its fact is CloseDone.
type CloseEffect struct {
	Command Command
	Request PullClose
	Ending  bool // the run ends: nobody waits long for the host
}

// Unreached is what a code host did not do when Forge's own part failed: it
// holds the phase, and fails nothing.
func Unreached(doing string, err error) *work.PullTrouble {
	return &work.PullTrouble{Kind: work.HostUnreachable, What: fmt.Sprintf("%s: %v", doing, err), Passes: true}
}

func (s *State) publishEffect(c Command, p *Phase) PublishEffect {
	u := cmp.Or(p.Pull, s.proposed(p))
	req := PullPublish{
		Marker: s.Run + " " + u.Branch, Branch: u.Branch, Base: s.Spec.Branch, BaseCommit: s.Head, From: p.Base, Commit: c.Commit,
		Known: slices.Clone(u.Known), Number: u.Number, Title: text.ClipJSON(strings.TrimSpace(p.Plan.Name), 200),
		Paper: PullPaper{Run: s.Run, Phase: p.Number, Checkpoint: c.Checkpoint, Why: s.tellWhy(p), Record: p.Record, Doubts: p.doubts()},
	}
	if cp := s.Open[c.Checkpoint]; cp != nil {
		req.Paper.Facts = cp.Question + "\n\n" + cp.Facts
	}
	if c.Checkpoint != "" {
		req.Found = p.found()
	}
	if p.Proof == work.ProofVerified {
		req.Paper.Proof = slices.Clone(p.Set.Verify)
	}
	req.Red = p.redPush()
	req.Replies = replies(string(c.ID), Round{Threads: u.Owed, Said: u.Said, Answers: u.Answers, From: u.Commit, To: c.Commit})
	return PublishEffect{Command: c, Request: req}
}

// tellWhy is what p is for: phases of a job are for what the job is.
func (s *State) tellWhy(p *Phase) string {
	if s.ofJob(p) {
		return strings.TrimSpace(s.Spec.Job.Description + "\n\n" + p.Plan.Reasoning)
	}
	return p.Plan.Reasoning
}

// doubts is what reviewers and the arbiter left standing.
func (p *Phase) doubts() string {
	var b strings.Builder
	if !p.Set.Reviewed {
		b.WriteString("No reviewer of Forge's looked at this.\n")
	}
	if p.Review.Let != "" {
		fmt.Fprintf(&b, "Findings were let pass by %s.\n", p.Review.Let)
	}
	for _, f := range p.found() {
		fmt.Fprintf(&b, "- %s\n", tellFinding(f.Finding))
	}
	return text.ClipJSON(b.String(), 4<<10)
}

// found is what reviewers found and was let stand.
func (p *Phase) found() []Found {
	in := map[string][]work.Finding{} // by commit: some look at what others need not see again
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; o != nil {
			in[o.Commit] = append(in[o.Commit], o.Findings...)
		}
	}
	var out []Found
	for _, commit := range slices.Sorted(maps.Keys(in)) {
		for _, f := range review.Merge(in[commit]) {
			out = append(out, Found{Commit: commit, Finding: f})
		}
	}
	return out
}

// Found is what reviewers found in all phases and was let stand.
func (s *State) Found() []Found {
	var out []Found
	for _, n := range s.Order {
		out = append(out, s.Phases[n].found()...)
	}
	return out
}

func (s *State) readEffect(c Command, p *Phase) ReadEffect {
	u := p.Pull
	return ReadEffect{Command: c, Todos: s.ofJob(p), Request: PullRead{
		Number: u.Number, Branch: u.Branch, Base: s.Spec.Branch, Known: slices.Clone(u.Known), Last: p.Last, Heard: slices.Clone(u.Heard), Checks: u.Due != nil && (u.Due.Answer.Checks != "" || u.Due.Answer.Status == work.CheckpointChangesRequested),
		Ref: Ref(s.Run, fmt.Sprintf("%s/pull-%d", p.Number, c.Attempt)),
	}}
}

func (s *State) landPullEffect(c Command, p *Phase, head Head) LandPullEffect {
	u := p.Pull
	return LandPullEffect{Command: c, Journal: head, Request: PullLand{
		Number: u.Number, Branch: u.Branch, Head: p.Last, Known: slices.Clone(u.Known), Base: s.Spec.Branch, BaseHead: s.Head,
		Commit: p.Merge.Commit, Tree: p.Merge.Tree, Merged: u.Merged, Answered: u.Answered, Title: text.ClipJSON(strings.TrimSpace(p.Plan.Name), 200),
		Message: fmt.Sprintf("Forge-Run: %s\nForge-Phase: %s\nForge-Journal: %s\n", s.Run, p.Number, head.Hash),
		Run:     s.Run, Ref: Ref(s.Run, "head"), Keep: Ref(s.Run, p.Number+"/branch"),
	}}
}

func (s *State) closeEffect(c Command, l Leaving) CloseEffect {
	base := s.Spec.Branch
	if l.Repository != "" {
		base = s.BaseOf(c.Repository).Branch
	}
	return CloseEffect{Command: c, Ending: s.Stopping != nil, Request: PullClose{
		Marker: s.Run + " " + l.Branch, Branch: l.Branch, Base: base, Number: l.Number,
		Key: s.Run + " close " + l.Branch, Why: l.Why,
	}}
}

func (e PublishEffect) Of() Command  { return e.Command }
func (e ReadEffect) Of() Command     { return e.Command }
func (e LandPullEffect) Of() Command { return e.Command }
func (e CloseEffect) Of() Command    { return e.Command }

func (PublishEffect) effect()  {}
func (ReadEffect) effect()     {}
func (LandPullEffect) effect() {}
func (CloseEffect) effect()    {}
