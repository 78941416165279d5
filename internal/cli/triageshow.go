package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/backtest"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

// whyThread shows every decision of a thread of triage.
func (p *checkout) whyThread(ctx context.Context, run, output string) error {
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return err
	}
	s, evs, err := p.TriageEvents(ctx, row.ID)
	if err != nil {
		return err
	}
	out := report.Why{Run: row.ID, State: project.RunState(row), Outcome: row.Outcome, Level: s.Policy.Preset, Policy: s.Policy.Version(), Least: []backtest.Least{}, Events: []work.Event{}}
	if out.Least, err = p.leastOfThread(ctx, row.ID, evs); err != nil {
		return err
	}
	for _, e := range evs {
		if e.Kind != triage.SubProposed && e.Kind != triage.InferenceStarted && e.Kind != triage.SpawnStarted && e.Kind != triage.CleanupStarted {
			out.Events = append(out.Events, e)
		}
	}
	if output == "json" {
		return printJSON(p.app.Stdout, out)
	}
	w := bufio.NewWriter(p.app.Stdout)
	t := &narrate.Teller{Out: w, Policy: out.Policy, Least: map[string]string{}}
	for _, l := range out.Least {
		t.Least[l.Checkpoint] = l.Text()
	}
	state := out.State
	if row.Outcome != "" {
		state = string(row.Outcome)
	}
	t.Wrap("", fmt.Sprintf("triage of issue %d, %s: %s, policy %s (version %s)", s.Spec.Issue, row.ID, state, cmp.Or(out.Level, "of its own"), text.Short(out.Policy)))
	for _, e := range out.Events {
		if err := t.Tell(e); err != nil {
			return err
		}
	}
	return w.Flush()
}

// leastOfThread says of every question about a proposal which smallest change
// of the policy would have spared it.
func (p *checkout) leastOfThread(ctx context.Context, run string, evs []work.Event) ([]backtest.Least, error) {
	s, err := p.BeginThread(ctx, run, evs)
	if err != nil {
		return nil, err
	}
	out := []backtest.Least{}
	for _, e := range evs {
		if err := triage.Apply(s, e); err != nil {
			return nil, err
		}
		if e.Kind != work.CheckpointOpened || s.Open == nil {
			continue
		}
		target := gates.Point(s.Open.Kind)
		least := backtest.Least{Checkpoint: s.Open.ID, Phase: e.Phase, Changes: []gates.Change{}}
		if changes, ok := s.Least(target); ok {
			least.Changes = append(least.Changes, changes...)
			if i := slices.Index(gates.Targets(), target); i >= 0 && s.Stages[i].Value == nil {
				least.Instead = s.Spec.Inferrer + " is asked"
			}
			if bound := s.Spec.Bound; bound != nil {
				least.Beyond = gates.Exceeds(s.Policy.Changed(changes), *bound)
			}
		}
		out = append(out, least)
	}
	return out, nil
}
