package runs

import (
	"context"
	"time"

	"forge/internal/project"
	"forge/orchestrator"
)

// mostAway is in how many runs is looked for agents whose providers are out.
const mostAway = 20

// Away are the agents of which the newest runs say that their providers are out,
// until when. A run that is resumed asks them all the same.
func Away(ctx context.Context, p *project.Checkout, now time.Time) (map[string]time.Time, error) {
	rows, err := WithoutTriage(p.Journal.Runs(ctx))
	if err != nil {
		return nil, err
	}
	out := map[string]time.Time{}
	for _, row := range rows[:min(len(rows), mostAway)] {
		var s *orchestrator.State
		if s, err = p.Fold(ctx, row.ID, nil); err != nil {
			continue // status says what is wrong with it
		}
		for agent, away := range s.Away {
			if away.Until.After(now) && away.Until.After(out[agent]) {
				out[agent] = away.Until
			}
		}
	}
	return out, nil
}
