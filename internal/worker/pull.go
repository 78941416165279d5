package worker

import (
	"context"
	"slices"
	"time"

	"forge/factory"
	"forge/internal/host"
	"forge/internal/pullrequest"
	"forge/internal/text"
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
	if is.holds == factory.HeadConflicts {
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
	if err != nil || out.holds == factory.HeadGone || out.holds == factory.HeadOther || out.holds == factory.HeadConflicts {
		return out, err
	}
	h.Picture = pullrequest.PicturesOf(h.p, r.Spec.Settings.Worktree)
	err = h.OpenWith(ctx, out.Number, lastPages(r.State), func(pictures text.Markdown) (int64, error) {
		body, err := h.resultPaper(ctx, r, pictures)
		if err != nil {
			return 0, err
		}
		err = h.Again(ctx, func() (err error) {
			out.PullRequest, err = h.Host.OpenPull(ctx, work.PullProposal{Marker: r.Run + " " + r.Spec.Branch, Branch: r.Spec.Branch, Base: base, Title: Title(r.issue), Body: body})
			return err
		})
		return out.Number, err
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
	out.Checks = look.CI.Seen(is.at, r.Final.Heard, h.Fixes, time.Now())
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

// against is who asks for changes that nobody has worked on yet, "" = nobody.
func against(look work.PullLook, head string, heard []string) (who string) {
	for _, v := range host.Stand(look.Reviews, head).Counting {
		if v.Verdict != work.PullApproved && !slices.Contains(heard, "r"+v.ID) {
			who = v.By
		}
	}
	return who
}
