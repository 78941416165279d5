package approval

import (
	"context"
	"fmt"
	"slices"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// Triage is what forge show says of a question of triage beside the
// record.
type Triage struct {
	Issue    int64             `json:"issue"`
	Title    string            `json:"title"`
	Target   gates.Point       `json:"target"`
	Proposal *triage.Value     `json:"proposal"` // null where nothing was inferred
	Parts    []triage.SubIssue `json:"parts,omitempty"`
	Failed   []string          `json:"failed"` // the axes that keep it
	Least    []gates.Change    `json:"least"`  // of the policy, that would have let it through; none where no policy would do
}

// readThread is a question of triage as it was when it was opened.
func readThread(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (Record, error) {
	out := Record{Checkpoint: cp, Files: []work.FileChange{}, Evidence: Evidence{Protected: []string{}, Gone: []string{}}, Who: gates.WhoAnswers(cp)}
	_, out.Over = gates.Expire(cp, p.Now())
	evs, err := p.Journal.Events(ctx, cp.Run, 0)
	if err != nil {
		return out, err
	}
	s, err := p.BeginThread(ctx, cp.Run, evs)
	if err != nil {
		return out, err
	}
	for _, e := range evs {
		if err := triage.Apply(s, e); err != nil {
			return out, err
		}
		if e.Kind == work.CheckpointOpened && s.Open != nil && s.Open.ID == cp.ID {
			out.Level, out.Triage = s.Policy.Preset, triageAt(s, gates.Point(cp.Kind))
			return out, nil
		}
	}
	return out, fmt.Errorf("%w: %s does not say that checkpoint %s was opened", journal.ErrBroken, cp.Run, cp.ID)
}

func triageAt(s *triage.State, target gates.Point) *Triage {
	shown := &Triage{Issue: s.Spec.Issue, Title: s.Spec.Title, Target: target, Failed: []string{}, Least: []gates.Change{}}
	if i := slices.Index(gates.Targets(), target); i >= 0 {
		shown.Proposal = s.Stages[i].Value
		shown.Failed = append(shown.Failed, s.Stages[i].Failed...)
		if shown.Proposal != nil {
			shown.Parts = shown.Proposal.SubIssues
		}
	}
	if changes, ok := s.Least(target); ok {
		shown.Least = append(shown.Least, changes...)
	}
	return shown
}
