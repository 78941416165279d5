package cli

import (
	"context"
	"fmt"

	"forge/internal/approval"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

// fileAnswer is a verdict on single files of what a checkpoint judges.
type fileAnswer struct {
	id       string
	revision int
	paths    []string
	status   work.CheckpointStatus
	comment  string
	output   string
}

// judgeFiles keeps the verdicts with the checkpoint, which stays open.
func (a *App) judgeFiles(ctx context.Context, f fileAnswer) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	cp, err := approval.Find(ctx, p.Checkout, f.id)
	if err != nil {
		return approval.Refused(err, work.Checkpoint{})
	}
	files, err := approval.NameFiles(ctx, p.Checkout, cp, f.paths)
	if err != nil {
		return err
	}
	verdicts := make([]work.FileVerdict, len(files))
	for n, path := range files {
		verdicts[n] = work.FileVerdict{Path: path, Status: f.status, Comment: f.comment, By: p.User(), At: p.Now()}
	}
	now, err := approval.JudgeFiles(ctx, p.Checkout, cp, f.revision, verdicts)
	if err != nil {
		return approval.Refused(err, cp)
	}
	next := "forge approve " + cp.ID
	if len(now.SentBack()) > 0 {
		next = "forge request-changes " + cp.ID
	}
	if f.output == "json" {
		return printJSON(a.Stdout, answered{Checkpoint: &now, Next: next})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(fmt.Sprintf("%s still waits.\n%s\nNext: %s\n", cp.ID, report.Verdicts(now.Verdicts), next)))
	return err
}
