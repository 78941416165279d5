package webtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/journal"
	"forge/internal/work"
)

// Site is projects in memory.
type Site struct {
	mu   sync.Mutex
	list []web.Project
}

// Projects are all projects.
func (s *Site) Projects(context.Context) ([]web.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list), nil
}

// Project is one of them.
func (s *Site) Project(_ context.Context, id string) (web.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		if p.ID == id {
			return p, nil
		}
	}
	return web.Project{}, web.ErrNoProject
}

// Change changes a project.
func (s *Site) Change(id string, do func(*web.Project)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.list {
		if s.list[n].ID == id {
			do(&s.list[n])
		}
	}
}

// Watch watches a journal.
type Watch struct{ *journal.Store }

// RunEnd is the number of a run's last event.
func (w Watch) RunEnd(ctx context.Context, run string) (int64, error) {
	n, _, err := w.Head(ctx, run)
	return n, err
}

// Questions is checkpoints in memory.
type Questions struct {
	mu   sync.Mutex
	list []work.Checkpoint
}

// Put adds a checkpoint, or replaces the one of its id.
func (d *Questions) Put(cp work.Checkpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.list {
		if d.list[n].ID == cp.ID {
			d.list[n] = cp
			return
		}
	}
	d.list = append(d.list, cp)
}

// Checkpoints are those of a run and status.
func (d *Questions) Checkpoints(_ context.Context, run string, status work.CheckpointStatus, limit int, after string) ([]work.Checkpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []work.Checkpoint
	seen := after == ""
	for _, cp := range d.list {
		if seen && (run == "" || cp.Run == run) && (status == "" || cp.Status == status) && len(out) < limit {
			out = append(out, cp)
		}
		seen = seen || cp.ID == after
	}
	return out, nil
}

// Judged is the checkpoint with nothing to judge.
func (d *Questions) Judged(_ context.Context, id string) (web.Judged, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, cp := range d.list {
		if cp.ID == id {
			return web.Judged{Checkpoint: cp, Level: "partial"}, nil
		}
	}
	return web.Judged{}, work.ErrUnknown
}

// Answer answers once.
func (d *Questions) Answer(_ context.Context, a work.Answer, _ string) (work.Checkpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.list {
		cp := &d.list[n]
		switch {
		case cp.ID != a.Checkpoint:
			continue
		case cp.Status != work.CheckpointPending:
			return *cp, work.ErrAlreadyResolved
		case a.Revision != 0 && a.Revision != cp.Revision:
			return *cp, work.ErrConflict
		}
		cp.Status, cp.Comment, cp.AnsweredBy, cp.Door = a.Status, a.Comment, a.By, a.Door
		return *cp, nil
	}
	return work.Checkpoint{}, work.ErrUnknown
}

// JudgeFiles keeps the verdicts.
func (d *Questions) JudgeFiles(_ context.Context, id string, revision int, verdicts []work.FileVerdict) (work.Checkpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.list {
		if d.list[n].ID == id {
			now, err := d.list[n].JudgeFiles(revision, verdicts, time.Now())
			if err == nil {
				d.list[n] = now
			}
			return now, err
		}
	}
	return work.Checkpoint{}, work.ErrUnknown
}

// SetLevel does nothing.
func (d *Questions) SetLevel(context.Context, string, string, string, string) error { return nil }

// Tell says that it is queued.
func (d *Questions) Tell(_ context.Context, run string, m work.Message, _, _ string) (work.Told, error) {
	return work.Told{Run: run, Phase: m.Phase, State: work.MessageQueued, Iteration: 1}, nil
}

// Rewind says that it is queued.
func (d *Questions) Rewind(_ context.Context, run string, r work.Rewind, _, _ string) (work.Rewound, error) {
	return work.Rewound{Run: run, Phase: r.Phase, Iteration: r.Iteration, State: work.RewindQueued}, nil
}

// Floor is a loop that does nothing but stand still.
type Floor struct {
	mu  sync.Mutex
	now web.Standing
}

// Set says how the loop stands.
func (f *Floor) Set(s web.Standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = s
}

// Standing is how it stands.
func (f *Floor) Standing(context.Context) (web.Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, nil
}

// Pause pauses it.
func (f *Floor) Pause(_ context.Context, paused bool, by string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.Paused, f.now.Note = paused, "by "+by
	return nil
}

// Drain drains it.
func (f *Floor) Drain(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.Paused, f.now.Drain = true, true
	return nil
}

// CancelIssue is refused: nothing runs.
func (f *Floor) CancelIssue(context.Context, int64, factory.By) (work.Issue, error) {
	return work.Issue{}, &factory.Refusal{What: "nothing runs", Fix: "start it"}
}

// Jobs knows the names that forms offer, and starts nothing.
type Jobs struct{}

// Start starts nothing.
func (Jobs) Start(context.Context, web.JobOrder) (string, error) {
	return "", fmt.Errorf("no jobs here")
}

// Cancel ends nothing.
func (Jobs) Cancel(context.Context, string, string) error { return fmt.Errorf("no jobs here") }

// Experts are two.
func (Jobs) Experts(context.Context) ([]string, error) { return []string{"coder", "researcher"}, nil }

// Sources are one.
func (Jobs) Sources(context.Context) ([]string, error) { return []string{"handbook"}, nil }

// Levels are some.
func (Jobs) Levels(context.Context) (web.Choices, error) {
	return web.Choices{{Value: "full", Says: "Nobody has to look."}, {Value: "partial", Says: "The plan matters."}, {Value: "dependent", Says: "Every step is seen."}}, nil
}
