package worker

import (
	"context"

	"forge/internal/engine"
	"forge/internal/host"
	"forge/internal/hostwatch"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// StandsNow has an issue looked at again whose pull request stands differently.
func (s *Worker) StandsNow(q hostwatch.Question, look work.PullLook) {
	said := look.Head != q.Issue.Pull.Shown || host.Stand(look.Reviews, look.Head).Verdict == work.PullChangesRequested
	if q.Over && look.State == work.PullOpen && look.Mergeable == work.MergeComputing && !said {
		return // what people did counts, whatever the host computes
	}
	s.pulls.Lock()
	defer s.pulls.Unlock()
	id, mark := q.Issue.ID, pullrequest.Standing(look, q.Over)
	was, known := s.pulls.marks[id]
	s.note(id, mark)
	// What is seen first may be as the card says.
	news := q.Over || look.State != work.PullOpen || look.BranchGone || look.Head != q.Issue.Pull.Shown
	if known {
		news = mark != was
	}
	if !news {
		return
	}
	s.stir(id)
}

// stir lets the loop know of news of an issue's pull request; the caller holds
// the lock.
func (s *Worker) stir(issue int64) {
	if s.pulls.news == nil {
		s.pulls.news = map[int64]bool{}
	}
	s.pulls.news[issue] = true
	select {
	case s.Poke <- struct{}{}:
	default:
	}
}

// note keeps how a pull request stood when somebody acted upon it; the caller
// holds the lock.
func (s *Worker) note(issue int64, mark string) {
	if s.pulls.marks == nil {
		s.pulls.marks = map[int64]string{}
	}
	s.pulls.marks[issue] = mark
}

// lookedAt is note for who does not hold the lock.
func (s *Worker) lookedAt(issue int64, mark string) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	s.note(issue, mark)
}

// hears forgets that there are news of an issue's pull request: they are acted
// upon now.
func (s *Worker) hears(issue int64) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	delete(s.pulls.news, issue)
}

// goAgain has an issue worked on again right away.
func (s *Worker) goAgain(issue int64) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	s.stir(issue)
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
