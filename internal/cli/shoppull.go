package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/internal/host"
	"forge/internal/work"
	"forge/orchestrator"
)

// proposal is the one pull request of a result, and its branch.
type proposal struct {
	work.PullRequest
	at    string // commit of the branch, "" = it is gone
	holds factory.PullHead
}

// propose sees to it that there is one pull request of the result for a
// branch, and that it shows the result. What people did there stays. It is
// found again whatever died in between.
func (h *resultHost) propose(ctx context.Context, r result, base string) (proposal, error) {
	var out proposal
	known := r.issue.Pull
	if known != nil {
		look, err := h.look(ctx, known.Number)
		if out.PullRequest = look.PullRequest; err != nil || look.State != work.PullOpen {
			return out, err
		}
	}
	err := h.again(ctx, func() (err error) {
		out.at, out.holds, err = h.bring(ctx, r)
		return err
	})
	if err != nil || out.holds == factory.HeadGone || out.holds == factory.HeadOther {
		return out, err
	}
	body, err := h.resultPaper(ctx, r)
	if err != nil {
		return out, err
	}
	err = h.again(ctx, func() (err error) {
		out.PullRequest, err = h.pulls.OpenPull(ctx, work.PullProposal{Marker: r.Run + " " + r.Spec.Branch, Branch: r.Spec.Branch, Base: base, Title: resultTitle(r.issue), Body: body})
		return err
	})
	return out, err
}

// bring makes the branch hold the result, beside what people pushed to it.
func (h *resultHost) bring(ctx context.Context, r result) (at string, holds factory.PullHead, err error) {
	branch, want := r.Spec.Branch, r.commit
	if at, err = h.branches.Fetch(ctx, branch, r.ref("head")); err != nil || at == want {
		return at, factory.HeadResult, err
	}
	if at == "" {
		if r.issue.Pull != nil {
			return "", factory.HeadGone, nil
		}
		return want, factory.HeadResult, h.branches.Push(ctx, branch, want, "")
	}
	if grown, err := h.repo.Holds(ctx, want, at); err != nil || grown {
		if err == nil {
			err = h.branches.Push(ctx, branch, want, at)
		}
		return want, factory.HeadResult, err
	}
	if more, err := h.repo.Holds(ctx, at, want); err != nil || more {
		return at, factory.HeadPeople, err
	}
	if r.issue.Pull == nil {
		return at, "", &work.HostTrouble{Kind: work.HostBranchExists, Do: "push " + branch, What: "a branch of this name is on the host already, with other content", Fix: "delete or rename it there"}
	}
	return h.beside(ctx, r, at)
}

// beside takes together what people pushed and what the agent did meanwhile.
func (h *resultHost) beside(ctx context.Context, r result, at string) (string, factory.PullHead, error) {
	shown := r.issue.Pull.Shown
	for _, c := range []string{at, r.commit} {
		if grown, err := h.repo.Holds(ctx, c, shown); err != nil || !grown {
			return at, factory.HeadOther, err
		}
	}
	m, err := h.repo.Merge(ctx, r.commit, at)
	if err != nil {
		return at, "", err
	}
	if len(m.Conflicts) > 0 {
		return at, "", &work.HostTrouble{Kind: work.HostConflict, Do: "push " + r.Spec.Branch, What: "what people pushed conflicts with the agent's work in " + strings.Join(m.Conflicts, ", "),
			Fix: "take the commits back, or git merge " + r.Spec.Branch + " into them"}
	}
	both, err := h.repo.CommitTree(ctx, m.Tree, []string{r.commit, at}, "merge of what people pushed\n", r.ref("both"))
	if err != nil {
		return at, "", err
	}
	return both, factory.HeadPeople, h.branches.Push(ctx, r.Spec.Branch, both, at)
}

// seen is how a proposal stands on the host.
func (h *resultHost) seen(ctx context.Context, r result, is proposal) (work.PullLook, factory.PullSeen, error) {
	look, err := h.look(ctx, is.Number)
	if err != nil {
		return look, factory.PullSeen{}, err
	}
	stand := host.Stand(look.Reviews, is.at)
	out := factory.PullSeen{Number: look.Number, State: look.State, Head: is.holds, Approved: stand.Verdict == work.PullApproved, Mergeable: look.Mergeable, Why: look.Why}
	out.Against = against(look, is.at, r.Final.Heard)
	return look, out, nil
}

