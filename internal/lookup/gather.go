package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/search"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// The bounds of what is gathered.
const (
	maxFile = 1 << 20 // bytes; larger files are not read
	maxLog  = 8 << 20 // bytes of one iteration's log
	maxTurn = 4000    // bytes of what one turn says
)

// Gather reads what is new in the runs, on the board and in the files. What was
// read stays read when it is stopped on the way. It says how many runs had news.
func (f *Finder) Gather(ctx context.Context) (news int, err error) {
	f.once.Lock()
	defer f.once.Unlock()
	if err := f.checkedOut(ctx); err != nil {
		return 0, err
	}
	if f.p.Journal == nil {
		return 0, nil
	}
	rows, err := f.p.Journal.Runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		mark, err := f.index.Mark(ctx, "run/"+row.ID)
		if err != nil {
			return news, err
		}
		if mark >= row.Events {
			continue
		}
		if err := f.run(ctx, row.ID); err != nil {
			return news, fmt.Errorf("read run %s: %w", row.ID, err)
		}
		news++
	}
	return news, f.board(ctx)
}

// run reads the events of a run that were not read yet, and what they tell of.
func (f *Finder) run(ctx context.Context, run string) error {
	return f.index.Write(ctx, func(b *search.Batch) error {
		source := "run/" + run
		mark, err := b.Mark(source)
		if err != nil {
			return err
		}
		r := reader{Finder: f, Batch: b, run: run, agent: map[string]string{}, last: map[string]work.Event{}}
		for e, err := range f.p.Journal.Replay(ctx, run, 0) {
			if err != nil {
				return err
			}
			if err := r.about(ctx, e); err != nil {
				return err
			}
			if e.Seq <= mark {
				continue
			}
			if err := r.event(ctx, e); err != nil {
				return err
			}
			mark = e.Seq
		}
		for _, phase := range slices.Sorted(maps.Keys(r.last)) {
			if err := r.snapshot(ctx, phase, r.last[phase]); err != nil {
				return err
			}
		}
		return b.SetMark(source, mark)
	})
}

// reader reads one run.
type reader struct {
	*Finder
	*search.Batch
	run  string
	spec orchestrator.Spec

	agent map[string]string     // by phase: which works on it
	last  map[string]work.Event // by phase: the last iteration that ended
}

// about takes in what later events do not say again.
func (r *reader) about(ctx context.Context, e work.Event) error {
	switch {
	case e.Seq == 1:
		// A thread of triage has no plan; its events are read all the same.
		if spec, err := r.p.SpecOf(ctx, e); err == nil {
			r.spec = spec
		}
	case e.Kind == work.IterationStarted:
		var d work.IterationStartedData
		if err := work.Decode(e, &d); err != nil {
			return err
		}
		r.agent[e.Phase] = d.Agent
	}
	return nil
}

func (r *reader) event(ctx context.Context, e work.Event) error {
	if e.Seq == 1 {
		if err := r.plan(e); err != nil {
			return err
		}
	}
	if err := r.said(e); err != nil {
		return err
	}
	if e.Kind != work.IterationFinished {
		return nil
	}
	r.last[e.Phase] = e
	return r.talk(ctx, e)
}

