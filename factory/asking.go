package factory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"forge/internal/work"
)

// The loop asks where an issue comes from beside its other work: a place that
// does not answer holds its own issues, and nobody else's.

const (
	// askLimit bounds one question.
	askLimit = 30 * time.Second
	// askReserve is how long an issue that is asked about keeps its turn. After
	// that, others are begun in its place, and nothing more is asked there until
	// there is an answer.
	askReserve = 3 * time.Second
	// askAtOnce is how many questions are under way at one place: that they wait for each
	// other is no sign that it does not answer.
	askAtOnce = 8
	// askAgain is after how long a result is tried again to land where nobody
	// said when it is worth it, and an issue is asked about again at the latest.
	askAgain = time.Minute
)

// question is one issue that is asked about.
type question struct {
	from  string // where
	since time.Time
}

// heard is an answer.
type heard struct {
	issue int64
	asked Asked
}

// reserved is how many issues keep their turn while they are asked about.
func (m *loopRun) reserved(now time.Time) (n int) {
	for _, q := range m.asking {
		if now.Sub(q.since) < askReserve {
			n++
		}
	}
	return n
}

// taken are the issues, but for one, that are worked on or keep their turn.
func (m *loopRun) taken(now time.Time, but int64) []int64 {
	ids := slices.Collect(maps.Keys(m.jobs))
	for id, q := range m.asking {
		if id != but && now.Sub(q.since) < askReserve {
			ids = append(ids, id)
		}
	}
	return ids
}

// hear takes an answer; the look that follows goes by it. Who said when it is worth
// asking again is not asked before, or for askAgain: the place may be back sooner.
func (m *loopRun) hear(h heard) {
	delete(m.asking, h.issue)
	now := m.Now()
	maps.DeleteFunc(m.silent, func(_ int64, until time.Time) bool { return !until.After(now) })
	if until := h.asked.Until; until.After(now) {
		if soon := now.Add(askAgain); soon.Before(until) {
			until = soon
		}
		m.silent[h.issue] = until
	}
	if m.answers == nil {
		m.answers = map[int64]Asked{}
	}
	m.answers[h.issue] = h.asked
}

// origin says whether an issue that may be claimed otherwise is wanted where it
// comes from. What was answered before this look counts; else it is asked, and
// the issue is not claimed yet.
func (m *loopRun) origin(ctx context.Context, s *view, i work.Issue, news News) (NoClaim, error) {
	from, err := m.Origins.From(ctx, i)
	if err != nil || from == "" {
		return "", err
	}
	asked, answered := s.asked[i.ID]
	if !answered && m.silent[i.ID].After(s.project.Now) {
		return NoClaimOrigin, nil // its card says so
	}
	if !answered {
		m.ask(ctx, s, i, from)
		return NoClaimAsking, nil
	}
	switch NextOfOrigin(asked.Says, i, claimMoment(news, m.Only == i.ID)) {
	case OriginGo:
		return "", nil // a claim takes back what hold said
	case OriginCheck:
		s.finish[i.ID] = true
		return "", nil
	case OriginBack:
		return NoClaimUnwanted, m.restand(ctx, i, asked.Why, func(was work.Issue) work.Issue { return PutBack(was, asked.Why) })
	case OriginSay:
		return NoClaimUnwanted, m.restand(ctx, i, asked.Why, func(was work.Issue) work.Issue {
			was.Reason = Line(asked.Why)
			return was
		})
	}
	return NoClaimOrigin, m.hold(ctx, i, asked.Why)
}

// claimMoment is why an issue would be claimed; looked says that a person wants
// it looked at now.
func claimMoment(news News, looked bool) Moment {
	changes := func(a work.Answer) bool { return a.Status == work.CheckpointChangesRequested }
	switch {
	case slices.ContainsFunc(news.Answers, changes):
		return AtRework
	case len(news.Answers) > 0 || news.Pull || looked:
		return AtDecision
	}
	return AtClaim
}

// ask asks about an issue in a goroutine, which Run waits for.
func (m *loopRun) ask(ctx context.Context, s *view, i work.Issue, from string) {
	m.again = true
	there := 0
	for id, q := range m.asking {
		if id == i.ID || q.from == from && s.project.Now.Sub(q.since) >= askReserve {
			return
		}
		if q.from == from {
			there++
		}
	}
	if there >= askAtOnce {
		return
	}
	m.asking[i.ID] = question{from, s.project.Now}
	if i.Column == work.ColumnReady {
		s.project.Running++
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		m.heard <- heard{i.ID, m.Origins.Ask(ctx, i)}
	}()
}

// hold lets the card of an issue say that nobody knows whether it is wanted. It
// stands where it stands, and is asked about at the next look.
func (m *loopRun) hold(ctx context.Context, i work.Issue, why string) error {
	return m.restand(ctx, i, why, func(was work.Issue) work.Issue {
		if was.State == "" {
			was.Reason = Line(HoldOrigin + ": " + orElse(why, "nobody can say whether it is still wanted where it comes from"))
		}
		return was
	})
}

// restand changes how an issue stands that is not claimed, unless it was changed
// meanwhile: then the next look decides anew.
func (m *loopRun) restand(ctx context.Context, seen work.Issue, why string, become func(work.Issue) work.Issue) error {
	was, err := m.Board.Store.Issue(ctx, m.Board.Project, seen.ID)
	if err != nil || was.Version != seen.Version {
		return err
	}
	now := become(clone(was))
	if len(Changes(was, now)) == 0 {
		return nil
	}
	var place *Place
	action := work.IssueEdited
	if now.Column != was.Column {
		place, action = &Place{At: Bottom}, work.IssueMoved
	}
	change, err := m.Board.plan(ctx, was, now, place, action, machine(Line(why)))
	if err == nil {
		_, err = m.Board.Store.ChangeBoard(ctx, change)
	}
	if errors.Is(err, work.ErrStale) {
		return nil
	}
	if err == nil {
		m.Say(seen.ID, standing(now)+noteWords(now.Reason))
	}
	return err
}

// beforeLanding asks once more before a result goes anywhere. held is what
// becomes of it while nobody can say; unwanted says why it does not land.
func (m *loopRun) beforeLanding(ctx context.Context, i work.Issue) (unwanted string, held *Landed, err error) {
	from, err := m.Origins.From(ctx, i)
	if err != nil || from == "" {
		return "", nil, err
	}
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	asked := m.Origins.Ask(limited, i)
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	switch NextOfOrigin(asked.Says, i, AtLanding) {
	case OriginGo:
		return "", nil, nil
	case OriginCheck:
		return orElse(asked.Why, fmt.Sprintf("it is not wanted any more, says %s", from)), nil, nil
	}
	out := Landed{Hold: HoldOrigin, Reason: asked.Why, Until: asked.Until}
	if soon := m.Now().Add(laterHeld); out.Until.Before(soon) {
		out.Until = m.Now().Add(askAgain)
	}
	return "", &out, nil
}
