package tracker

import (
	"context"
	"fmt"
	"slices"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// bring puts an issue on the board that was not there.
func (s *Sync) bring(ctx context.Context, r Reading, row work.TrackerIssue, bound Bound, needs []int64) error {
	judged := judgement(r, bound, true, needs)
	i, bound := s.issue(r, bound)
	i.Labels = bound.Labels
	i, given := withNeeds(i, nil, needs)
	// What was called before it was labelled is part of what was labelled.
	row.Hash, row.Judged = Hash(r), judgedWith(judged, given)
	row.Heard = saidBefore(r, bound)
	if bound.Hold == "" {
		i.Column = s.Rules.Column
	} else {
		i = bound.Held(i)
	}
	change, err := s.Board.PlanAdd(ctx, i, factory.Place{At: factory.Bottom}, s.by(bound))
	if err != nil {
		return err
	}
	i, err = s.Store.ImportIssue(ctx, row, change)
	if err == nil {
		s.say(i.ID, fmt.Sprintf("imported %s into %s", i.Source, standing(i)))
	}
	return err
}

// again looks at an issue that is on the board, and may not be wanted any more
// or have another text by now. A run goes on with the text that it began with.
func (s *Sync) again(ctx context.Context, r Reading, row work.TrackerIssue, was work.Issue, bound Bound, ours bool, needs []int64, judged string) error {
	before, own := judgedOf(row.Judged)
	news := judged != before
	if _, unwanted := saidOf(was); !news && ours && !unwanted {
		return nil // whatever a person did since is their decision
	}
	now, hash := s.standing(was, r, row.Hash, &bound, ours)
	given := own
	if ours && waiting(was) { // a cancelled one as well: it may be taken up again
		now, given = withNeeds(now, own, needs)
		now.Labels = withLabels(now.Labels, bound.Mapped, bound.Labels)
	}
	changed := len(factory.Changes(was, now)) != 0
	if !news && !changed {
		return nil
	}
	// Its parts come first: what was judged is remembered with the last of it.
	if err := s.parts(ctx, was, bound, ours); err != nil {
		return err
	}
	row.Judged, row.Hash = judgedWith(judged, given), hash
	if !changed {
		return s.Store.KeepTracker(ctx, row, nil)
	}
	change, err := s.plan(ctx, was, now, bound)
	if err != nil {
		return err
	}
	if err := s.Store.KeepTracker(ctx, row, &change); err != nil {
		return err
	}
	s.say(was.ID, fmt.Sprintf("%s changed on the tracker: %s", was.Source, standing(now)))
	return nil
}

// standing is the board's issue after a reading, and the hash of its text.
func (s *Sync) standing(was work.Issue, r Reading, old string, bound *Bound, ours bool) (work.Issue, string) {
	hash, now := Hash(r), was
	said, unwanted := saidOf(was)
	switch {
	case !ours:
		return notWanted(was, *bound), old
	case was.State == work.IssueCancelled:
		return was, old
	case was.Column == work.ColumnInReview && said != "" && said != HoldUntold && bound.Hold == "":
		return wantedAgain(was, s.Rules.Column), old
	case !waiting(was), bound.Hold == HoldBlocked && was.Column == work.ColumnBacklog && was.State == "":
		return was, old
	case bound.Hold == "":
		fresh, b := s.issue(r, *bound)
		if *bound = b; b.Hold != "" {
			break
		}
		if hash != old {
			now.Title, now.Description = fresh.Title, fresh.Description
		}
		if said != "" {
			now = wantedAgain(now, s.Rules.Column)
		}
		return now, hash
	case hash == old && !unwanted && (bound.Hold == HoldChanged || bound.Hold == HoldUnknown):
		if said == HoldBlocked {
			return wantedAgain(was, s.Rules.Column), old // a person had let it pass
		}
		return was, old // what was labelled is what stands there
	}
	// The board keeps the text that was labelled.
	return bound.Held(was), old
}

// waiting says that nobody has begun an issue.
func waiting(i work.Issue) bool {
	return i.Column == work.ColumnBacklog || i.Column == work.ColumnReady
}

// judgement is the same while a reading says the same.
func judgement(r Reading, b Bound, ours bool, needs []int64) string {
	said := fmt.Sprintf("%s %v %s %d", Hash(r), ours, b.Hold, b.At.Unix())
	if len(needs) > 0 || b.Hold == HoldBlocked {
		said += fmt.Sprintf(" %v %s", needs, b.Why)
	}
	if len(b.Labels) > 0 {
		said += fmt.Sprintf(" %q", b.Labels)
	}
	if !b.Last.IsZero() {
		said += fmt.Sprintf(" %d", b.Last.Unix())
	}
	return digest(said)
}

// issue is what a reading becomes; what is too long for a board waits.
func (s *Sync) issue(r Reading, bound Bound) (work.Issue, Bound) {
	r.Comments = slices.DeleteFunc(slices.Clone(r.Comments), func(c Comment) bool { return onlyCalls(c.Body, s.Rules.Called) })
	i := Issue(r, bound, s.source(r.Number))
	if len(i.Description) > work.MaxIssueDescription {
		i.Description = text.Clip(i.Description, work.MaxIssueDescription)
		if bound.Hold == "" {
			bound.Hold, bound.Why = HoldLong, fmt.Sprintf("it has more than %d bytes", work.MaxIssueDescription)
		}
	}
	return i, bound
}

// source names an issue of the tracker for people.
func (s *Sync) source(number int64) string {
	if s.Rules.Spell != nil {
		return s.Rules.Name + "#" + s.Rules.Spell(number)
	}
	return fmt.Sprintf("%s#%d", s.Rules.Name, number)
}

// by is who changes the board: the tracker, for who labelled the issue.
func (s *Sync) by(b Bound) factory.By {
	name := "tracker " + s.Rules.Name
	if b.By != "" && b.Hold == "" {
		name = text.Clip(work.OneLine(b.By), 60) + " (" + name + ")"
	}
	return factory.By{Name: name, Door: "tracker"}
}

func standing(i work.Issue) string {
	if i.Reason != "" {
		return fmt.Sprintf("%s, %s: %s", i.Column, i.State, i.Reason)
	}
	return string(i.Column)
}
