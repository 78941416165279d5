package approval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// Words is what was said about what is judged: by the agent, by the
// reviewers, and by the arbiter.
type Words struct {
	Summary  string         `json:"summary,omitempty"`  // the agent's last words
	Findings []work.Finding `json:"findings,omitempty"` // of the reviews that stand
	// Doubts are why a machine did not say yes: findings that stand against
	// it, reviewers without an answer, words of the arbiter.
	Doubts []string `json:"doubts,omitempty"`
	// Lessons are what the agents of what is judged propose to tell others.
	Lessons []work.Lesson `json:"lessons,omitempty"`
}

// hear takes an event of the phase that is judged.
func (w *Words) hear(e work.Event) error {
	switch e.Kind {
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := work.Decode(e, &d); err != nil {
			return err
		}
		w.Summary, w.Doubts = d.Message, nil
		if b := d.Signals.Blockers; len(b) > 0 {
			w.Doubts = append(w.Doubts, "the agent was blocked: "+strings.Join(b, "; "))
		}
		for _, assumed := range d.Signals.Assumptions {
			w.Doubts = append(w.Doubts, "the agent assumed: "+assumed)
		}
	case work.ArbiterDecided:
		var d orchestrator.ArbiterDecidedData
		if err := work.Decode(e, &d); err != nil {
			return err
		}
		w.Doubts = nil
		if d.Verdict == review.Proceed && len(d.Findings) == 0 {
			return nil
		}
		text := fmt.Sprintf("arbiter: %s (%s)", d.Verdict, d.Reason)
		if d.Confidence != nil {
			text += fmt.Sprintf(", confidence %v", *d.Confidence)
		}
		if d.Why != "" {
			text += ": " + d.Why
		}
		w.Doubts = append(w.Doubts, text)
		if len(d.Unknown) > 0 {
			w.Doubts = append(w.Doubts, "no usable answer of "+strings.Join(d.Unknown, ", "))
		}
		if d.Overruled {
			w.Doubts = append(w.Doubts, "the arbiter's model said "+d.Said+" and was overruled")
		}
	}
	return nil
}

// maxSaidInAll is how much of the agents' words is shown where a run as a whole
// is judged, in bytes.
const maxSaidInAll = 8 << 10

// saidInAll is what was said last in each phase that is done, under its name; of
// many phases, the last ones.
func saidInAll(s *orchestrator.State, said map[string]string) string {
	var parts []string
	for _, n := range s.Order {
		p := s.View(n)
		text := strings.TrimSpace(said[n])
		if p.Outcome != work.PhaseDone || p.Parent != "" || text == "" {
			continue
		}
		parts = append(parts, fmt.Sprintf("**Phase %s, %s**\n\n%s", n, p.Plan.Name, text))
	}
	size := 0
	for at := len(parts) - 1; at > 0; at-- {
		if size += len(parts[at]); size+len(parts[at-1]) > maxSaidInAll {
			return fmt.Sprintf("(%d earlier phases are left out.)\n\n", at) + strings.Join(parts[at:], "\n\n")
		}
	}
	return strings.Join(parts, "\n\n")
}

// stand takes the findings as they stand.
func (w *Words) stand(p *orchestrator.View) {
	for _, name := range slices.Sorted(maps.Keys(p.Review.Of)) {
		for _, f := range p.Review.Of[name].Findings {
			if f.Specialist == "" {
				f.Specialist = name
			}
			w.Findings = append(w.Findings, f)
		}
	}
}
