package machine

import (
	"context"
	"errors"
	"strings"

	"forge/internal/git"
	"forge/internal/work"
	"forge/orchestrator"
)

// fences are those of a project's own repository.
type fences interface {
	Fence(ctx context.Context, ref, parent, word string) (string, error)
	UpdateFenced(ctx context.Context, ref, id, fence, commit string) error
	UpdateRef(ctx context.Context, ref, id, old string) error
}

var _ fences = (*git.Store)(nil)

// fenced carries an iteration out so that its snapshot counts only while nobody has
// taken the iteration over. A worker that was silent for too long, or cut off, may
// work on for a while: what it makes is kept by a reference of its own, by the mark of
// its attempt, and the run's reference is moved by compare-and-set at the end.
// refused is told where what was made stands that does not count.
func fenced(ctx context.Context, repo fences, run, mark string, it orchestrator.IterateEffect, do func(orchestrator.Effect) orchestrator.Fact, refused func(ref string)) orchestrator.Fact {
	after := context.WithoutCancel(ctx)
	ref, own := it.Ref, orchestrator.Ref(run, "try/"+mark)
	fence := orchestrator.Ref(run, "fence/"+strings.TrimPrefix(ref, orchestrator.Ref(run, "")))
	at, err := repo.Fence(after, fence, it.Parent, "worked on by "+mark)
	if err != nil {
		return orchestrator.Broke{Command: it.Command, Problem: err.Error()}
	}

	mine := it
	mine.Ref = own
	fact := do(mine)
	done, is := fact.(orchestrator.IterationDone)
	if !is {
		return fact
	}
	made := ""
	if done.Snapshot.Changed {
		made = done.Snapshot.Commit
	}
	err = repo.UpdateFenced(after, ref, made, fence, at)
	var moved *git.MovedError
	switch {
	case errors.As(err, &moved):
		refused(own)
		return orchestrator.IterationDone{Command: it.Command, Report: work.IterationReport{
			Outcome: work.OutcomeInterrupted, Detail: "another worker has taken it over: what this one made is refused, and kept as " + own,
		}}
	case err != nil:
		return orchestrator.Broke{Command: it.Command, Problem: err.Error()}
	case made != "":
		_ = repo.UpdateRef(after, own, "", "") // the run's own keeps it
	}
	return fact
}
