package cli

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/internal/backtest"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/internal/worker"
	"forge/orchestrator"
)

func (a *App) whyCommand() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "show what was decided in a run or phase, with its facts", ArgsUsage: "[PHASE]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also that nobody had to decide and the work went on"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			for _, id := range []string{c.String("run"), phase} {
				if triage.IsThread(id) {
					return p.whyThread(c.Context, id, out)
				}
			}
			return p.why(c.Context, c.String("run"), phase, out, c.Bool("all"))
		},
	}
}

// whyOutput is forge why --output json.
type whyOutput struct {
	Run     string          `json:"run"`
	State   string          `json:"state"`
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Level   string          `json:"level"`  // the policy's preset
	Policy  string          `json:"policy"` // its version
	Phase   string          `json:"phase,omitempty"`
	// Least says of each checkpoint which change of the policy would have
	// spared it.
	Least  []backtest.Least `json:"least"`
	Events []work.Event     `json:"events"` // as in the stream of forge run, without what decides nothing
}

func (p *checkout) why(ctx context.Context, run, phase, output string, all bool) error {
	row, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return err
	}
	spec, err := p.SpecOf(ctx, evs[0])
	if err != nil {
		return err
	}
	if phase != "" && s.Phases[phase] == nil {
		return runs.NoPhase(s, phase)
	}
	out := whyOutput{Run: row.ID, State: project.RunState(row), Outcome: row.Outcome, Level: s.Spec.Policy.Preset, Policy: s.Spec.Policy.Version(), Phase: phase, Events: []work.Event{}}
	least, err := backtest.LeastOf(s, spec, evs)
	if err != nil {
		return err
	}
	out.Least = slices.DeleteFunc(least, func(l backtest.Least) bool { return !narrate.Belongs(s, phase, work.Event{Phase: l.Phase}) })
	for _, e := range evs {
		if narrate.Decides(e.Kind) && narrate.Belongs(s, phase, e) {
			out.Events = append(out.Events, e)
		}
	}
	if output == "json" {
		return printJSON(p.app.Stdout, out)
	}
	if !all {
		out.Events = slices.DeleteFunc(out.Events, narrate.Plain)
	}
	return p.whyText(row, s, out)
}

func (p *checkout) whyText(r journal.RunRow, s *orchestrator.State, out whyOutput) error {
	w := bufio.NewWriter(p.app.Stdout)
	t := &narrate.Teller{Out: w, Policy: out.Policy, Least: map[string]string{}}
	for _, l := range out.Least {
		t.Least[l.Checkpoint] = l.Text()
	}
	t.Wrap("", narrate.NounOf(s)+" "+r.ID+": "+report.Standing(r, s)+", policy "+cmp.Or(out.Level, "of its own")+" (version "+text.Short(out.Policy)+")")
	for _, e := range out.Events {
		if err := t.Tell(e); err != nil {
			return err
		}
	}
	if phase := s.Phases[out.Phase]; phase != nil {
		t.Wrap("", "")
		t.Wrap("", "Phase "+phase.Number+" "+phase.Plan.Name+": "+strings.TrimSpace(phase.Word(project.Driven(r))+" "+report.Reason(phase)))
	}
	if said := worker.LandingSaid(p.Layout().Log(s.Run, "landing-verify")); s.Spec.Issue != nil && said != "" {
		t.Wrap("", "")
		t.Wrap("", "Landing: "+said)
	}
	if kept := narrate.KeptText(s, out.Phase); kept != "" {
		t.Wrap("", "")
		t.Wrap("", strings.TrimSpace(kept))
	}
	return w.Flush()
}
