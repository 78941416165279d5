package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/backtest"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) policyBacktestCommand() *cli.Command {
	return &cli.Command{
		Name: "backtest", Usage: "say what another policy would have decided in past runs; nothing is executed",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "policy", Usage: "the preset `NAME` to try"},
			&cli.StringSliceFlag{Name: "runs", Usage: "of run `ID` alone (repeatable, or with commas); all runs without it"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			switch {
			case c.Args().Present():
				return refusal.New("forge policy backtest --policy NAME --runs ID", "forge policy backtest takes no arguments, got %q", c.Args().First())
			case c.String("policy") == "":
				return refusal.New("forge policy list shows the presets", "forge policy backtest needs --policy NAME")
			}
			return a.backtest(c.Context, c.String("policy"), c.StringSlice("runs"), out)
		},
	}
}

// backtested is forge policy backtest --output json.
type backtested struct {
	Policy  string            `json:"policy"`
	Version string            `json:"version"`
	Totals  backtest.Totals   `json:"totals"`
	Runs    []backtest.Report `json:"runs"`
}

func (a *App) backtest(ctx context.Context, name string, runs []string, output string) error {
	cfg, err := a.loadConfig(ctx)
	if err != nil {
		return err
	}
	policy, err := project.Preset(cfg, name)
	if err != nil {
		return err
	}
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	some, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	out := backtested{Policy: name, Version: policy.Version(), Runs: []backtest.Report{}}
	if some {
		if out.Runs, err = p.replayAll(ctx, policy, runs); err != nil {
			return err
		}
	}
	for _, report := range out.Runs {
		out.Totals.Add(report)
	}
	if output == "json" {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(out.text()))
	return err
}

// pickAll are the runs that are named, each once; all of them when none is.
func (p *checkout) pickAll(ctx context.Context, names []string) ([]journal.RunRow, error) {
	if len(names) == 0 {
		return runs.WithoutTriage(p.Journal.Runs(ctx))
	}
	var out []journal.RunRow
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" {
			return nil, refusal.New("forge status --all lists them", "--runs names no run")
		}
		row, err := p.PickRun(ctx, name)
		if err != nil {
			return nil, err
		}
		if !seen[row.ID] {
			seen[row.ID] = true
			out = append(out, row)
		}
	}
	return out, nil
}

// replayAll asks of the named runs, or of all.
func (p *checkout) replayAll(ctx context.Context, policy gates.Policy, names []string) ([]backtest.Report, error) {
	rows, err := p.pickAll(ctx, names)
	if err != nil {
		return nil, err
	}
	out := []backtest.Report{}
	for _, row := range rows {
		if row.Events == 0 {
			continue // just being opened
		}
		report, err := p.replay(ctx, row.ID, policy)
		if err != nil {
			return nil, err
		}
		out = append(out, report)
	}
	return out, nil
}

// replay asks of one run what policy would have decided. Its events are read
// once, a page at a time.
func (p *checkout) replay(ctx context.Context, run string, policy gates.Policy) (backtest.Report, error) {
	opened := func(e work.Event) (orchestrator.Spec, error) { return p.SpecOf(ctx, e) }
	story, err := backtest.Read(opened, p.Journal.Replay(ctx, run, 0))
	if err != nil {
		return backtest.Report{}, err
	}
	return backtest.Replay(story, policy.WithCheckpointTypes(story.Spec.Settings.CheckpointTypes)), nil
}

// text is one table, and what would have passed below it.
func (b backtested) text() string {
	if len(b.Runs) == 0 {
		return "There are no runs to look at.\n"
	}
	var rows [][]string
	for _, r := range b.Runs {
		rows = append(rows, []string{
			r.Run, cmp.Or(r.Level, "(own)"), cmp.Or(string(r.Outcome), "unfinished"), fmt.Sprint(r.Asked), fmt.Sprint(r.WouldAsk),
			fmt.Sprint(len(r.Opened)), fmt.Sprint(len(r.Passed)), promoted(r.Promotion),
		})
	}
	var t strings.Builder
	fmt.Fprintf(&t, "Under %s (version %s):\n\n", b.Policy, text.Short(b.Version))
	t.WriteString(text.Table([]string{"RUN", "LEVEL", "OUTCOME", "ASKED", "WOULD ASK", "MORE", "FEWER", "RESULT"}, rows))
	for _, r := range b.Runs {
		for _, d := range r.Opened {
			fmt.Fprintf(&t, "\n%s %s: it would have asked at %s", r.Run, about(d), points(d))
		}
		for _, d := range r.Passed {
			fmt.Fprintf(&t, "\n%s %s: it would not have asked at %s (%s)", r.Run, about(d), points(d), d.Checkpoint)
			switch {
			case d.Wrong != "":
				t.WriteString(", wrongly: " + d.Wrong)
			case d.Instead != "":
				t.WriteString("; instead " + d.Instead)
			}
		}
	}
	n := b.Totals
	fmt.Fprintf(&t, "\n\n%s, %s: asked %s, would have asked %s.\n", text.Number(n.Runs, "run"), text.Number(n.Decisions, "decision"), text.Number(n.Asked, "time"), text.Number(n.WouldAsk, "time"))
	fmt.Fprintf(&t, "%s fewer, %d of them wrongly; %d more. %s promoted without a person, %d of them wrongly.\n", text.Number(n.Passed, "question"), n.PassedWrong, n.Opened, text.Number(n.Promoted, "result"), n.PromotedWrong)
	return t.String()
}

// about is what a boundary is about.
func about(d backtest.Difference) string {
	if d.Phase == "" {
		return "the run as a whole"
	}
	return "phase " + d.Phase
}

func points(d backtest.Difference) string {
	if d.Kind == orchestrator.PointBaseline {
		return d.Kind
	}
	out := make([]string, len(d.Points))
	for i, pt := range d.Points {
		out[i] = string(pt)
	}
	return strings.Join(out, ", ")
}

// promoted is what would have become of a result, in a few words.
func promoted(p backtest.Promotion) string {
	switch {
	case p.Decision == "":
		return "-"
	case p.Wrong != "":
		return p.Decision + ", wrongly: " + p.Wrong
	case len(p.Hold) > 0 && p.Decision != backtest.AskedFirst:
		var why []string
		for _, h := range p.Hold {
			why = append(why, string(h))
		}
		return p.Decision + " (" + strings.Join(why, ", ") + ")"
	}
	return p.Decision
}
