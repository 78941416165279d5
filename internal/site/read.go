package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"forge/factory/landing"
	"forge/factory/triage"
	pages "forge/factory/web"
	"forge/internal/agent"
	"forge/internal/git"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/runs"
	"forge/internal/todos"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// view is one project as the factory's pages see it. Its journal is open as
// long as it is used; it may be used by many at once.
type view struct {
	p *project.Checkout

	mu    sync.Mutex
	repo  *git.Store
	facts map[string]runFacts // by run: they never change

	find seeker

	lessons sync.Mutex // one at a time reads and writes their file
}

// runFacts are what a run was opened with, as lists show it.
type runFacts struct {
	job   bool
	issue int64
}

func newView(p *project.Checkout) *view { return &view{p: p, facts: map[string]runFacts{}} }

// store opens Forge's own repository once.
func (s *view) store(ctx context.Context) (*git.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		repo, err := s.p.Repo(ctx)
		if err != nil {
			return nil, err
		}
		s.repo = repo
	}
	return s.repo, nil
}

// runViews reads the runs of a project for pages.
type runViews struct{ *view }

func (s runViews) Runs(ctx context.Context, limit int, after string) ([]pages.Run, error) {
	rows, err := runs.WithoutTriage(s.p.Journal.Runs(ctx))
	if err != nil {
		return nil, err
	}
	if after != "" {
		at := slices.IndexFunc(rows, func(r journal.RunRow) bool { return r.ID == after })
		if at < 0 {
			return nil, fmt.Errorf("%w: %q", fs.ErrNotExist, after)
		}
		rows = rows[at+1:]
	}
	var out []pages.Run
	for _, r := range rows {
		if len(out) == limit {
			break
		}
		if r.Events == 0 {
			continue // it is just being opened
		}
		one, err := s.line(ctx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Run reads one run's row: the list of all of them would be read for one.
func (s runViews) Run(ctx context.Context, id string) (pages.Run, error) {
	r, err := s.p.Journal.RunOf(ctx, id)
	// As in the list: a run that is just being opened, and triage, are none.
	if errors.Is(err, journal.ErrNoRun) || err == nil && (r.Events == 0 || triage.IsThread(id)) {
		return pages.Run{}, fmt.Errorf("%w: run %s", fs.ErrNotExist, id)
	}
	if err != nil {
		return pages.Run{}, err
	}
	return s.line(ctx, r)
}

// line is a row as a list shows it.
func (s *view) line(ctx context.Context, r journal.RunRow) (pages.Run, error) {
	f, err := s.factsOf(ctx, r.ID)
	if err != nil {
		return pages.Run{}, err
	}
	state := project.RunState(r)
	if state == project.StateFinished {
		state = string(r.Outcome)
	}
	s.p.AskStalled(ctx, &r)
	return pages.Run{ID: r.ID, Job: f.job, Issue: f.issue, State: state, Outcome: r.Outcome, Created: r.Created, Updated: r.Updated, CostUSD: r.CostUSD, Stalled: r.Stalled}, nil
}

// factsOf reads the first event of a run, once.
func (s *view) factsOf(ctx context.Context, run string) (runFacts, error) {
	s.mu.Lock()
	f, known := s.facts[run]
	s.mu.Unlock()
	if known {
		return f, nil
	}
	for e, err := range s.p.Journal.Replay(ctx, run, 0) {
		if err != nil {
			return f, err
		}
		spec, err := s.p.SpecOf(ctx, e)
		if err != nil {
			return f, err
		}
		if f.job = spec.Job != nil; spec.Issue != nil {
			f.issue = spec.Issue.ID
		}
		break
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[run] = f
	return f, nil
}

// exactRun says that there is a run of just that name: a page never guesses
// which one is meant.
func (s *view) exactRun(ctx context.Context, run string) error {
	_, err := s.p.Journal.RunOf(ctx, run)
	// The triage of an issue is none: it is seen by what it asks.
	if errors.Is(err, journal.ErrNoRun) || err == nil && triage.IsThread(run) {
		return fmt.Errorf("%w: run %s", fs.ErrNotExist, run)
	}
	return err
}

func (s runViews) State(ctx context.Context, run string) (*orchestrator.State, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return nil, err
	}
	_, st, err := s.p.StandOf(ctx, run)
	return st, err
}

func (s runViews) Events(ctx context.Context, run string, after int64, limit int) ([]work.Event, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return nil, err
	}
	end, _, err := s.p.Journal.Head(ctx, run)
	if err != nil || after >= end {
		return nil, err
	}
	var out []work.Event
	for e, err := range s.p.Journal.Replay(ctx, run, after) {
		if err != nil {
			return nil, err
		}
		if out = append(out, e); len(out) == limit {
			break
		}
	}
	return out, nil
}

// Output is the end of the log of an iteration. What the agent printed was
// redacted when it was written; it is redacted again for what this process
// knows of, and begins at a line, so that no half of a secret is shown.
func (s runViews) Output(ctx context.Context, run, phase string, iteration, attempt, most int) ([]byte, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return nil, err
	}
	f, err := os.Open(s.p.Layout().IterationLog(run, phase, iteration, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the output: %w", err)
	}
	from := max(0, info.Size()-int64(most))
	data, err := io.ReadAll(io.NewSectionReader(f, from, int64(most)))
	if err != nil {
		return nil, fmt.Errorf("read the output: %w", err)
	}
	if from > 0 {
		if at := bytes.IndexByte(data, '\n'); at >= 0 {
			data = data[at+1:]
		}
	}
	red := redact.New(redact.FromEnv(s.p.Environ, proc.SecretName))
	return []byte(red.String(string(data))), nil
}

// Conversation reads what the agent printed by its own kind of stream.
func (s runViews) Conversation(ctx context.Context, run, phase string, iteration, attempt, most int) ([]work.Turn, error) {
	printed, err := s.Output(ctx, run, phase, iteration, attempt, most)
	if err != nil || len(printed) == 0 {
		return nil, err
	}
	st, err := s.State(ctx, run)
	if err != nil {
		return nil, err
	}
	kind := ""
	if ph := st.View(phase); ph != nil {
		kind = st.Spec.Settings.Agents[ph.AgentAt(iteration, attempt)].Kind
	}
	talk := agent.NewTranscript("", kind)
	turns := talk.Read(printed)
	return append(turns, talk.End()...), nil
}

// spans reads between which commits a run changed something.
type spans struct{ *view }

func (s spans) Spans(ctx context.Context, run string, of pages.Part) ([]pages.Span, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return nil, err
	}
	found, err := runs.Spans(ctx, s.p, run, runs.Part{Phase: of.Phase, Iteration: of.Iteration, Attempt: of.Attempt})
	if err != nil {
		return nil, forPages(err)
	}
	var out []pages.Span
	for _, one := range found {
		out = append(out, pages.Span{From: one.From, To: one.To, Title: one.Title})
	}
	return out, nil
}

// code reads what runs made.
type code struct{ *view }

func (s code) Diff(ctx context.Context, from, to string) (string, error) {
	repo, err := s.store(ctx)
	if err != nil {
		return "", err
	}
	return repo.Diff(ctx, from, to)
}

func (s code) Files(ctx context.Context, commit string) ([]string, error) {
	repo, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	return repo.Files(ctx, commit)
}

// maxFile is how much of a file a page shows, in bytes.
const maxFile = 1 << 20

func (s code) File(ctx context.Context, commit, path string) ([]byte, error) {
	repo, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	data, err := repo.Show(ctx, commit, path)
	if err == nil && len(data) > maxFile {
		return nil, &git.TooLargeError{Path: path, Size: int64(len(data))}
	}
	return data, err
}

// gallery reads the pictures that proofs keep.
type gallery struct{ *view }

func (s gallery) Picture(ctx context.Context, name string) ([]byte, error) {
	return s.p.Journal.Blob(ctx, name)
}

func (s gallery) Landing(ctx context.Context, run string) ([]work.PageShown, error) {
	events, err := s.p.Journal.Events(ctx, run, 0)
	if err != nil {
		return nil, err
	}
	return landing.Shown(events)
}

// cockpit is what the cockpit needs beside them.
type cockpit struct{ *view }

func (s cockpit) Change(ctx context.Context, from, to string) (review.Change, error) {
	repo, err := s.store(ctx)
	if err != nil {
		return review.Change{}, err
	}
	text, cut, err := repo.ReviewDiff(ctx, from, to)
	if err != nil {
		return review.Change{}, err
	}
	return review.ParseChange(text, cut)
}

func (s cockpit) Say(e work.Event) (string, [][2]string, error) {
	head, below, err := narrate.Say(e)
	return head, below, err
}

func (s cockpit) Papers(ctx context.Context, run string) (pages.Papers, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return pages.Papers{}, err
	}
	_, st, err := s.p.StandOf(ctx, run)
	if err != nil || st.Job == nil {
		return pages.Papers{}, err
	}
	repo, err := s.store(ctx)
	if err != nil {
		return pages.Papers{}, err
	}
	j, err := jobs.ReadFolder(ctx, repo, jobs.FolderCommit(st))
	if err != nil {
		return pages.Papers{}, fmt.Errorf("read the documents of job %s: %w", run, err)
	}
	out := pages.Papers{Commit: j.Commit, Plan: j.Plan, Workspace: j.Workspace, Problems: j.Todos.Problems, Documents: j.Documents, Archive: j.Archive, Tools: j.Tools}
	words := map[todos.Status]string{todos.Done: "done", todos.InProgress: "in_progress"}
	for _, t := range j.Todos.Todos {
		state, ok := words[t.Status]
		if !ok {
			state = "open"
		}
		out.Todos = append(out.Todos, pages.Todo{Title: t.Title, State: state, Needs: t.Needs})
	}
	return out, nil
}

func (s cockpit) CommentLine(ctx context.Context, id string, revision int, l work.LineComment) (work.Checkpoint, error) {
	return s.p.Journal.CommentLine(ctx, id, revision, l, s.p.Now())
}

func (s cockpit) DropComment(ctx context.Context, id string, revision, comment int, by string) (work.Checkpoint, error) {
	return s.p.Journal.DropComment(ctx, id, revision, comment, by, s.p.Now())
}
