package tracker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// What an issue waits for on its tracker, it waits for on the board: an open
// blocker that stands there is a need, and any other open one holds the card.
// Which needs came from the tracker is remembered, so that it takes back no need
// of a person's.

// blocked are an issue's needs on the board by the tracker's word; hold is ""
// unless it waits for something that is not there.
func (s *Sync) blocked(ctx context.Context, r Reading) (needs []int64, hold Bound, err error) {
	var elsewhere []string
	for _, b := range r.Blockers {
		if !b.Open || b.Repo == "" && b.Number == r.Number {
			continue
		}
		name := fmt.Sprintf("%s#%d", text.OneLine(b.Repo, 100), b.Number)
		if b.Repo == "" {
			name = s.source(b.Number)
			row, ok, err := s.Store.TrackerIssue(ctx, s.Host.Name(), b.Number)
			if err != nil {
				return nil, hold, err
			}
			if ok && row.Issue != 0 && row.Project == s.Board.Project {
				if !slices.Contains(needs, row.Issue) {
					needs = append(needs, row.Issue)
				}
				continue
			}
		}
		elsewhere = append(elsewhere, name)
	}
	slices.Sort(needs)
	if len(elsewhere) > 0 {
		hold.Hold, hold.Why = HoldBlocked, "it waits on the tracker for "+strings.Join(elsewhere[:min(len(elsewhere), mostBlockers)], ", ")
		if more := len(elsewhere) - mostBlockers; more > 0 {
			hold.Why += fmt.Sprintf(" and %d more", more)
		}
	}
	return needs, hold, nil
}

// mostBlockers is how many blockers a card names.
const mostBlockers = 5

// withNeeds is a waiting issue with its needs by the tracker's word: own are those
// that the tracker gave it before. What remains its own is returned beside it.
func withNeeds(i work.Issue, own, needs []int64) (work.Issue, []int64) {
	var kept, given []int64
	for _, n := range i.Needs {
		if !slices.Contains(own, n) {
			kept = append(kept, n)
		}
	}
	for _, n := range needs {
		if !slices.Contains(kept, n) {
			given = append(given, n)
		}
	}
	i.Needs = slices.Concat([]int64{}, kept, given)
	slices.Sort(i.Needs)
	return i, given
}

// needsMark stands between what was judged and the needs that the tracker gave.
const needsMark = "+"

// judgedWith is what is remembered of a judgement.
func judgedWith(judged string, needs []int64) string {
	for n, id := range needs {
		judged += map[bool]string{true: needsMark, false: ","}[n == 0] + strconv.FormatInt(id, 10)
	}
	return judged
}

// judgedOf takes it apart.
func judgedOf(stored string) (judged string, needs []int64) {
	judged, list, found := strings.Cut(stored, needsMark)
	if !found {
		return judged, nil
	}
	for one := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(one, 10, 64); err == nil && id > 0 {
			needs = append(needs, id)
		}
	}
	return judged, needs
}

// unblocks says that a waiting issue is worth a look though nothing was told of
// it: it is held by a blocker, was locked, which hosts take back without a word, or
// needs an issue which nobody works on, since it was closed on the tracker or waits
// there itself.
func (s *Sync) unblocks(ctx context.Context, i work.Issue) (bool, error) {
	if hold, _ := saidOf(i); hold == HoldBlocked || hold == HoldLocked {
		return true, nil
	}
	for _, id := range i.Needs {
		of, err := s.Store.Issue(ctx, i.Project, id)
		if err != nil {
			return false, err
		}
		said, _ := saidOf(of)
		stopped := of.State == work.IssueCancelled || of.State == work.IssueFailed
		if of.Column != work.ColumnDone && (stopped || said != "" && said != HoldUntold) {
			return true, nil
		}
	}
	return false, nil
}

// plan is the change of an issue after a reading. Needs that the board cannot
// have, such as a circle, hold the card instead.
func (s *Sync) plan(ctx context.Context, was, now work.Issue, bound Bound) (work.BoardChange, error) {
	change, err := s.Board.PlanEdit(ctx, was, now, s.by(bound))
	refused, ok := factory.Refused(err)
	if !ok || slices.Equal(was.Needs, now.Needs) {
		return change, err
	}
	now.Needs = was.Needs
	now = Bound{Hold: HoldBlocked, Why: "what it waits for on the tracker cannot stand on the board: " + refused.What}.Held(now)
	return s.Board.PlanEdit(ctx, was, now, s.by(bound))
}
