package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// fakePorts are runs, jobs and checkpoints of one project.
type fakePorts struct {
	now   func() time.Time
	board factory.Board

	mu        sync.Mutex
	rows      []web.Run // the newest first
	events    map[string][]work.Event
	points    map[string]*work.Checkpoint
	standing  web.Standing
	cancelled []string
	orders    []web.JobOrder
	levels    []string
	attached  []work.Attached     // to the last message
	state     *orchestrator.State // nil = one that says little
	asked     int                 // for single runs
	paged     int                 // for lists of them
}

func (f *fakePorts) addRun(id string, job bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = slices.Insert(f.rows, 0, web.Run{ID: id, Job: job, State: "running", Created: f.now(), Updated: f.now()})
}

func (f *fakePorts) append(run string, at time.Time, kind work.EventKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events[run] = append(f.events[run], work.Event{V: 1, Seq: int64(len(f.events[run]) + 1), Time: at, Run: run, Kind: kind, Data: json.RawMessage(`{}`)})
	for i := range f.rows {
		if f.rows[i].ID == run {
			f.rows[i].Updated = at
		}
	}
}

func (f *fakePorts) open(cp work.Checkpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points[cp.ID] = &cp
}

func (f *fakePorts) Runs(_ context.Context, limit int, after string) ([]web.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paged++
	from := 1 + slices.IndexFunc(f.rows, func(r web.Run) bool { return r.ID == after })
	return slices.Clone(f.rows[from:min(len(f.rows), from+limit)]), nil
}

func (f *fakePorts) Run(_ context.Context, id string) (web.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	for _, r := range f.rows {
		if r.ID == id {
			return r, nil
		}
	}
	return web.Run{}, fmt.Errorf("run %s: %w", id, fs.ErrNotExist)
}

func (f *fakePorts) State(_ context.Context, run string) (*orchestrator.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != nil {
		return f.state, nil
	}
	return &orchestrator.State{Run: run, Spec: orchestrator.Spec{Policy: gates.Policy{Preset: "review"}, Branch: "forge/run-" + run, Job: &work.Job{Description: "x"}}, Phases: map[string]*orchestrator.Phase{"1": {View: orchestrator.View{Number: "1", Stage: orchestrator.StageIterate}}}, Order: []string{"1"}}, nil
}

func (f *fakePorts) Events(_ context.Context, run string, after int64, limit int) ([]work.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.events[run]
	from := min(int(after), len(all))
	return slices.Clone(all[from:min(len(all), from+limit)]), nil
}

func (f *fakePorts) Conversation(context.Context, string, string, int, int, int) ([]work.Turn, error) {
	return nil, nil
}

func (f *fakePorts) Output(context.Context, string, string, int, int, int) ([]byte, error) {
	return []byte("<script>alert(1)</script>\xff"), nil
}

func (f *fakePorts) Checkpoints(_ context.Context, run string, status work.CheckpointStatus, limit int, after string) ([]work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []work.Checkpoint
	for _, cp := range f.points {
		if (run == "" || cp.Run == run) && (status == "" || cp.Status == status) && cp.ID > after {
			list = append(list, *cp)
		}
	}
	slices.SortFunc(list, func(a, b work.Checkpoint) int { return strings.Compare(a.ID, b.ID) })
	return list[:min(len(list), limit)], nil
}

func (f *fakePorts) Judged(_ context.Context, id string) (web.Judged, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cp := f.points[id]
	if cp == nil {
		return web.Judged{}, work.ErrUnknown
	}
	return web.Judged{Checkpoint: *cp, From: "aaa", To: "bbb", Files: []work.FileChange{{Path: "main.go"}}}, nil
}

func (f *fakePorts) Answer(_ context.Context, a work.Answer, level string) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cp := f.points[a.Checkpoint]
	if cp == nil {
		return work.Checkpoint{}, work.ErrUnknown
	}
	now, err := gates.Resolve(*cp, a, a.At)
	if err != nil {
		return *cp, err
	}
	f.points[a.Checkpoint] = &now
	f.levels = append(f.levels, level)
	return now, nil
}

func (f *fakePorts) JudgeFiles(_ context.Context, id string, revision int, verdicts []work.FileVerdict) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.points[id].JudgeFiles(revision, verdicts, f.now())
	if err == nil {
		f.points[id] = &now
	}
	return now, err
}

func (f *fakePorts) SetLevel(_ context.Context, _, level, _, door string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.levels = append(f.levels, level+" by "+door)
	return nil
}

func (f *fakePorts) Tell(_ context.Context, run string, m work.Message, by, door string) (work.Told, error) {
	if m.Text == "" && !m.Anew {
		return work.Told{}, &web.Complaint{Status: 422, What: "The message is empty.", Fix: "Say it."}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.levels = append(f.levels, "tell "+m.Phase+"="+m.Text+" by "+by+" through "+door)
	f.attached = m.Attached
	return work.Told{Run: run, Phase: m.Phase, ID: "m1", Now: m.Now, Anew: m.Anew, State: work.MessageQueued, Iteration: 2}, nil
}

func (f *fakePorts) Rewind(_ context.Context, run string, r work.Rewind, by, door string) (work.Rewound, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.levels = append(f.levels, fmt.Sprintf("back %s to %d.%d=%s by %s through %s", r.Phase, r.Iteration, r.Attempt, r.Text, by, door))
	return work.Rewound{Run: run, Phase: r.Phase, ID: "b1", Iteration: r.Iteration, State: work.RewindQueued, Commit: "c1"}, nil
}

func (f *fakePorts) Diff(context.Context, string, string) (string, error) { return "+<b>x</b>\n", nil }
func (f *fakePorts) Files(context.Context, string) ([]string, error)      { return []string{"main.go"}, nil }

func (f *fakePorts) File(_ context.Context, commit, path string) ([]byte, error) {
	if filepath.Clean(path) != "main.go" {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	return []byte("package main // " + commit), nil
}

func (f *fakePorts) Start(_ context.Context, o web.JobOrder) (string, error) {
	id := fmt.Sprintf("job-%d", len(f.orders)+1)
	f.orders = append(f.orders, o)
	f.addRun(id, true)
	return id, nil
}

func (f *fakePorts) Cancel(_ context.Context, run, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, run)
	for i := range f.rows {
		if f.rows[i].ID == run {
			f.rows[i].Outcome, f.rows[i].State = work.RunCancelled, "cancelled"
		}
	}
	return nil
}

func (f *fakePorts) Experts(context.Context) ([]string, error) { return []string{"coder"}, nil }
func (f *fakePorts) Sources(context.Context) ([]string, error) { return []string{"wiki"}, nil }
func (f *fakePorts) Levels(context.Context) (all web.Choices, err error) {
	for _, name := range gates.Levels() {
		all = append(all, web.Choice{Value: name})
	}
	return all, nil
}

func (f *fakePorts) Standing(context.Context) (web.Standing, error) { return f.standing, nil }

func (f *fakePorts) Pause(_ context.Context, paused bool, _ string) error {
	f.standing.Paused = paused
	return nil
}

func (f *fakePorts) Drain(context.Context, string) error {
	f.standing.Paused, f.standing.Drain = true, true
	return nil
}

func (f *fakePorts) CancelIssue(ctx context.Context, id int64, by factory.By) (work.Issue, error) {
	return f.board.Cancel(ctx, id, by)
}
