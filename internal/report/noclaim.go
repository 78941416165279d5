package report

import (
	"fmt"

	"forge/factory"
	"forge/internal/refusal"
	"forge/internal/work"
)

// NotClaimed says why an issue is not worked on, and the way out.
func NotClaimed(no factory.NoClaim, i work.Issue) error {
	return refusal.New(wayToClaim(no, i.ID), "issue %d is not worked on: %s", i.ID, sayNoClaim(no, i))
}

func sayNoClaim(no factory.NoClaim, i work.Issue) string {
	switch no {
	case factory.NoClaimColumn:
		if i.Reason != "" {
			return fmt.Sprintf("it stands in %s: %s", i.Column, i.Reason)
		}
		return fmt.Sprintf("it stands in %s", i.Column)
	case factory.NoClaimStopped, factory.NoClaimWaits:
		return IssueStanding(i)
	case factory.NoClaimHeld:
		return "another process works on it"
	case factory.NoClaimNeeds:
		return "what it needs is not done"
	case factory.NoClaimLater, factory.NoClaimOrigin, factory.NoClaimUnwanted:
		return i.Reason
	}
	return string(no)
}

func wayToClaim(no factory.NoClaim, id int64) string {
	switch no {
	case factory.NoClaimStopped:
		return fmt.Sprintf("forge issue retry %d takes it up again", id)
	case factory.NoClaimWaits:
		return "forge checkpoints shows what waits for you"
	case factory.NoClaimNeeds:
		return fmt.Sprintf("forge issue show %d names it", id)
	}
	return fmt.Sprintf("forge issue show %d", id)
}
