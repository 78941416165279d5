package jobs

import (
	"context"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// Standing is a job and where it stands.
type Standing struct {
	Row   journal.RunRow
	State *orchestrator.State
}

// Pick is the job that is named; "" is the newest that something is left to
// do in, else the newest.
func Pick(ctx context.Context, p *project.Checkout, id string) (journal.RunRow, *orchestrator.State, error) {
	if id != "" {
		row, s, err := p.StandOf(ctx, id)
		if err == nil && s.Spec.Job == nil {
			err = refusal.New("forge job list shows the jobs", "%s is a run of a plan, not a job", row.ID)
		}
		return row, s, err
	}
	jobs, err := All(ctx, p)
	if err != nil {
		return journal.RunRow{}, nil, err
	}
	if len(jobs) == 0 {
		return journal.RunRow{}, nil, errNone()
	}
	newest := jobs[0]
	for _, j := range jobs {
		if j.Row.Unfinished() {
			newest = j
			break
		}
	}
	return newest.Row, newest.State, nil
}

func errNone() error {
	return refusal.New(`forge job start -d "…" starts one`, "this project has no jobs")
}

// All are the runs that are jobs, the newest first. Of the others the first
// event alone is read.
func All(ctx context.Context, p *project.Checkout) ([]Standing, error) {
	rows, err := runs.WithoutTriage(p.Journal.Runs(ctx))
	if err != nil {
		return nil, err
	}
	var out []Standing
	for _, row := range rows {
		is, err := isJob(ctx, p, row)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		row, s, err := p.StandOf(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, Standing{row, s})
	}
	return out, nil
}

func isJob(ctx context.Context, p *project.Checkout, row journal.RunRow) (bool, error) {
	if row.Events == 0 {
		return false, nil // it is just being opened
	}
	for e, err := range p.Journal.Replay(ctx, row.ID, 0) {
		if err != nil {
			return false, err
		}
		s, err := p.BeginRun(ctx, row.ID, []work.Event{e})
		return err == nil && s.Spec.Job != nil, err
	}
	return false, nil
}
