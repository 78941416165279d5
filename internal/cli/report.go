package cli

import (
	"context"
	"fmt"

	"forge/internal/git"
	"forge/internal/narrate"
	"forge/internal/report"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

// report says at the end what was done, what it cost, where the result is, how
// to undo it, and where to read on. It goes to stderr when stdout is a stream.
func (p *checkout) report(ctx context.Context, repo *git.Store, s *orchestrator.State, end work.RunFinishedData, o runOptions) {
	if o.output == "json" && p.app.quiet {
		return
	}
	out := p.app.Stdout
	if o.output == "json" {
		out = p.app.Stderr
	}
	fmt.Fprint(out, report.End(s, end, changeOf(ctx, repo, s), p.Now()))
}

// changeOf is the size of what a run delivered; "" where that is nothing or cannot
// be read.
func changeOf(ctx context.Context, repo *git.Store, s *orchestrator.State) string {
	if narrate.DiffCommand(s) == "" {
		return ""
	}
	patch, err := repo.Diff(ctx, s.Spec.Base.Commit, s.Delivery.Commit)
	if err != nil || patch == "" {
		return ""
	}
	return tui.PatchSize(patch)
}
