package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

var errNoHost = errors.New("this process knows no code host")

// unreached is what a code host did not do when Forge's own part failed: it
// holds the phase, and fails nothing.
func unreached(doing string, err error) *work.PullTrouble {
	return &work.PullTrouble{Kind: work.HostUnreachable, What: fmt.Sprintf("%s: %v", doing, err), Passes: true}
}

func (r *session) publishJob(c Command, p *Phase) func(context.Context) Fact {
	s, u := r.s, cmp.Or(p.Pull, r.s.proposed(p))
	req := PullPublish{
		Marker: s.Run + " " + u.Branch, Branch: u.Branch, Base: s.Spec.Branch, BaseCommit: s.Head, From: p.Base, Commit: c.Commit,
		Known: slices.Clone(u.Known), Number: u.Number, Title: text.ClipJSON(strings.TrimSpace(p.Plan.Name), 200),
		Paper: PullPaper{Run: s.Run, Phase: p.Number, Checkpoint: c.Checkpoint, Why: r.s.tellWhy(p), Record: p.Record, Doubts: p.doubts()},
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
	for _, thread := range u.Owed {
		req.Replies = append(req.Replies, PullReply{Thread: thread, Key: string(c.ID) + " " + thread, Body: u.Said})
	}
	return func(ctx context.Context) Fact {
		if r.Host == nil {
			return PublishDone{Command: c, Result: PullPublished{Trouble: unreached("publish", errNoHost)}}
		}
		out, err := r.Host.Publish(context.WithoutCancel(ctx), req)
		if err != nil {
			out = PullPublished{Trouble: unreached("publish", err)}
		}
		return PublishDone{Command: c, Result: out}
	}
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

func (r *session) readJob(c Command, p *Phase) func(context.Context) Fact {
	u, ofJob := p.Pull, r.s.ofJob(p) && r.Todos != nil
	req := PullRead{
		Number: u.Number, Branch: u.Branch, Base: r.s.Spec.Branch, Known: slices.Clone(u.Known), Last: p.Last, Heard: slices.Clone(u.Heard),
		Ref: Ref(r.s.Run, fmt.Sprintf("%s/pull-%d", p.Number, c.Attempt)),
	}
	return func(ctx context.Context) Fact {
		if r.Host == nil {
			return ReadDone{Command: c, Reading: PullReading{Trouble: unreached("read the pull request", errNoHost)}}
		}
		out, err := r.Host.Read(context.WithoutCancel(ctx), req)
		if err != nil {
			out = PullReading{Trouble: unreached("read the pull request", err)}
		}
		if commit := out.Commit + out.Merged; commit != "" && ofJob {
			check, err := r.Todos.Todos(ctx, commit)
			if err != nil {
				return ReadDone{Command: c, Reading: PullReading{Trouble: unreached("read the todos", err)}}
			}
			out.Todos = &check
		}
		return ReadDone{Command: c, Reading: out}
	}
}

func (r *session) landPullJob(c Command, p *Phase, count int64, hash string) func(context.Context) Fact {
	s, u := r.s, p.Pull
	req := PullLand{
		Number: u.Number, Branch: u.Branch, Head: p.Last, Known: slices.Clone(u.Known), Base: s.Spec.Branch, BaseHead: s.Head,
		Commit: p.Merge.Commit, Tree: p.Merge.Tree, Merged: u.Merged, Answered: u.Answered, Title: text.ClipJSON(strings.TrimSpace(p.Plan.Name), 200),
		Message: fmt.Sprintf("Forge-Run: %s\nForge-Phase: %s\nForge-Journal: %s\n", s.Run, p.Number, hash),
		Run:     s.Run, Ref: Ref(s.Run, "head"), Keep: Ref(s.Run, p.Number+"/branch"),
	}
	return func(ctx context.Context) Fact {
		ctx = context.WithoutCancel(ctx)
		if r.Host == nil {
			return LandDone{Command: c, Refused: unreached("merge", errNoHost)}
		}
		out, err := r.Host.Land(ctx, req)
		if err != nil {
			return LandDone{Command: c, Refused: unreached("merge", err)}
		}
		if out.Trouble != nil {
			return LandDone{Command: c, Refused: out.Trouble, Commit: out.Commit, Tree: out.Tree}
		}
		if err := r.Repo.Anchor(ctx, req.Run, count, hash); err != nil {
			return broke(c, "anchor the journal", err)
		}
		return LandDone{Command: c, Commit: out.Commit, Tree: out.Tree, Empty: out.Commit == req.BaseHead}
	}
}
