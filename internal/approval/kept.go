package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Kept is cp with what was said of single files when they were asked about
// before, as far as those are still what was judged then: a rework that leaves
// a file alone leaves its verdict, too. What was said at cp itself comes first.
func Kept(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (work.Checkpoint, error) {
	if cp.Status != work.CheckpointPending || triage.IsThread(cp.Run) {
		return cp, nil
	}
	all, err := Checkpoints(ctx, p, journal.CheckpointFilter{Run: cp.Run})
	if err != nil {
		return cp, err
	}
	before := slices.DeleteFunc(all, func(c work.Checkpoint) bool {
		return c.ID == cp.ID || len(c.Verdicts) == 0 || c.Phase != cp.Phase || !c.OpenedAt.Before(cp.OpenedAt)
	})
	if len(before) == 0 {
		return cp, nil
	}
	now, err := judgedAt(ctx, p, cp)
	if err != nil || now == "" {
		return cp, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return cp, err
	}
	cp.Verdicts = slices.Clone(cp.Verdicts)
	// The last word on a file counts, so the newest is looked at first.
	slices.SortFunc(before, func(a, b work.Checkpoint) int { return b.OpenedAt.Compare(a.OpenedAt) })
	settled := map[string]bool{}
	for _, v := range cp.Verdicts {
		settled[v.Path] = true
	}
	for _, old := range before {
		then, err := judgedAt(ctx, p, old)
		if err != nil {
			return cp, err
		}
		changes, err := repo.Changes(ctx, then, now)
		if err != nil {
			return cp, fmt.Errorf("see which files were judged as they are: %w", err)
		}
		for _, v := range old.Verdicts {
			changed := slices.ContainsFunc(changes, func(c work.FileChange) bool { return c.Path == v.Path })
			if !settled[v.Path] && !changed && len(cp.Verdicts) < work.MaxFileVerdicts {
				cp.Verdicts = append(cp.Verdicts, v)
			}
			settled[v.Path] = true
		}
	}
	return cp, nil
}

// judgedAt is the commit that cp asks about, "" = none.
func judgedAt(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (string, error) {
	s, err := askedAt(ctx, p, cp, &Evidence{}, &Words{})
	if err != nil {
		return "", err
	}
	if ph := s.View(cp.Phase); ph != nil {
		return JudgedCommit(ph, cp), nil
	}
	if cp.Kind == orchestrator.PointBaseline {
		return "", nil
	}
	return s.Head, nil
}

// keepVerdicts writes down the verdicts that kept brings along, so that an answer to the
// whole finds them.
func keepVerdicts(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (work.Checkpoint, error) {
	now, err := Kept(ctx, p, cp)
	if err != nil || len(now.Verdicts) == len(cp.Verdicts) {
		return now, err
	}
	return p.Journal.JudgeFiles(ctx, cp.ID, cp.Revision, now.Verdicts[len(cp.Verdicts):], p.Now())
}

// JudgedBefore tells the reader of a pull request what was said of its files
// before, "" = nothing.
func JudgedBefore(ctx context.Context, p *project.Checkout, checkpoint string) (string, error) {
	cp, err := Find(ctx, p, checkpoint)
	if errors.Is(err, work.ErrUnknown) {
		return "", nil
	}
	if err == nil {
		cp, err = Kept(ctx, p, cp)
	}
	if err != nil || len(cp.Verdicts) == 0 {
		return "", err
	}
	var b strings.Builder
	b.WriteString("They have not changed since.\n\n")
	for _, v := range cp.Verdicts {
		fmt.Fprintf(&b, "%s: %s by %s\n", strings.ReplaceAll(v.Path, "`", "'"), strings.ReplaceAll(string(v.Status), "_", " "), v.By)
	}
	return b.String(), nil
}

// JudgedIn is JudgedBefore of one project.
func JudgedIn(p *project.Checkout) func(ctx context.Context, checkpoint string) (string, error) {
	return func(ctx context.Context, checkpoint string) (string, error) { return JudgedBefore(ctx, p, checkpoint) }
}
