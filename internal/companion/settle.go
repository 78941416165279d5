package companion

import (
	"context"
	"errors"
	"fmt"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Confirm carries a proposal out, by the way in which the pages do it. That it is
// confirmed is written down before: of two who confirm, one does; and one of which
// nobody knows what came is not done again.
func (r *Room) Confirm(ctx context.Context, run string, n int64, by web.Asker) (work.TalkProposal, error) {
	t := &turn{room: r, asker: by, run: run}
	if err := t.look(ctx); err != nil {
		return work.TalkProposal{}, err
	}
	var p work.Proposal
	var w way
	_, err := r.addIf(ctx, run, work.TalkEntry{Kind: work.TalkSettling, Of: n, By: by.Name, Door: by.Door, State: work.ProposalSettling}, func(talk work.Talk) error {
		one, err := open(talk, n)
		if err != nil {
			return err
		}
		p = one.Proposal
		var known bool
		if w, known = wayOf(p.Kind); !known || p.Run != run {
			return refusal.New("ask again", "this Forge knows no proposal of that kind")
		}
		return w.fits(t.stage, run, by.Role, r.Project)
	})
	if err != nil {
		return work.TalkProposal{}, err
	}
	// Whoever closes the page does not stop in its middle what they confirmed.
	ctx = context.WithoutCancel(ctx)
	result, failed := w.do(ctx, r, p, by)
	end := work.TalkEntry{Kind: work.TalkSettled, Of: n, By: by.Name, Door: by.Door, State: work.ProposalDone, Text: result}
	if failed != nil {
		why, told := refused(failed)
		if !told {
			// It may be done or not: that stays so in the conversation.
			return work.TalkProposal{}, fmt.Errorf("carry proposal %d out: %w", n, failed)
		}
		end.State, end.Text = work.ProposalRefused, why
	}
	if _, err := r.add(ctx, run, end); err != nil {
		return work.TalkProposal{}, err
	}
	return r.settled(ctx, run, n)
}

// Dismiss ends a proposal. It takes the rights to confirm it, or to have asked for it.
func (r *Room) Dismiss(ctx context.Context, run string, n int64, by web.Asker) (work.TalkProposal, error) {
	_, err := r.addIf(ctx, run, work.TalkEntry{Kind: work.TalkSettled, Of: n, By: by.Name, Door: by.Door, State: work.ProposalDismissed}, func(talk work.Talk) error {
		one, err := open(talk, n)
		if err != nil {
			return err
		}
		least, _ := Least(one.Kind)
		if by.Role >= least && by.Role > web.RoleNone {
			return nil
		}
		for _, t := range talk.Turns {
			for _, p := range t.Proposals {
				if p.N == n && t.By == by.Name {
					return nil
				}
			}
		}
		return refusal.New("leave it", "whoever asked, or may confirm it, dismisses it")
	})
	if err != nil {
		return work.TalkProposal{}, err
	}
	return r.settled(ctx, run, n)
}

// open is a proposal that nobody has settled.
func open(talk work.Talk, n int64) (*work.TalkProposal, error) {
	p := talk.Proposal(n)
	switch {
	case p == nil:
		return nil, refusal.New("load the conversation again", "there is no proposal %d here", n)
	case p.State == work.ProposalSettling:
		return nil, refusal.New("look whether it is so before you ask for it again", "proposal %d was confirmed by %s, and nobody wrote down what came of it", n, p.By)
	case p.State != work.ProposalOpen:
		return nil, refusal.New("ask again", "proposal %d is %s by %s", n, p.State, p.By)
	}
	return p, nil
}

// settled is a proposal as it is now.
func (r *Room) settled(ctx context.Context, run string, n int64) (work.TalkProposal, error) {
	talk, err := r.Talk(ctx, run)
	if err != nil {
		return work.TalkProposal{}, err
	}
	if p := talk.Proposal(n); p != nil {
		return *p, nil
	}
	return work.TalkProposal{}, fmt.Errorf("read proposal %d again: it is gone", n)
}

// refused says whether an error means that nothing was done, and why.
func refused(err error) (why string, ok bool) {
	var own *refusal.Error
	var rule *factory.Refusal
	var problems *factory.ProblemsError
	if err = plain(err); errors.As(err, &own) || errors.As(err, &rule) || errors.As(err, &problems) {
		return err.Error(), true
	}
	for _, known := range []error{
		work.ErrAlreadyResolved, work.ErrConflict, work.ErrExpired, work.ErrStale, work.ErrUnknown, work.ErrEmptyFeedback, work.ErrTooLong, gates.ErrBadAnswer,
	} {
		if errors.Is(err, known) {
			return err.Error(), true
		}
	}
	return "", false
}
