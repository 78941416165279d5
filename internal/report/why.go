package report

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"

	"forge/internal/backtest"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Why is forge why --output json.
type Why struct {
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

// WhyOf is what was decided in a run, or in one phase of it.
func WhyOf(row journal.RunRow, s *orchestrator.State, spec orchestrator.Spec, evs []work.Event, phase string) (Why, error) {
	out := Why{Run: row.ID, State: project.RunState(row), Outcome: row.Outcome, Level: s.Spec.Policy.Preset, Policy: s.Spec.Policy.Version(), Phase: phase, Events: []work.Event{}}
	least, err := backtest.LeastOf(s, spec, evs)
	if err != nil {
		return out, err
	}
	out.Least = slices.DeleteFunc(least, func(l backtest.Least) bool { return !narrate.Belongs(s, phase, work.Event{Phase: l.Phase}) })
	for _, e := range evs {
		if narrate.Decides(e.Kind) && narrate.Belongs(s, phase, e) {
			out.Events = append(out.Events, e)
		}
	}
	return out, nil
}

// Write writes what was decided for a person; landing is what was said of the
// landing of an issue's result, "" = nothing. Without all it leaves out where nobody
// had to decide and the work went on.
func (out Why) Write(to io.Writer, r journal.RunRow, s *orchestrator.State, landing string, all bool) error {
	if !all {
		out.Events = slices.DeleteFunc(out.Events, narrate.Plain)
	}
	w := bufio.NewWriter(to)
	t := &narrate.Teller{Out: w, Policy: out.Policy, Least: map[string]string{}}
	for _, l := range out.Least {
		t.Least[l.Checkpoint] = l.Text()
	}
	t.Wrap("", narrate.NounOf(s)+" "+r.ID+": "+Standing(r, s)+", policy "+cmp.Or(out.Level, "of its own")+" (version "+text.Short(out.Policy)+")")
	for _, e := range out.Events {
		if err := t.Tell(e); err != nil {
			return err
		}
	}
	if phase := s.View(out.Phase); phase != nil {
		t.Wrap("", "")
		t.Wrap("", "Phase "+phase.Number+" "+phase.Plan.Name+": "+strings.TrimSpace(phase.Word(project.Driven(r))+" "+Reason(phase)))
	}
	if landing != "" {
		t.Wrap("", "")
		t.Wrap("", "Landing: "+landing)
	}
	if kept := narrate.KeptText(s, out.Phase); kept != "" {
		t.Wrap("", "")
		t.Wrap("", strings.TrimSpace(kept))
	}
	return w.Flush()
}
