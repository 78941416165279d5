package approval

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Rewind leaves the wish that a phase goes on from what one of its iterations left.
// The process that drives the run, or will, meets it. One that cannot be met is
// refused.
func Rewind(ctx context.Context, p *project.Checkout, run string, r work.Rewind, by, door string) (work.Rewound, journal.RunRow, error) {
	if r.Text = strings.TrimSpace(r.Text); len(r.Text) > work.MaxMessage {
		return work.Rewound{}, journal.RunRow{}, refusal.New("shorten it, or put it into a file of the repository and name that", "what you say has %d bytes, at most %d are taken", len(r.Text), work.MaxMessage)
	}
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return work.Rewound{}, row, err
	}
	if why := s.CannotRewind(r.Phase, r.Iteration, r.Attempt); why != "" {
		return work.Rewound{}, row, refusal.New(insteadOfRewind(s, r), "nothing was set back: %s", why)
	}
	at, err := s.SnapOf(r.Phase, r.Iteration, r.Attempt)
	if err != nil {
		return work.Rewound{}, row, err
	}
	r.Attempt = at.Attempt
	r.ID = strings.ToLower(rand.Text()[:10])
	if err := p.Journal.Tell(ctx, row.ID, work.Answer{By: by, Door: door, At: p.Now(), Rewind: &r}); err != nil {
		return work.Rewound{}, row, err
	}
	out := rewound(s, r)
	row, err = p.PickRun(ctx, row.ID)
	return out, row, err
}

// insteadOfRewind is the way out where a phase cannot be set back.
func insteadOfRewind(s *orchestrator.State, r work.Rewind) string {
	if _, err := s.SnapOf(r.Phase, r.Iteration, r.Attempt); err != nil {
		return fmt.Sprintf("forge status %s shows the phases, forge logs --run %s their iterations", s.Run, s.Run)
	}
	if s.CannotFork(r.Phase, r.Iteration, r.Attempt) == "" {
		return fmt.Sprintf("forge fork %s %s %d begins a new run from there", s.Run, r.Phase, r.Iteration)
	}
	return fmt.Sprintf("forge status %s shows where it stands", s.Run)
}

// SetBack says how far a phase that is to be set back has come by now; refused is
// why it never is.
func SetBack(ctx context.Context, p *project.Checkout, run string, r work.Rewound) (now work.Rewound, refused string, err error) {
	_, s, err := p.StandOf(ctx, run)
	if err != nil {
		return r, "", fmt.Errorf("look how far the phase is set back: %w", err)
	}
	if ph := s.View(r.Phase); ph != nil && slices.Contains(ph.Rewinds, r.ID) {
		r.State = work.RewindDone
	}
	return r, s.WhyRefused(r.ID), nil
}

// rewound is a wish as it stands before anybody has met it.
func rewound(s *orchestrator.State, r work.Rewind) work.Rewound {
	out := work.Rewound{Run: s.Run, Phase: r.Phase, ID: r.ID, Iteration: r.Iteration, State: work.RewindQueued}
	if at, err := s.SnapOf(r.Phase, r.Iteration, r.Attempt); err == nil {
		out.Commit = at.Commit
	}
	for _, n := range s.Order {
		if ph := s.View(n); ph.Outcome == work.PhaseSkipped && ph.Cause == r.Phase {
			out.Again = append(out.Again, n)
		}
	}
	return out
}