// Show proposes a finished result that waits for a person on the code host.
func (s *shop) Show(ctx context.Context, i work.Issue, shown func(work.IssuePull) error) (factory.Landed, error) {
	p, err := s.fresh(ctx)
	if err != nil {
		return factory.Landed{}, err
	}
	h, err := s.resultHost(p)
	if err != nil {
		return s.unhosted(i, err), nil
	}
	if h == nil {
		return factory.Landed{}, nil
	}
	r, err := s.resultOf(ctx, p, i)
	if err != nil || !r.Spec.Pulls.Remote() {
		return factory.Landed{}, err // it was begun without a host
	}
	out, err := s.show(ctx, h, r, shown)
	return s.orWaits(i, out, err)
}

func (s *shop) show(ctx context.Context, h *resultHost, r result, shown func(work.IssuePull) error) (factory.Landed, error) {
	var out factory.Landed
	target, _, err := h.target(ctx, r.ref("target"))
	if err != nil {
		return out, err
	}
	is, err := h.propose(ctx, r, target)
	if work.HostKindOf(err) == work.HostNoChanges {
		out.Reason = "there is no pull request, since nothing in it is new to " + target
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if err := shown(work.IssuePull{Number: is.Number, URL: is.URL, Shown: r.commit}); err != nil {
		return out, err
	}
	look, seen, err := h.seen(ctx, r, is)
	if err != nil {
		return out, err
	}
	s.lookedAt(r.issue.ID, markOf(look, false))
	out.Reason = fmt.Sprintf("pull request %d waits for you: %s", is.Number, is.URL)
	switch _, hold, reason := factory.NextOfPull(seen); hold {
	case factory.HoldPullClosed, factory.HoldPullBranch, factory.HoldPullPushed:
		out.Hold, out.Reason = hold, reason
	}
	return out, nil
}

// unhosted is what the card says where the code host cannot be spoken with at
// all; it is tried again.
func (s *shop) unhosted(i work.Issue, err error) factory.Landed {
	out, ok := s.hostWaits(i, err)
	if !ok {
		out = factory.Landed{Hold: factory.HoldHost, Reason: err.Error(), Waits: true}
	}
	if out.Until.IsZero() {
		out.Until = s.comeBack(i.ID, err)
	}
	return out
}

// orWaits lets the card say what a host did not do.
func (s *shop) orWaits(i work.Issue, out factory.Landed, err error) (factory.Landed, error) {
	if err == nil {
		s.pulls.Lock()
		delete(s.pulls.tries, i.ID)
		s.pulls.Unlock()
		return out, nil
	}
	if waits, ok := s.hostWaits(i, err); ok && !errors.Is(err, context.Canceled) {
		return waits, nil
	}
	return out, err
}

// sentBack says that people ask for changes of a result that was decided to be
// done, and that waits on the host.
func (s *shop) sentBack(ctx context.Context, p *project, i work.Issue, state *orchestrator.State) (bool, error) {
	if i.Pull == nil || !state.Outcome.Final() {
		return false, nil
	}
	h, err := s.resultHost(p)
	if h == nil || err != nil {
		return false, err
	}
	look, err := h.look(ctx, i.Pull.Number)
	if err != nil || look.State != work.PullOpen {
		return false, err
	}
	return against(look, look.Head, state.Final.Heard) != "", nil
}

// against is who asks for changes that nobody has worked on yet, "" = nobody.
func against(look work.PullLook, head string, heard []string) (who string) {
	for _, v := range host.Stand(look.Reviews, head).Counting {
		if v.Verdict != work.PullApproved && !slices.Contains(heard, "r"+v.ID) {
			who = v.By
		}
	}
	return who
}

// goesOn is where a run begins that works on what people said of an earlier
// result: at the branch as they see it.
func (s *shop) goesOn(ctx context.Context, p *project, i work.Issue) (commit, said string, heard []string, err error) {
	h, err := s.resultHost(p)
	if err != nil {
		return "", "", nil, err
	}
	var look work.PullLook
	if h != nil {
		look, err = h.look(ctx, i.Pull.Number)
	}
	if err == nil && look.State != work.PullOpen {
		err = &work.HostTrouble{Kind: work.HostPullClosed, Do: fmt.Sprintf("go on from pull request %d", i.Pull.Number), What: "it is not open any more", Fix: fmt.Sprintf("forge issue retry %d begins anew", i.ID)}
	}
	if err == nil {
		commit, err = h.branches.Fetch(ctx, look.Branch, "refs/forge/host/result")
	}
	if err == nil && commit == "" {
		err = &work.HostTrouble{Kind: work.HostBranchGone, Do: "fetch " + look.Branch, What: "the host has no such branch", Fix: "restore it there"}
	}
	if was, _, loadErr := p.load(ctx, i.Run); loadErr == nil {
		heard = was.Final.Heard
	}
	told := unheard(look, heard)
	return commit, told.Said, slices.Concat(heard, told.Heard), err
}
