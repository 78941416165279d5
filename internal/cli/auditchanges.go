package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// iterationChange is what one iteration changed, as forge audit changes --output
// json lists it.
type iterationChange struct {
	Phase     string            `json:"phase"`
	Iteration int               `json:"iteration"`
	Attempt   int               `json:"attempt"`
	Commit    string            `json:"commit"` // in Forge's own repository
	Files     []work.FileChange `json:"files"`
}

func (a *App) auditChangesCommand(run cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "changes", Usage: "which files each iteration changed", ArgsUsage: "[PHASE]", Flags: []cli.Flag{run, outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			p, err := a.openRuns(c)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.auditChanges(c.Context, c.String("run"), phase, out)
		},
	}
}

func (p *checkout) auditChanges(ctx context.Context, run, phase, output string) error {
	_, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return err
	}
	if phase != "" && s.Phases[phase] == nil {
		return runs.NoPhase(s, phase)
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	list := []iterationChange{}
	for _, e := range evs {
		var d work.IterationFinishedData
		if e.Kind != work.IterationFinished || phase != "" && e.Phase != phase || work.Decode(e, &d) != nil || d.Snapshot == "" {
			continue
		}
		one := iterationChange{Phase: e.Phase, Iteration: e.Iteration, Attempt: e.Attempt, Commit: d.Snapshot, Files: []work.FileChange{}}
		parents, err := repo.Parents(ctx, d.Snapshot)
		if err == nil && d.Changed && len(parents) > 0 {
			one.Files, err = repo.Changes(ctx, parents[0], d.Snapshot)
		}
		if err != nil {
			return refusal.New("forge audit show has the events without the files", "read what iteration %d of phase %s changed: %v", e.Iteration, e.Phase, err)
		}
		list = append(list, one)
	}
	if output == "json" {
		return printJSON(p.app.Stdout, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.app.Stdout, "No iteration of it has ended yet.")
		return err
	}
	for _, one := range list {
		fmt.Fprintf(p.app.Stdout, "phase %s, iteration %d, attempt %d: %s\n", one.Phase, one.Iteration, one.Attempt, text.Number(len(one.Files), "file"))
		for _, f := range one.Files {
			if _, err := fmt.Fprintf(p.app.Stdout, "  %s %s\n", f.Status, text.Harmless(f.Path)); err != nil {
				return err
			}
		}
	}
	return nil
}
