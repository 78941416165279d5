package landing

import (
	"encoding/json"
	"fmt"

	"forge/internal/work"
)

// Shown are the pages that were shown when it was last proven that the target may
// become what a run made, or that it is good where the host merged; nil = none were.
// A try that shows none leaves what an earlier one showed. The events are the run's.
func Shown(events []work.Event) ([]work.PageShown, error) {
	var out []work.PageShown
	for _, e := range events {
		if e.Kind != work.LandingFinished {
			continue
		}
		var d FinishedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return nil, fmt.Errorf("read event %d, of the landing: %w", e.Seq, err)
		}
		switch {
		case d.Proof != nil && len(d.Proof.Pages) > 0:
			out = d.Proof.Pages
		case d.Probe != nil && len(d.Probe.Pages) > 0:
			out = d.Probe.Pages
		case d.Check != nil && len(d.Check.Pages) > 0:
			out = d.Check.Pages
		}
	}
	return out, nil
}
