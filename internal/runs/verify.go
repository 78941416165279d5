package runs

import (
	"context"
	"errors"
	"fmt"

	"forge/factory/triage"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Verify reads every event of a run, which checks the chain, and holds it
// against what Forge's repository and its commits say of it. It returns how many
// events there are.
func Verify(ctx context.Context, p *project.Checkout, repo *git.Store, run string) (count int64, err error) {
	var evs []work.Event
	var s *orchestrator.State
	if triage.IsThread(run) {
		_, evs, err = p.TriageEvents(ctx, run)
	} else {
		s, evs, err = p.LoadRun(ctx, run)
	}
	if err != nil {
		return 0, err
	}
	anchored, head, ok, err := repo.ReadAnchor(ctx, run)
	if err == nil && ok {
		err = p.Journal.CheckAnchor(ctx, run, anchored, head)
	}
	if err != nil {
		return 0, err
	}
	var among project.Among
	if s != nil {
		if among, err = p.OpenAmong(ctx, s.Spec.Repositories); err != nil {
			return 0, err
		}
	}
	for _, e := range evs {
		var d orchestrator.PhaseMergedData
		if e.Kind != work.PhaseMerged {
			continue
		}
		if err := work.Decode(e, &d); err != nil {
			return 0, err
		}
		of := repo
		if s != nil && among.Machines[s.RepositoryOf(e.Phase)] != nil {
			of = among.Machines[s.RepositoryOf(e.Phase)].Repo
		}
		if there, err := of.Exists(ctx, d.Commit); err != nil || !there {
			return 0, errors.Join(err, fmt.Errorf("the commit %s of phase %s is missing", d.Commit, e.Phase))
		}
	}
	return int64(len(evs)), nil
}