// plan is what each phase was to do.
func (r *reader) plan(e work.Event) error {
	for _, ph := range r.spec.Plan.Phases {
		body := strings.Join([]string{ph.Name, ph.Reasoning, strings.Join(ph.Verify, "\n")}, "\n")
		if err := r.Add(search.Piece{Source: "plan/" + r.run, Kind: search.KindPlan, Run: r.run, Phase: ph.Number, Path: ph.Name, At: e.Time, Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// said is an event in words, as forge why says it.
func (r *reader) said(e work.Event) error {
	p := search.Piece{Source: "event/" + r.run, Kind: search.KindEvent, Run: r.run, Phase: e.Phase, Path: fmt.Sprint(e.Seq), At: e.Time}
	var finished orchestrator.ReviewFinishedData
	switch e.Kind {
	case work.ReviewFinished:
		if work.Decode(e, &finished) != nil {
			return nil
		}
		for _, one := range slices.Concat(finished.Findings, finished.Notes) {
			found := p
			found.Kind, found.Who, found.Body = search.KindFinding, one.By(), narrate.SayFinding(one)
			if one.Suggestion != "" && !strings.Contains(found.Body, one.Suggestion) {
				found.Body += "\n" + one.Suggestion
			}
			if err := r.Add(found); err != nil {
				return err
			}
		}
	case work.PhaseTold:
		var d orchestrator.ToldData
		if work.Decode(e, &d) != nil || text.Blank(d.Text) {
			return nil
		}
		p.Kind, p.Who, p.Body = search.KindComment, d.By, d.Text
		for _, a := range d.Attached {
			p.Body += "\n" + a.String() // their text is found where it is from
		}
		return r.Add(p)
	case work.RewindAsked:
		var d orchestrator.RewindAskedData
		if work.Decode(e, &d) == nil && d.Text != "" {
			comment := p
			comment.Kind, comment.Who, comment.Body = search.KindComment, d.By, d.Text
			if err := r.Add(comment); err != nil {
				return err
			}
		}
	case work.CheckpointAnswered:
		var d orchestrator.CheckpointAnsweredData
		if work.Decode(e, &d) == nil && d.Reason != "" {
			comment := p
			comment.Kind, comment.Who, comment.Body = search.KindComment, d.By, d.Reason
			if err := r.Add(comment); err != nil {
				return err
			}
		}
	}
	if !narrate.Decides(e.Kind) {
		return nil
	}
	head, facts, err := narrate.Say(e)
	if err != nil || head == "" {
		return nil //nolint:nilerr // an event that this Forge cannot put into words is not found by them
	}
	for _, fact := range facts {
		if fact[1] != "" {
			head += "\n" + fact[0] + ": " + fact[1]
		}
	}
	p.Body = head
	return r.Add(p)
}

// talk is what the agent of an iteration said and called.
func (r *reader) talk(ctx context.Context, e work.Event) error {
	file, err := os.Open(r.p.Layout().IterationLog(e.Run, e.Phase, e.Iteration, e.Attempt))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was not kept
		}
		return err
	}
	defer file.Close()
	kind := r.spec.Settings.Agents[r.agent[e.Phase]].Kind
	t := agent.NewTranscript(r.p.Layout().IterationTimes(e.Run, e.Phase, e.Iteration, e.Attempt), kind)
	data, err := io.ReadAll(io.LimitReader(file, maxLog))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, turn := range append(t.Read(data), t.End()...) {
		switch turn.Kind {
		case work.TurnSaid, work.TurnNotice:
			b.WriteString(text.Cut(turn.Text, maxTurn) + "\n")
		case work.TurnTool:
			b.WriteString(turn.Tool + " " + text.Cut(turn.About, maxTurn) + "\n")
		}
	}
	source := fmt.Sprintf("talk/%s/%s/%d/%d", e.Run, e.Phase, e.Iteration, e.Attempt)
	if err := r.Drop(source); err != nil {
		return err
	}
	return r.Add(search.Piece{
		Source: source, Kind: search.KindAgent, Run: r.run, Phase: e.Phase,
		Path: fmt.Sprintf("iteration %d", e.Iteration), Who: r.agent[e.Phase], At: e.Time, Body: b.String(),
	})
}

// snapshot reads what a phase's last snapshot has that its base has not.
func (r *reader) snapshot(ctx context.Context, phase string, e work.Event) error {
	var d work.IterationFinishedData
	if work.Decode(e, &d) != nil || d.Snapshot == "" || r.spec.Base.Commit == "" {
		return nil
	}
	now, err := r.repo.Blobs(ctx, d.Snapshot)
	if err != nil {
		return r.gone(ctx, err)
	}
	before, err := r.repo.Blobs(ctx, r.spec.Base.Commit)
	if err != nil {
		return r.gone(ctx, err)
	}
	maps.DeleteFunc(now, func(path, id string) bool { return before[path] == id })
	if err := r.Clear(r.run, phase); err != nil {
		return err
	}
	return r.files(ctx, r.Batch, now, search.Place{Run: r.run, Phase: phase, Held: d.Snapshot, At: e.Time})
}

// gone passes over a snapshot that was collected.
func (f *Finder) gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	f.p.Log.Debug("not searched: a snapshot is gone", "err", err)
	return nil
}

// files reads contents that were not read before, and notes where they stand.
func (f *Finder) files(ctx context.Context, b *search.Batch, blobs map[string]string, at search.Place) error {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(blobs)) {
		at.Source, at.Path = "blob/"+blobs[path], path
		if err := b.Put(at); err != nil {
			return err
		}
		known, err := b.Has(at.Source)
		if err != nil {
			return err
		}
		if !known {
			paths = append(paths, path)
			if err := b.SetMark(at.Source, 1); err != nil { // two paths may have one content
				return err
			}
		}
	}
	var failed error
	err := f.repo.Contents(ctx, at.Held, paths, maxFile, func(path string, data []byte) {
		if failed == nil && !binary(data) {
			failed = b.AddFile("blob/"+blobs[path], path, strings.ToValidUTF8(string(data), "�"))
		}
	})
	return errors.Join(err, failed)
}

