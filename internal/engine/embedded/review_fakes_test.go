package embedded

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

// reviewers are a working port: each asks a function, and remembers what it was
// asked and what is under way.
type reviewers struct {
	mu      sync.Mutex
	answer  func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error)
	judge   func(req work.ArbiterRequest) (work.ArbiterAnswer, error)
	asked   []work.ReviewRequest
	judged  []work.ArbiterRequest
	going   int
	atOnce  int // the most that were under way
	dropped int // ended by their context
}

func (r *reviewers) Review(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
	r.mu.Lock()
	r.asked = append(r.asked, req)
	r.going++
	r.atOnce = max(r.atOnce, r.going)
	r.mu.Unlock()
	rep, err := r.answer(ctx, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.going--; ctx.Err() != nil {
		r.dropped++
	}
	return rep, err
}

func (r *reviewers) Arbitrate(_ context.Context, req work.ArbiterRequest) (work.ArbiterAnswer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged = append(r.judged, req)
	return r.judge(req)
}

// of are the requests to one specialist about one phase, in their order.
func (r *reviewers) of(phase, who string) []work.ReviewRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.asked), func(q work.ReviewRequest) bool { return q.Phase != phase || q.Specialist.Name != who })
}

// passing is a port that passes everything.
func passing() *reviewers {
	return &reviewers{answer: func(context.Context, work.ReviewRequest) (work.ReviewReport, error) {
		return work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"01.txt"}, Model: "m"}, nil
	}}
}

// busyRig is a run whose agent writes the iteration's number, and claims.
func busyRig(t *testing.T, port *reviewers, change ...func(*orchestrator.Spec)) *rig {
	t.Helper()
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		r.repo.write(req.Dir, req.Phase+".txt", string(rune('0'+req.Iteration)))
		return ok("P" + req.Phase)
	}, change...)
	r.reviewers = port
	return r
}

// hasty is a clock on which an hour goes by at every look, so that no wait is
// one.
func hasty(now func() time.Time) func() time.Time {
	var looks atomic.Int64
	return func() time.Time { return now().Add(time.Duration(looks.Add(1)) * time.Hour) }
}
