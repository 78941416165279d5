package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"forge/factory/triage"
	"forge/internal/journal"
	"forge/internal/work"
)

// newest is the last thread of an issue, and the number of the next; ok is
// false when there is none yet.
func (d *triageDesk) newest(ctx context.Context, issue int64) (found journal.RunRow, next int, ok bool, err error) {
	for n := 1; ; n++ {
		row, err := d.shop.store.RunOf(ctx, triage.ThreadID(issue, n))
		if errors.Is(err, journal.ErrNoRun) {
			return found, n, ok, nil
		}
		if err != nil {
			return found, n, false, err
		}
		// A journal may hold the boards of several checkouts.
		if row.Project == d.shop.Project && row.Events > 0 {
			found, ok = row, true
		}
	}
}

// thread is a thread as its events tell it.
func (p *project) thread(ctx context.Context, id string) (*triage.State, error) {
	s, _, err := p.threadEvents(ctx, id)
	return s, err
}

func (p *project) threadEvents(ctx context.Context, id string) (*triage.State, []work.Event, error) {
	evs, err := p.store.Events(ctx, id, 0)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.beginThread(ctx, id, evs)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range evs {
		if err := triage.Apply(s, e); err != nil {
			return nil, nil, err
		}
	}
	return s, evs, nil
}

// beginThread is a thread before its first event.
func (p *project) beginThread(ctx context.Context, id string, evs []work.Event) (*triage.State, error) {
	if len(evs) == 0 || evs[0].Kind != triage.Started {
		return nil, fmt.Errorf("%w: %s does not begin with %s", journal.ErrBroken, id, triage.Started)
	}
	var data triage.StartedData
	if err := work.Decode(evs[0], &data); err != nil {
		return nil, err
	}
	if data.Spec == nil {
		text, err := p.store.Blob(ctx, data.Blob)
		if err != nil {
			return nil, fmt.Errorf("read what %s was opened with: %w", id, err)
		}
		data.Spec = &triage.Spec{}
		if err := json.Unmarshal(text, data.Spec); err != nil {
			return nil, fmt.Errorf("read what %s was opened with: %w", id, err)
		}
	}
	return triage.NewState(id, *data.Spec), nil
}
