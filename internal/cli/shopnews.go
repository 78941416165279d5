package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/internal/host"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// ofResult is an open question about the result of an issue, when its pull
// request shows what is asked about.
func (w *hostWatch) ofResult(ctx context.Context, s *orchestrator.State, cp work.Checkpoint) ([]waiting, error) {
	brief := s.Spec.Issue
	if brief == nil || cp.Kind == orchestrator.PointBaseline {
		return nil, nil
	}
	i, err := w.p.Journal.Issue(ctx, brief.Project, brief.ID)
	if err != nil || !pullrequest.Shows(i, s) {
		return nil, err
	}
	pull := orchestrator.Pull{Branch: s.Spec.Branch, Number: i.Pull.Number, URL: i.Pull.URL, Checkpoint: cp.ID, Heard: s.Final.Heard}
	return []waiting{{cp: cp, pull: pull, issue: &i}}, nil
}

// overResults are the results that are decided to be done and wait on the host;
// asked are the runs that ask something.
func (w *hostWatch) overResults(ctx context.Context, asked map[string]bool) ([]waiting, error) {
	var out []waiting
	for _, s := range w.shops {
		for after := ""; ; {
			page, err := s.Journal.Issues(ctx, work.IssueFilter{Project: s.Project, Column: work.ColumnInReview}, journal.MaxIssuePage, after)
			if err != nil {
				return nil, err
			}
			for _, i := range page {
				after = i.Rank
				if i.Pull == nil || i.Pull.Host != w.at.String() || asked[i.Run] || i.State != "" && i.State != work.IssueWaits {
					continue
				}
				id := fmt.Sprintf("issue %d of %s", i.ID, i.Project)
				out = append(out, waiting{cp: work.Checkpoint{ID: id, Run: i.Run}, pull: orchestrator.Pull{Branch: i.Branch, Number: i.Pull.Number, URL: i.Pull.URL}, issue: &i, over: true})
			}
			if len(page) < journal.MaxIssuePage {
				break
			}
		}
	}
	return out, nil
}

// passOn lets an answer carry what people said on the pull request; what does
// not fit is passed on with the next one.
func passOn(a *work.Answer, q waiting, look work.PullLook) {
	const ofForge = 500 // bytes, for the words around it
	said := pullrequest.UnheardIn(look, q.pull.Heard, min(pullrequest.MostOfRound, work.MaxFeedback-len(q.cp.Feedback(""))-ofForge))
	a.Heard = said.Reviews
	if a.Status == work.CheckpointChangesRequested {
		a.Heard, a.Threads = said.Heard, said.Threads
		a.Comment = strings.TrimSpace(a.Comment + "\n\n" + said.Said)
	}
}

// markOf is how a pull request stands, as far as it matters to a result that
// waits.
func markOf(look work.PullLook, over bool) string {
	mark := fmt.Sprint(look.State, look.Head, look.BranchGone)
	if !over {
		return mark
	}
	stand := host.Stand(look.Reviews, look.Head)
	for _, r := range stand.Counting {
		mark += " " + r.ID
	}
	return mark + fmt.Sprint(look.Base, look.BaseHead, look.Mergeable, look.Checks, look.Why, stand.Verdict)
}

// standsOpen says that a pull request is to be looked at without news: what the
// host computes, checks and other people's merges into the target end so.
func standsOpen(q waiting, look work.PullLook) bool {
	held := func(why string) bool { return slices.Contains(q.issue.Hold, why) }
	return look.State == work.PullOpen && (look.Mergeable != work.Mergeable || held(holdRed) || held(holdConflict))
}

// tellShops has an issue looked at again whose pull request stands differently.
func (w *hostWatch) tellShops(q waiting, look work.PullLook) {
	for _, s := range w.shops {
		if s.Project == q.issue.Project {
			s.standsNow(q, look)
		}
	}
}

func (s *shop) standsNow(q waiting, look work.PullLook) {
	said := look.Head != q.issue.Pull.Shown || host.Stand(look.Reviews, look.Head).Verdict == work.PullChangesRequested
	if q.over && look.State == work.PullOpen && look.Mergeable == work.MergeComputing && !said {
		return // what people did counts, whatever the host computes
	}
	s.pulls.Lock()
	defer s.pulls.Unlock()
	id, mark := q.issue.ID, markOf(look, q.over)
	was, known := s.pulls.marks[id]
	s.note(id, mark)
	// What is seen first may be as the card says.
	news := q.over || look.State != work.PullOpen || look.BranchGone || look.Head != q.issue.Pull.Shown
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
func (s *shop) stir(issue int64) {
	if s.pulls.news == nil {
		s.pulls.news = map[int64]bool{}
	}
	s.pulls.news[issue] = true
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// note keeps how a pull request stood when somebody acted upon it; the caller
// holds the lock.
func (s *shop) note(issue int64, mark string) {
	if s.pulls.marks == nil {
		s.pulls.marks = map[int64]string{}
	}
	s.pulls.marks[issue] = mark
}

// lookedAt is note for who does not hold the lock.
func (s *shop) lookedAt(issue int64, mark string) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	s.note(issue, mark)
}

// hears forgets that there are news of an issue's pull request: they are acted
// upon now.
func (s *shop) hears(issue int64) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	delete(s.pulls.news, issue)
}

// goAgain has an issue worked on again right away.
func (s *shop) goAgain(issue int64) {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	s.stir(issue)
}

// overhearing lets a request for changes of a result, by whatever door, take
// along what people said and pushed on its pull request.
type overhearing struct {
	orchestrator.Journal
	s     *shop
	p     *project.Checkout
	state *orchestrator.State
}

// Inbox is called by the goroutine that the state belongs to.
func (o *overhearing) Inbox(ctx context.Context) ([]orchestrator.Inbox, error) {
	rows, err := o.Journal.Inbox(ctx)
	for n := range rows {
		a := &rows[n].Answer
		cp := o.state.Open[a.Checkpoint]
		if cp == nil || cp.Phase != "" || a.Status != work.CheckpointChangesRequested {
			continue
		}
		if err := o.takeAlong(ctx, a, *cp); err != nil {
			o.s.Log.Warn("what people said on the pull request is not told this time", "checkpoint", cp.ID, "err", err)
		}
	}
	return rows, err
}

func (o *overhearing) takeAlong(ctx context.Context, a *work.Answer, cp work.Checkpoint) error {
	i, err := o.s.Journal.Issue(ctx, o.s.Project, o.state.Spec.Issue.ID)
	if err != nil || i.Pull == nil || i.Run != o.state.Run {
		return err
	}
	h, err := o.s.resultHost(o.p)
	if err != nil || h == nil || o.s.elsewhere(i) {
		return err
	}
	look, err := h.Look(ctx, i.Pull.Number)
	if err != nil {
		return err
	}
	if a.Door != pullrequest.Channel { // its answers carry it already
		passOn(a, waiting{cp: cp, pull: orchestrator.Pull{Heard: o.state.Final.Heard}}, look)
	}
	if look.Head == o.state.Head {
		return nil
	}
	return h.withPushed(ctx, a, resultIn(o.state, i))
}
