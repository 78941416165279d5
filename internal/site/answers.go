package site

import (
	"context"
	"errors"
	"net/http"

	pages "forge/factory/web"
	"forge/internal/approval"
	"forge/internal/config"
	"forge/internal/handoff"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/todos"
	"forge/internal/work"
)

// answers is where the pages' answers go: the same way as those of the
// command line: both give an answer by approval.Give. Taken is called after what lets
// a run go on.
type answers struct {
	*view
	taken func()
}

func (s answers) Checkpoints(ctx context.Context, run string, status work.CheckpointStatus, limit int, after string) ([]work.Checkpoint, error) {
	return s.p.Journal.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: status}, limit, after)
}

// Judged is what forge show shows.
func (s answers) Judged(ctx context.Context, id string) (pages.Judged, error) {
	cp, err := approval.Exact(ctx, s.p, id)
	if err != nil {
		return pages.Judged{}, err
	}
	shown, err := approval.ReadRecord(ctx, s.p, cp, true)
	if err != nil {
		return pages.Judged{}, err
	}
	out := pages.Judged{
		Checkpoint: shown.Checkpoint, Level: shown.Level, From: shown.From, To: shown.Judged, Files: shown.Files, Words: shown.Summary, Doubts: shown.Doubts,
		Verify: shown.Evidence.Verify, Protected: shown.Evidence.Protected, Gone: shown.Evidence.Gone,
		Records: shown.Evidence.Records, InDoubt: shown.Evidence.Doubts,
	}
	if shown.From == shown.Judged {
		out.From, out.To = "", ""
	}
	if j := shown.Papers; j != nil {
		out.Papers = map[string]string{}
		for name, text := range map[string]string{"plan.md": j.Plan, "workspace.md": j.Workspace, "todos.yaml": "```\n" + todos.Tell(j.Todos) + "```\n"} {
			if text != "" {
				out.Papers[name] = text
			}
		}
	}
	return out, nil
}

func (s answers) Answer(ctx context.Context, a work.Answer, level string) (work.Checkpoint, error) {
	if _, err := approval.Exact(ctx, s.p, a.Checkpoint); err != nil {
		return work.Checkpoint{}, err
	}
	cp, _, err := approval.Give(ctx, s.p, a, approval.Options{Level: level, Away: handoff.AnswerAway})
	if err == nil {
		s.taken()
	}
	return cp, forPages(err)
}

// forPages is what a person is told on a page where the command line would end
// with exit code 2; other errors stay what they are. Refused answers have words
// of their own there.
func forPages(err error) error {
	var usage *refusal.Error
	var problems *config.Problems
	switch {
	case errors.As(err, &usage):
		return &pages.Complaint{Status: http.StatusUnprocessableEntity, What: text.UpperFirst(usage.What) + ".", Fix: usage.Fix}
	case errors.As(err, &problems):
		return &pages.Complaint{Status: http.StatusUnprocessableEntity, What: text.UpperFirst(problems.Error()), Fix: "It is the project's configuration that says so."}
	}
	return err
}

func (s answers) JudgeFiles(ctx context.Context, id string, revision int, verdicts []work.FileVerdict) (work.Checkpoint, error) {
	cp, err := approval.Exact(ctx, s.p, id)
	if err != nil {
		return cp, err
	}
	return approval.JudgeFiles(ctx, s.p, cp, revision, verdicts)
}

func (s answers) SetLevel(ctx context.Context, run, level, by, door string) error {
	if err := s.exactRun(ctx, run); err != nil {
		return err
	}
	_, _, err := approval.SetLevel(ctx, s.p, run, level, by, door)
	var over *approval.OverError
	if errors.As(err, &over) {
		err = refusal.New("", "%v", err)
	}
	return forPages(err)
}

func (s answers) Tell(ctx context.Context, run string, m work.Message, by, door string) (work.Told, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return work.Told{}, err
	}
	told, _, err := approval.Tell(ctx, s.p, run, m, by, door)
	return told, forPages(err)
}

func (s answers) Rewind(ctx context.Context, run string, r work.Rewind, by, door string) (work.Rewound, error) {
	if err := s.exactRun(ctx, run); err != nil {
		return work.Rewound{}, err
	}
	back, _, err := approval.Rewind(ctx, s.p, run, r, by, door)
	if err == nil {
		s.taken()
	}
	return back, forPages(err)
}
