package handoff

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// foldRecord is the run that a record tells of. Whatever is wrong with it is the
// record's fault.
func foldRecord(rec *journal.Record) (*orchestrator.State, error) {
	damaged := func(err error) error { return &journal.DamagedError{Run: rec.Run, What: err.Error()} }
	spec, err := project.SpecIn(rec.Events[0], func(sha string) ([]byte, error) {
		data, ok := rec.Blobs[sha]
		if !ok {
			return nil, fmt.Errorf("blob %.64s: %w", sha, fs.ErrNotExist)
		}
		return data, nil
	})
	if err != nil {
		return nil, damaged(err)
	}
	s, err := orchestrator.NewState(rec.Run, spec)
	if err != nil {
		return nil, damaged(err)
	}
	for _, e := range rec.Events {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, damaged(err)
		}
	}
	return s, nil
}

// commitsOf are the commits that a run is made of, sorted.
func commitsOf(rec *journal.Record, s *orchestrator.State) []string {
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(s.Spec.Base.Commit)
	add(s.Spec.Trusted)
	for _, move := range s.Moves {
		add(move.From)
		add(move.To)
	}
	add(s.Head)
	if s.Spec.Job != nil {
		add(s.Spec.Job.Start)
	}
	for _, number := range s.Order {
		add(s.View(number).Base)
		add(s.View(number).Last)
	}
	for _, id := range rec.Refs {
		add(id)
	}
	slices.Sort(ids)
	return ids
}

// arrived is a record that was fetched and checked.
type arrived struct {
	rec     *journal.Record
	state   *orchestrator.State
	parents []string
}

// read checks the record in a commit that is here as a journal of this machine
// is checked, and more: nothing of it is believed that the chain does not hold.
func (r Remote) read(ctx context.Context, run, commit string) (arrived, error) {
	files, parents, err := r.repo.ReadRecord(ctx, commit)
	if err != nil {
		return arrived{}, &journal.DamagedError{Run: run, What: err.Error()}
	}
	a := arrived{parents: parents}
	if a.rec, err = journal.ParseRecord(run, files); err != nil {
		return a, err
	}
	if a.state, err = foldRecord(a.rec); err != nil {
		return a, err
	}
	damaged := func(format string, args ...any) error {
		return &journal.DamagedError{Run: run, What: fmt.Sprintf(format, args...)}
	}
	for _, id := range commitsOf(a.rec, a.state) {
		if !slices.Contains(parents, id) {
			return a, damaged("the commit %.40s that it is made of did not come with it", id)
		}
	}
	for ref := range a.rec.Refs {
		if !strings.HasPrefix(ref, orchestrator.Ref(run, "")) {
			return a, damaged("it has a reference %.100q of something else", ref)
		}
	}
	return a, r.matches(a)
}

// matches holds what the chain does not cover against the events.
func (r Remote) matches(a arrived) error {
	damaged := func(format string, args ...any) error {
		return &journal.DamagedError{Run: a.rec.Run, What: fmt.Sprintf(format, args...)}
	}
	outcome := work.RunOutcome("")
	if a.state.Outcome != "" {
		outcome = a.state.Outcome
	}
	if a.rec.Outcome != outcome {
		return damaged("it says that the run is %.20q, and its events say %q", a.rec.Outcome, outcome)
	}
	if a.rec.Issue != 0 || a.rec.Project != "" {
		return damaged("it is of an issue, whose board does not travel")
	}
	open := map[string]bool{}
	for _, c := range a.rec.Checkpoints {
		asked := a.state.Open[c.ID]
		switch {
		case asked == nil && c.Status == work.CheckpointPending:
			return damaged("checkpoint %s waits, and its events do not say that it was asked", c.ID)
		case asked == nil:
			continue
		}
		open[c.ID] = true
		if !sameQuestion(*asked, c) {
			return damaged("checkpoint %s does not ask what its events say", c.ID)
		}
		if c.Status != work.CheckpointPending && c.Status != work.CheckpointExpired && !slices.ContainsFunc(a.rec.Inbox, func(in work.Answer) bool { return in.Checkpoint == c.ID }) {
			return damaged("checkpoint %s is answered, and its answer is missing", c.ID)
		}
	}
	for id := range a.state.Open {
		if !open[id] {
			return damaged("checkpoint %s is missing", id)
		}
	}
	return nil
}

// sameQuestion says that a checkpoint's row asks what its event says.
func sameQuestion(asked, row work.Checkpoint) bool {
	bare := func(c work.Checkpoint) string {
		c.Status, c.Comment, c.Choice, c.AnsweredBy, c.Door, c.AnsweredAt = "", "", "", "", "", nil
		c.Verdicts, c.Comments, c.CommentsGiven, c.Edits = nil, nil, 0, nil
		text, err := json.Marshal(c)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return bare(asked) == bare(row)
}

// settled puts a record that was checked into this machine's state.
func (r Remote) settled(ctx context.Context, a arrived, t journal.Travel) error {
	run := a.rec.Run
	// References first: without the run they name nothing, and the run without
	// them could lose its commits.
	if len(a.rec.Refs) > 0 {
		if err := r.repo.SetRefs(ctx, a.rec.Refs); err != nil {
			return err
		}
	}
	if err := r.repo.UpdateRef(ctx, keptRecord(run), t.Tip, ""); err != nil {
		return err
	}
	if err := r.p.Journal.Import(ctx, a.rec, &t); err != nil {
		return err
	}
	base := a.state.Spec.Base.Commit
	if there, err := r.repo.InUser(ctx, base); err != nil || !there || a.state.Outcome.Final() {
		return err
	}
	return r.repo.KeepBase(ctx, run, base)
}
