package site

import (
	"context"
	"fmt"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/board"
	"forge/internal/schedules"
	"forge/internal/work"
)

// clock are the schedules of a board, for pages.
type clock struct{ b *board.Opened }

func (c clock) List(ctx context.Context) ([]pages.Schedule, error) {
	all, err := schedules.List(ctx, c.b)
	if err != nil {
		return nil, err
	}
	var out []pages.Schedule
	for _, s := range all {
		out = append(out, pages.Schedule{Name: s.Name, Cron: s.Cron, Zone: s.Zone, Next: s.Next, Issue: s.Issue, Paused: s.Paused, Note: s.Note})
	}
	return out, nil
}

// known says that a schedule is there, in a word that pages know.
func (c clock) known(ctx context.Context, name string) error {
	all, err := schedules.List(ctx, c.b)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Name == name {
			return nil
		}
	}
	return fmt.Errorf("%w: schedule %q", work.ErrUnknown, name)
}

func (c clock) Run(ctx context.Context, name string, by factory.By) (work.Issue, error) {
	if err := c.known(ctx, name); err != nil {
		return work.Issue{}, err
	}
	return schedules.Run(ctx, c.b, name, by)
}

func (c clock) Pause(ctx context.Context, name string, paused bool, by string) error {
	if err := c.known(ctx, name); err != nil {
		return err
	}
	return schedules.Pause(ctx, c.b, name, paused, by)
}
