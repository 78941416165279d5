package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"forge/factory"
	"forge/internal/host"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// proposal is the one pull request of a result, and its branch.
type proposal struct {
	work.PullRequest
	at    string // commit of the branch, "" = it is gone
	holds factory.PullHead
	host  string // where it is
}

// shows is what the card says of it. What people pushed hides a newer result
// that conflicts with it.
func (is proposal) shows(r result) work.IssuePull {
	out := work.IssuePull{Number: is.Number, URL: is.URL, Host: is.host, Shown: r.commit}
	if is.holds == factory.HeadParted {
		out.Shown = r.issue.Pull.Shown
	}
	return out
}

// propose sees to it that there is one pull request of the result for a
// branch, and that it shows the result. What people did there stays. It is
// found again whatever died in between.
func (h *resultHost) propose(ctx context.Context, r result, base string) (proposal, error) {
	out := proposal{host: h.place}
	known := r.issue.Pull
	if known != nil {
		look, err := h.Look(ctx, known.Number)
		if out.PullRequest = look.PullRequest; err != nil || look.State != work.PullOpen {
			return out, err
		}
	}
	err := h.Again(ctx, func() (err error) {
		out.at, out.holds, err = h.bring(ctx, r)
		return err
	})
	if err != nil || out.holds == factory.HeadGone || out.holds == factory.HeadOther || out.holds == factory.HeadParted {
		return out, err
	}
	body, err := h.resultPaper(ctx, r)
	if err != nil {
		return out, err
	}
	err = h.Again(ctx, func() (err error) {
		out.PullRequest, err = h.Host.OpenPull(ctx, work.PullProposal{Marker: r.Run + " " + r.Spec.Branch, Branch: r.Spec.Branch, Base: base, Title: Title(r.issue), Body: body})
		return err
	})
	if err == nil && out.holds == factory.HeadResult {
		h.Note(ctx, out.Number, r.Run, out.at, r.Found())
	}
	return out, err
}

// seen is how a proposal stands on the host.
func (h *resultHost) seen(ctx context.Context, r result, is proposal) (work.PullLook, factory.PullSeen, error) {
	look, err := h.Look(ctx, is.Number)
	if err != nil {
		return look, factory.PullSeen{}, err
	}
	return look, h.seenIn(look, r, is), nil
}

// seenIn is how it stands, as one look tells.
func (h *resultHost) seenIn(look work.PullLook, r result, is proposal) factory.PullSeen {
	stand := host.Stand(look.Reviews, is.at)
	out := factory.PullSeen{Number: look.Number, State: look.State, Head: is.holds, Approved: stand.Verdict == work.PullApproved, Mergeable: look.Mergeable, Why: look.Why}
	out.Against, out.Reviewed = against(look, is.at, r.Final.Heard), r.Specialists()
	return out
}

// answers posts what the agent says to the threads of a result's pull request.
func (h *resultHost) answers(ctx context.Context, state *orchestrator.State, look work.PullLook) error {
	if look.State == work.PullClosed {
		return nil // nobody reads it, until it is reopened
	}
	return h.Reply(ctx, look, state.Replies())
}

// Show proposes a finished result that waits for a person on the code host.
func (s *Worker) Show(ctx context.Context, i work.Issue, shown func(work.IssuePull) error) (factory.Landed, error) {
	p, err := s.Fresh(ctx)
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

func (s *Worker) show(ctx context.Context, h *resultHost, r result, shown func(work.IssuePull) error) (factory.Landed, error) {
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
	if err := shown(is.shows(r)); err != nil {
		return out, err
	}
	look, seen, err := h.seen(ctx, r, is)
	if err != nil {
		return out, err
	}
	if err := h.answers(ctx, r.State, look); err != nil {
		return out, err
	}
	s.lookedAt(r.issue.ID, pullrequest.Standing(look, false))
	out.Reason = fmt.Sprintf("pull request %d waits for you: %s", is.Number, is.URL)
	switch _, hold, reason := factory.NextOfPull(seen); hold {
	case factory.HoldPullClosed, factory.HoldPullBranch, factory.HoldPullPushed:
		out.Hold, out.Reason = hold, reason
	}
	return out, nil
}

// unhosted is what the card says where the code host cannot be spoken with at
// all; it is tried again.
func (s *Worker) unhosted(i work.Issue, err error) factory.Landed {
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
func (s *Worker) orWaits(i work.Issue, out factory.Landed, err error) (factory.Landed, error) {
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

// against is who asks for changes that nobody has worked on yet, "" = nobody.
func against(look work.PullLook, head string, heard []string) (who string) {
	for _, v := range host.Stand(look.Reviews, head).Counting {
		if v.Verdict != work.PullApproved && !slices.Contains(heard, "r"+v.ID) {
			who = v.By
		}
	}
	return who
}
