package changereview

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"charm.land/log/v2"

	"forge/internal/proc"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// maxAsks is how often a gating reviewer is asked that gives no usable answer.
const maxAsks = 3

// reviewed is what came of one specialist: its last report, and what all of
// its asks took.
type reviewed struct {
	work.Specialist
	work.ReviewReport
	asks              int
	usage             []work.Usage
	requests, answers []string // blobs
}

// round asks specialists side by side.
type round struct {
	review   func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error)
	wait     func(ctx context.Context, d time.Duration) error
	log      *log.Logger
	spending *spending
	// set says how long to wait before somebody is asked again.
	set work.ReviewSettings
	// never are files that no answer can be about: to ask again for their
	// sake alone would give the same.
	never    map[string]bool
	parallel int
	req      work.ReviewRequest // but for what differs between specialists
	temp     string
	marks    *marks
}

// marks are those of the agents that were asked. Each has one of its own: who
// is through takes the processes of its mark along.
type marks struct {
	mu   sync.Mutex
	list []string
}

func (m *marks) add() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, runs.NewMark())
	return m.list[len(m.list)-1]
}

func (m *marks) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// all asks every specialist; the reports come in their order. An error means
// that Forge could not do its own part: then nothing is known.
func (q *round) all(ctx context.Context, specialists []work.Specialist) ([]reviewed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]reviewed, len(specialists))
	places := make(chan struct{}, max(q.parallel, 1))
	var group sync.WaitGroup
	for i, s := range specialists {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		group.Go(func() {
			defer func() { <-places }()
			var err error
			if out[i], err = q.one(ctx, s); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// one asks one specialist until its answer is usable or it is not worth asking
// again.
func (q *round) one(ctx context.Context, s work.Specialist) (reviewed, error) {
	r := reviewed{Specialist: s}
	for {
		share, why := q.spending.take()
		if why != "" {
			if r.asks == 0 {
				r.ReviewReport = work.ReviewReport{Specialist: s.Name, Verdict: work.VerdictUnknown, Why: "not asked: " + why}
			}
			q.finished(r)
			return r, nil
		}
		r.asks++
		q.log.Info("review by "+s.Name, "ask", r.asks)
		req := q.req
		req.Specialist, req.Ask, req.Mark, req.CostUSD, req.Tokens = s, r.asks, q.marks.add(), share.usd, share.tokens
		req.Dir = filepath.Join(q.temp, "folder-"+s.Name)
		req.LogPath = filepath.Join(q.temp, fmt.Sprintf("log-%s-%d", s.Name, r.asks))
		rep, err := q.review(ctx, req)
		q.spending.settle(share, rep.Usage.Clean())
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err != nil {
			return r, fmt.Errorf("review by %s: %w", s.Name, err)
		}
		if !rep.Verdict.Known() {
			rep.Verdict, rep.Why = work.VerdictUnknown, "the reviewer's verdict is unknown"
		}
		r.ReviewReport = rep
		r.usage = append(r.usage, rep.Usage.Clean())
		for _, b := range []struct {
			to   *[]string
			name string
		}{{&r.requests, rep.Request}, {&r.answers, rep.Answer}} {
			if b.name != "" {
				*b.to = append(*b.to, b.name)
			}
		}
		if !s.Gating || rep.Verdict != work.VerdictUnknown || r.asks == maxAsks || q.final(rep) {
			q.finished(r)
			return r, nil
		}
		pause := q.set.AskWait(r.asks)
		q.log.Warn("review by "+s.Name+": no usable answer, it is asked again", "in", pause, "why", text.OneLine(rep.Why, 160))
		if err := q.wait(ctx, pause); err != nil {
			return r, context.Cause(ctx)
		}
	}
}

// final says that the report is unknown for files alone that never will be
// reviewed.
func (q *round) final(rep work.ReviewReport) bool {
	return len(rep.Unreviewed) > 0 && !slices.ContainsFunc(rep.Unreviewed, func(f string) bool { return !q.never[f] })
}

func (q *round) finished(r reviewed) {
	level, pairs := log.InfoLevel, []any{"findings", len(r.Findings)}
	if r.Verdict != work.VerdictPass {
		level = log.WarnLevel
	}
	if r.Why != "" {
		pairs = append(pairs, "why", text.OneLine(r.Why, 160))
	}
	q.log.Log(level, "review by "+r.Name+": "+string(r.Verdict), pairs...)
}

// ask asks the specialists of a review.
func (r *ongoing) ask(ctx context.Context, reviewers *runs.Reviewers, specialists []work.Specialist) ([]reviewed, error) {
	never, one := r.neverReviewed(ctx, reviewers)
	r.sayPrice(len(specialists), one, reviewers.Model != nil)
	r.set.Cost.RunUSD = least(r.set.Cost.RunUSD, r.options.MaxUSD)
	spending, err := r.newSpending(ctx, len(specialists))
	if err != nil {
		return nil, err
	}
	marked := &marks{}
	over := make(chan struct{})
	defer close(over)
	go r.leaveReview(marked, over)
	by := r.set.Reviews.By
	q := &round{
		review: reviewers.Review, wait: waitFor, log: r.Log, spending: spending, set: r.set.Reviews, never: never, parallel: r.set.MaxParallel, temp: r.temp, marks: marked,
		req: work.ReviewRequest{
			Run: reviewPhase, Phase: reviewPhase, PhaseName: reviewPhase, By: by, Model: r.set.Reviews.Model, Base: r.base.Commit, Commit: r.now,
			Sandbox: r.set.Sandbox, Limits: r.set.Limits, Agent: r.set.Agents[runs.ReviewAgent(by)],
			ReadPaths: r.repo.ObjectPaths(), HidePaths: []string{r.State},
		},
	}
	if r.set.Reviews.OneByOne {
		q.parallel = 1
	}
	if !r.options.Phaseless && r.set.Spec != "" {
		q.req.Summary = "The change belongs to no phase. What the project is to do as a whole, as far as it was written down:\n\n" + r.set.Spec
	}
	return q.all(ctx, specialists)
}

// neverReviewed are the files that no reviewer can be shown, by their names, and
// what one reviewer is asked about the others.
func (r *ongoing) neverReviewed(ctx context.Context, reviewers *runs.Reviewers) (map[string]bool, *asked) {
	in := review.Input{Specialist: work.Specialist{Name: forgeItself, Gating: true}}
	reviewers.Prepare(&in)
	if reviewers.Model != nil {
		in.PartTokens = runs.PartTokens(reviewers.Model)
	}
	one := &asked{}
	return setOf(review.Review(ctx, one, in).Unreviewed), one
}

// asked passes whatever it is shown: what it has not passed was not shown. It
// counts what it is asked.
type asked struct {
	mu               sync.Mutex
	questions, bytes int
}

func (a *asked) Ask(_ context.Context, q review.Question) (review.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions++
	a.bytes += len(q.System) + len(q.User)
	return review.Reply{JSON: []byte(`{"verdict":"pass","confidence":1,"findings":[],"need":[]}`)}, nil
}

// leaveReview is the second Ctrl-C: agents are killed, and nobody waits for
// them. The process ends by the third, or by itself.
func (r *ongoing) leaveReview(asked *marks, over <-chan struct{}) {
	select {
	case <-over:
	case <-r.options.Kill:
		for _, mark := range asked.all() {
			_, _ = proc.KillMarked(mark, 0) // what is left is ended when its wait is over
		}
	}
}

func waitFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
