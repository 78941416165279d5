package runs

import (
	"context"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Part is a part of a run: a phase, or one of its iterations, or with neither the
// whole run.
type Part struct {
	Phase     string
	Iteration int // 0 = the whole phase
	Attempt   int // 0 = the last
}

// Span is the change from one commit to another.
type Span struct {
	From, To string
	Title    string
	// Repository is that which it is in, as people call it, where the run as a whole
	// works in several.
	Repository string
}

// Spans replays a run for the commits before and after what is wanted, the
// oldest first. What there is no change of yet is refused.
func Spans(ctx context.Context, p *project.Checkout, run string, of Part) ([]Span, error) {
	evs, err := p.Journal.Events(ctx, run, 0)
	if err != nil {
		return nil, err
	}
	s, err := p.BeginRun(ctx, run, evs)
	if err != nil {
		return nil, err
	}

	var iterations, merges []Span
	ended := "" // how the iteration ended that has no snapshot
	for _, e := range evs {
		ph := s.View(e.Phase)
		switch {
		case ph == nil || of.Phase != e.Phase:
		case e.Kind == work.IterationFinished && e.Iteration == of.Iteration && (of.Attempt == 0 || of.Attempt == e.Attempt):
			var d work.IterationFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			iterations, ended = nil, string(d.Outcome)
			if d.Snapshot != "" {
				iterations = []Span{{From: before(ph), To: d.Snapshot, Title: fmt.Sprintf("phase %s, iteration %d, attempt %d", e.Phase, e.Iteration, e.Attempt)}}
			}
		case e.Kind == work.PhaseMerged && ph.Merge != nil:
			var d orchestrator.PhaseMergedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			merges = append(merges, Span{From: ph.Merge.Head, To: d.Commit, Title: "phase " + e.Phase + ", as merged"})
		}
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
	}

	if results := s.Results(); of.Phase == "" && len(results) > 0 {
		var out []Span
		for _, r := range results {
			out = append(out, Span{From: r.Base.Commit, To: r.Commit, Title: "run " + run + ", " + r.Repository, Repository: r.Repository})
		}
		return out, nil
	}
	if of.Phase == "" {
		return []Span{{From: s.Spec.Base.Commit, To: s.Head, Title: "run " + run}}, nil
	}
	ph := s.View(of.Phase)
	switch {
	case ph == nil:
		return nil, NoPhase(s, of.Phase)
	case of.Iteration > 0 && len(iterations) == 0 && ended != "":
		return nil, refusal.New("its changes were dropped", "iteration %d of phase %s ended %s and has no snapshot", of.Iteration, of.Phase, ended)
	case of.Iteration > 0 && len(iterations) == 0:
		return nil, refusal.New(fmt.Sprintf("the last one of phase %s is %d", of.Phase, ph.Iteration), "iteration %d of phase %s has not finished", of.Iteration, of.Phase)
	case of.Iteration > 0:
		return iterations, nil
	case len(merges) > 0 && ph.Stage == orchestrator.StageFinished:
		return merges, nil
	case ph.Last == "":
		return nil, refusal.New("forge status shows where it stands", "phase %s has not begun", of.Phase)
	}
	return []Span{{From: ph.Base, To: ph.Last, Title: "phase " + of.Phase}}, nil
}

// before is the content that the current iteration of p started from.
func before(p *orchestrator.View) string {
	if p.Kind == orchestrator.IterationResolve && p.Merge != nil {
		return p.Merge.Commit
	}
	return p.Last
}

// NoPhase refuses a phase that a run does not have.
func NoPhase(s *orchestrator.State, number string) error {
	fix := "it has " + strings.Join(s.Order, ", ")
	if near := gates.Nearest(number, s.Order); near != "" {
		fix = fmt.Sprintf("did you mean %s? %s", near, fix)
	}
	return refusal.New(fix, "run %s has no phase %q", s.Run, number)
}
