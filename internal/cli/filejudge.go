package cli

import (
	"context"
	"fmt"
	"path"
	"strings"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/refusal"
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
		return refused(err, work.Checkpoint{})
	}
	verdicts, err := p.verdicts(ctx, cp, f)
	if err != nil {
		return err
	}
	if _, err := approval.Keep(ctx, p.Checkout, cp); err != nil && refusalCode(err) == "" {
		return err
	}
	now, err := p.Journal.JudgeFiles(ctx, cp.ID, f.revision, verdicts, a.Now())
	if err != nil {
		return refused(err, cp)
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

// verdicts checks that the files are part of what is judged.
func (p *checkout) verdicts(ctx context.Context, cp work.Checkpoint, f fileAnswer) ([]work.FileVerdict, error) {
	s, err := approval.ReadRecord(ctx, p.Checkout, cp, true)
	if err != nil {
		return nil, err
	}
	if len(s.Files) == 0 {
		return nil, refusal.New("answer the whole", "checkpoint %s judges no change, so no file of one", cp.ID)
	}
	var names []string
	for _, c := range s.Files {
		names = append(names, c.Path)
	}
	var out []work.FileVerdict
	for _, given := range f.paths {
		name, known := path.Clean(given), false
		for _, n := range names {
			known = known || n == given || n == name
		}
		if !known {
			fix := "forge show " + cp.ID + " --stat lists them"
			if near := gates.Nearest(given, names); near != "" {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, refusal.New(fix, "%q is no file of the change", text.FirstLine(given, 100))
		}
		out = append(out, work.FileVerdict{Path: name, Status: f.status, Comment: f.comment, By: p.User(), At: p.Now()})
	}
	return out, nil
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
