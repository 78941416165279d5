package narrate

import (
	"fmt"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/text"
	"forge/internal/work"
)

// sayLanding is what was decided about landing an issue's result.
func sayLanding(e work.Event) (string, facts, error) {
	return telling(e, func(d landing.DecidedData) (string, facts) {
		held := facts{{"held by", factory.HeldWords(d.Hold)}, {"why", d.Reason}}
		if d.Hold == "" {
			held = facts{{"why", d.Reason}}
		}
		switch d.Decision {
		case landing.DecideProve:
			return fmt.Sprintf("landing, attempt %d: what the target would be is proven", d.Try), nil
		case landing.DecideLand:
			return fmt.Sprintf("landing, attempt %d: it is proven, so the target becomes just that", d.Try), nil
		case landing.DecideCheck:
			return fmt.Sprintf("landing, attempt %d: the host has merged it, which is held against what was proven", d.Try), nil
		case landing.DecideLanded:
			return fmt.Sprintf("landed on %s as %s", d.Target, text.Short(d.Commit)), held
		case landing.DecideMoved:
			return fmt.Sprintf("landing, attempt %d: anew, since something moved", d.Try), held
		case landing.DecideAgain:
			return "another run goes on from the result", held
		case landing.DecideShown:
			return "the result is shown to people", held
		case landing.DecideLeft:
			return "no other run is needed", held
		}
		return "the result does not land now", held
	})
}