// binary says that a file is no text, as git sees it.
func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// checkedOut reads the files of the commit that is checked out.
func (f *Finder) checkedOut(ctx context.Context) error {
	head, err := f.repo.FindCommit(ctx, "HEAD")
	if err != nil || head == "" {
		return nil //nolint:nilerr // a repository without a commit has no files yet
	}
	source := "head/" + head
	if mark, err := f.index.Mark(ctx, source); err != nil || mark > 0 {
		return err
	}
	blobs, err := f.repo.Blobs(ctx, head)
	if err != nil {
		return err
	}
	at, err := f.repo.Committed(ctx, head)
	if err != nil {
		return err
	}
	return f.index.Write(ctx, func(b *search.Batch) error {
		if err := b.Clear("", ""); err != nil {
			return err
		}
		if err := b.Forget("head/"); err != nil {
			return err
		}
		if err := f.files(ctx, b, blobs, search.Place{Held: head, At: at}); err != nil {
			return err
		}
		if err := b.Prune("blob/"); err != nil {
			return err
		}
		return b.SetMark(source, 1)
	})
}

// board reads the issues that changed.
func (f *Finder) board(ctx context.Context) error {
	projects, err := f.p.Journal.Projects(ctx)
	if err != nil {
		return err
	}
	for _, one := range projects {
		for _, column := range work.Columns() {
			if err := f.column(ctx, work.IssueFilter{Project: one.ID, Column: column}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Finder) column(ctx context.Context, which work.IssueFilter) error {
	for after := ""; ; {
		page, err := f.p.Journal.Issues(ctx, which, journal.MaxIssuePage, after)
		if err != nil {
			return err
		}
		for _, issue := range page {
			if err := f.issue(ctx, issue); err != nil {
				return err
			}
		}
		if len(page) < journal.MaxIssuePage {
			return nil
		}
		after = page[len(page)-1].Rank
	}
}

func (f *Finder) issue(ctx context.Context, i work.Issue) error {
	source := fmt.Sprintf("issue/%s/%d", i.Project, i.ID)
	if mark, err := f.index.Mark(ctx, source); err != nil || mark >= i.Version {
		return err
	}
	body := i.Title + "\n" + i.Description
	for _, c := range i.Criteria {
		body += "\n" + c.Text
	}
	return f.index.Write(ctx, func(b *search.Batch) error {
		if err := b.Drop(source); err != nil {
			return err
		}
		if err := b.Add(search.Piece{Source: source, Kind: search.KindIssue, Run: i.Run, Path: fmt.Sprintf("#%d", i.ID), Who: i.Author, At: i.Changed, Body: body}); err != nil {
			return err
		}
		return b.SetMark(source, i.Version)
	})
}
