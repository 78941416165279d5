// Package schedules puts the issues of a project's schedules on its board: when
// each is due, and by hand.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Schedule is one as it is configured and as it stands.
type Schedule struct {
	work.ScheduleRow
	Seen bool      `json:"seen"` // a factory has seen it
	Cron string    `json:"cron"`
	Zone string    `json:"zone"`
	Next time.Time `json:"next,omitzero"`
	set  config.ScheduleSettings
}

// List are the schedules of a board, in the order of the configuration as it is
// now.
func List(ctx context.Context, b *board.Opened) ([]Schedule, error) {
	cfg, err := project.RecordedConfig(b.Env, b.Base.RepoRoot)
	if err != nil {
		return nil, err
	}
	var rows []work.ScheduleRow
	if !b.None {
		if rows, err = b.Journal.Schedules(ctx, b.Project); err != nil {
			return nil, err
		}
	}
	var out []Schedule
	for _, set := range cfg.Schedules() {
		s := Schedule{ScheduleRow: work.ScheduleRow{Project: b.Project, Name: set.Name}, Cron: set.Cron, Zone: set.In.String(), set: set}
		if at := slices.IndexFunc(rows, func(r work.ScheduleRow) bool { return r.Name == set.Name }); at >= 0 {
			s.ScheduleRow, s.Seen = rows[at], true
		}
		s.Next = set.Times.Next(b.Env.Now(), set.In)
		out = append(out, s)
	}
	return out, nil
}

// Named is the schedule of a name.
func Named(ctx context.Context, b *board.Opened, name string) (Schedule, error) {
	all, err := List(ctx, b)
	if err != nil {
		return Schedule{}, err
	}
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Schedule{}, refusal.New("write [[factory.schedules]] into .forge/forge.toml", "the project has no schedules")
	}
	return Schedule{}, refusal.New("use one of "+strings.Join(names, ", "), "there is no schedule %q", text.OneLine(name, 80))
}

// Once does what is due now, and says when something is due next; zero = never.
func Once(ctx context.Context, b *board.Opened) (next time.Time, added bool, err error) {
	all, err := List(ctx, b)
	if err != nil {
		return next, false, err
	}
	for _, s := range all {
		did, oneErr := s.once(ctx, b)
		err, added = errors.Join(err, oneErr), added || did
		if next.IsZero() || !s.Next.IsZero() && s.Next.Before(next) {
			next = s.Next
		}
	}
	return next, added, err
}

// once does what is due of one schedule.
func (s Schedule) once(ctx context.Context, b *board.Opened) (added bool, err error) {
	now := b.Env.Now().UTC()
	seen := factory.ScheduleSeen{Known: s.Seen, Due: s.Due, Paused: s.Paused, SkipOpen: s.set.SkipOpen}
	if seen.Open, err = s.open(ctx, b); err != nil {
		return false, err
	}
	step, due, why := factory.NextOfSchedule(func(after time.Time) time.Time { return s.set.Times.Next(after, s.set.In) }, seen, now)
	row, was := s.ScheduleRow, s.Due
	row.Due, row.Note = due, why
	switch step {
	case factory.ScheduleBegin, factory.ScheduleSkip:
		_, err = b.Journal.KeepSchedule(ctx, row, was, nil)
	case factory.ScheduleAdd:
		added, err = s.add(ctx, b, row, was, due, factory.By{Name: "schedule " + s.Name, Door: "factory"})
	}
	if errors.Is(err, work.ErrStale) {
		return false, nil // another server was first, or looks again
	}
	return added, err
}

// open is the last issue of a schedule where that is not over.
func (s Schedule) open(ctx context.Context, b *board.Opened) (int64, error) {
	if s.Issue == 0 {
		return 0, nil
	}
	i, err := b.Journal.Issue(ctx, b.Project, s.Issue)
	if err != nil || factory.Over(i) {
		return 0, err
	}
	return i.ID, nil
}

// add puts the issue on the board, together with the note that it did.
func (s Schedule) add(ctx context.Context, b *board.Opened, row work.ScheduleRow, was, due time.Time, by factory.By) (bool, error) {
	i := s.set.Issue
	day := due.In(s.set.In).Format(time.DateOnly)
	i.Title = strings.ReplaceAll(i.Title, "{date}", day)
	i.Description = strings.ReplaceAll(i.Description, "{date}", day)
	change, err := b.PlanAdd(ctx, i, factory.Place{At: factory.Bottom}, by)
	if err != nil {
		return false, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	i, err = b.Journal.KeepSchedule(ctx, row, was, &change)
	if err == nil {
		b.Log.Info("a schedule put an issue on the board", "schedule", s.Name, "issue", i.ID, "due", due.Format(time.RFC3339))
	}
	return err == nil, err
}

// Run puts the issue of a schedule on the board now, whatever is due and open.
func Run(ctx context.Context, b *board.Opened, name string, by factory.By) (work.Issue, error) {
	s, err := Named(ctx, b, name)
	if err != nil {
		return work.Issue{}, err
	}
	now := b.Env.Now().UTC()
	row, was := s.ScheduleRow, s.Due
	if row.Note = "by " + by.Name; !s.Seen {
		row.Due = now
	}
	if _, err := s.add(ctx, b, row, was, now, by); err != nil {
		return work.Issue{}, err
	}
	rows, err := b.Journal.Schedules(ctx, b.Project)
	if err != nil {
		return work.Issue{}, err
	}
	at := slices.IndexFunc(rows, func(r work.ScheduleRow) bool { return r.Name == name })
	return b.Journal.Issue(ctx, b.Project, rows[at].Issue)
}

// Pause lets a schedule put nothing on the board, or again. What falls due
// meanwhile is not made up for.
func Pause(ctx context.Context, b *board.Opened, name string, paused bool, who string) error {
	s, err := Named(ctx, b, name)
	if err == nil && !s.Seen { // what was due before it was written is not
		row := s.ScheduleRow
		row.Due = b.Env.Now().UTC()
		if _, err = b.Journal.KeepSchedule(ctx, row, time.Time{}, nil); errors.Is(err, work.ErrStale) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	note := "goes on, by " + who
	if paused {
		note = "paused by " + who
	}
	return b.Journal.PauseSchedule(ctx, b.Project, name, paused, text.OneLine(note, 200))
}

// mostWait is after how long the configuration is read again.
const mostWait = time.Minute

// Watch does what is due until ctx ends, and calls added after an issue was put
// on the board.
func Watch(ctx context.Context, b *board.Opened, added func()) {
	said := ""
	for {
		next, did, err := Once(ctx, b)
		if ctx.Err() != nil {
			return
		}
		if did {
			added()
		}
		if err == nil {
			said = ""
		} else if words := err.Error(); words != said {
			said = words
			b.Log.Warn("the schedules are not looked at", "project", b.Project, "err", text.Harmless(words))
		}
		wait := mostWait
		if until := next.Sub(b.Env.Now()); !next.IsZero() && until < wait {
			wait = max(until, 100*time.Millisecond)
		}
		pause := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
