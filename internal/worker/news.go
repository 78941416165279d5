package worker

import (
	"context"

	"forge/factory/landing"
	"forge/internal/engine"
	"forge/internal/host"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// StandsNow has an issue looked at again whose pull request stands differently.
// Whether that is news is decided by how it stood when it was acted upon.
func (s *Worker) StandsNow(q hostwatch.Question, look work.PullLook) {
	said := look.Head != q.Issue.Pull.Shown || host.Stand(look.Reviews, look.Head).Verdict == work.PullChangesRequested
	if q.Over && look.State == work.PullOpen && look.Mergeable == work.MergeComputing && !said {
		return // what people did counts, whatever the host computes
	}
	seen := landing.Seen{Mark: markOf(look, q.Over), Show: !q.Over, At: s.Now()}
	seen.Odd = q.Over || look.State != work.PullOpen || look.BranchGone || look.Head != q.Issue.Pull.Shown

	s.seen.Lock()
	was, known := s.seen.of[q.Issue.ID]
	if s.seen.of == nil {
		s.seen.of = map[int64]landing.Seen{}
	}
	s.seen.of[q.Issue.ID] = seen
	s.seen.Unlock()

	if known && was.Mark == seen.Mark && was.Show == seen.Show || !known && !seen.Odd {
		return
	}
	select {
	case s.Poke <- struct{}{}:
	default:
	}
}

// pullNews says whether the pull request of an issue's result stands otherwise than
// when it was acted upon.
func (s *Worker) pullNews(ctx context.Context, row journal.RunRow) (bool, error) {
	s.seen.Lock()
	defer s.seen.Unlock()
	seen, known := s.seen.of[row.Issue]
	if !known {
		return false, nil
	}
	at := s.seen.landings[row.ID]
	if at.s == nil || at.events != row.Events {
		var err error
		if at.s, err = s.landingOf(ctx, row.ID); err != nil {
			return false, err
		}
		if s.seen.landings == nil {
			s.seen.landings = map[string]landingAt{}
		}
		at.events = row.Events
		s.seen.landings[row.ID] = at
	}
	return at.s.News(seen), nil
}

// landingAt is a landing as it was when its run had so many events.
type landingAt struct {
	events int64
	s      *landing.State
}

// overhearing lets a request for changes of a result, by whatever door, take
// along what people said and pushed on its pull request.
type overhearing struct {
	engine.Journal
	worker *Worker
	p      *project.Checkout
	state  *orchestrator.State
}

// Inbox is called by the goroutine that the state belongs to.
func (o *overhearing) Inbox(ctx context.Context) ([]engine.Inbox, error) {
	rows, err := o.Journal.Inbox(ctx)
	for n := range rows {
		a := &rows[n].Answer
		cp := o.state.Open[a.Checkpoint]
		if cp == nil || cp.Phase != "" || a.Status != work.CheckpointChangesRequested {
			continue
		}
		if err := o.takeAlong(ctx, a, *cp); err != nil {
			o.worker.Log.Warn("what people said on the pull request is not told this time", "checkpoint", cp.ID, "err", err)
		}
	}
	return rows, err
}

func (o *overhearing) takeAlong(ctx context.Context, a *work.Answer, cp work.Checkpoint) error {
	i, err := o.worker.Journal.Issue(ctx, o.worker.Project, o.state.Spec.Issue.ID)
	if err != nil || i.Pull == nil || i.Run != o.state.Run {
		return err
	}
	h, err := o.worker.resultHost(o.p)
	if err != nil || h == nil || o.worker.elsewhere(i) {
		return err
	}
	look, err := h.Look(ctx, i.Pull.Number)
	if err != nil {
		return err
	}
	if a.Door != pullrequest.Channel { // its answers carry it already
		pullrequest.PassOn(a, cp, o.state.Final.Heard, look)
	}
	if look.Head == o.state.Head {
		return nil
	}
	return h.withPushed(ctx, a, resultIn(o.state, i))
}
