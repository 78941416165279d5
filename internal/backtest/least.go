package backtest

import (
	"iter"
	"strings"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// Least is the smallest change of the policy under which nobody would
// have been asked at a checkpoint.
type Least struct {
	Checkpoint string         `json:"checkpoint"`
	Phase      string         `json:"phase,omitempty"`
	Changes    []gates.Change `json:"changes"` // never null; none where no policy would do
	// Own names the levels of the phase's own that ask there, whatever the run's.
	Own []string `json:"own,omitempty"`
	// Instead says what Forge would then have done, where it is not to go on;
	// Beyond names the axes that the run's bound does not allow.
	Instead string   `json:"instead,omitempty"`
	Beyond  []string `json:"beyond,omitempty"`
}

// LeastOf finds it for every checkpoint of a run.
func LeastOf(s *orchestrator.State, spec orchestrator.Spec, evs []work.Event) ([]Least, error) {
	story, err := Read(func(work.Event) (orchestrator.Spec, error) { return spec, nil }, eventsOf(evs))
	if err != nil {
		return nil, err
	}
	out := []Least{}
	for _, b := range story.Boundaries {
		if !b.Asked {
			continue
		}
		changes, _ := b.Policy.Least(b.Moment)
		var own []string
		switch freed := b.Policy.Changed(changes); {
		case b.bound != nil && b.bound(freed).Stops(b.Moment):
			changes, own = nil, b.Levels
		case b.Facts != nil && b.Stops(freed):
			changes = nil // what holds the issue is no policy's doing
		}
		least := Least{Checkpoint: b.ID, Phase: b.Phase, Changes: append([]gates.Change{}, changes...), Own: own, Instead: Instead(b)}
		if bound := s.Spec.Bound; bound != nil {
			least.Beyond = gates.Exceeds(b.Policy.Changed(changes), *bound)
		}
		out = append(out, least)
	}
	return out, nil
}

// eventsOf are events as the journal reads them.
func eventsOf(evs []work.Event) iter.Seq2[work.Event, error] {
	return func(yield func(work.Event, error) bool) {
		for _, e := range evs {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Text is what forge why says below the question.
func (l Least) Text() string {
	if len(l.Own) > 0 {
		return "the level of a phase or an agent asks here: " + strings.Join(l.Own, ", ")
	}
	if len(l.Changes) == 0 {
		return "no policy decides this"
	}
	lines := make([]string, len(l.Changes))
	for i, c := range l.Changes {
		lines[i] = c.String()
	}
	text := strings.Join(lines, ", ")
	if l.Instead != "" {
		text += "; then " + l.Instead
	}
	if len(l.Beyond) > 0 {
		text += "; the run's bound does not allow it"
	}
	return text
}
