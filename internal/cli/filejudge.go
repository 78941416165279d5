package cli

import (
	"context"
	"fmt"
	"strings"

	"forge/internal/approval"
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
	_, err = fmt.Fprint(a.Stdout, text.Harmless(fmt.Sprintf("%s still waits.\n%s\nNext: %s\n", cp.ID, verdictsText(now.Verdicts), next)))
	return err
}

// verdictsText lists what was said of single files.
func verdictsText(all []work.FileVerdict) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nFiles judged one by one:\n")
	for _, v := range all {
		fmt.Fprintf(&b, "  %s: %s by %s\n", v.Path, strings.ReplaceAll(string(v.Status), "_", " "), v.By)
		if v.Comment != "" {
			b.WriteString(text.Indent(strings.TrimSpace(v.Comment)) + "\n")
		}
	}
	return b.String()
}
