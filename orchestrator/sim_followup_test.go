package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/work"
)

// leftForLater: what a person who approved left for later is remembered, once,
// and nothing that somebody left who did not approve.
func (c *invariants) leftForLater(s *State, e work.Event) error {
	if len(s.FollowUps) != c.later[""] {
		return fmt.Errorf("%d things are left for later, and people left %d", len(s.FollowUps), c.later[""])
	}
	var d CheckpointAnsweredData
	if e.Kind != work.CheckpointAnswered || read(c, e, &d) != nil || d.Refused != "" {
		return nil
	}
	given := slices.ContainsFunc(c.answers[d.ID], func(a work.Answer) bool { return a.Status == d.Status && slices.Equal(a.FollowUps, d.FollowUps) })
	switch {
	case d.Status != work.CheckpointApproved && len(d.FollowUps) > 0:
		return fmt.Errorf("checkpoint %s is %s, and leaves something for later", d.ID, d.Status)
	case d.Status == work.CheckpointApproved && !given:
		return fmt.Errorf("checkpoint %s leaves %q for later, which nobody said", d.ID, d.FollowUps)
	}
	note(c, c.later, "", min(c.later[""]+len(d.FollowUps), maxRunFollowUps))
	return nil
}
