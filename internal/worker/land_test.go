package worker

import (
	"testing"

	"forge/internal/work"
)

// Nothing but commands that ran and passed lets a result land.
func TestUnprovenHolds(t *testing.T) {
	t.Parallel()
	ran := make([]work.CommandReport, 1)
	for name, c := range map[string]struct {
		rep    work.CommandsReport
		proven bool
	}{
		"passed":           {work.CommandsReport{OK: true, Ran: ran}, true},
		"nothing ran":      {work.CommandsReport{OK: true}, false},
		"nothing said":     {work.CommandsReport{}, false},
		"failed":           {work.CommandsReport{Ran: ran, Problem: "exit 1"}, false},
		"failed, silently": {work.CommandsReport{Ran: ran}, false},
	} {
		if why := unproven(c.rep); (why == "") != c.proven {
			t.Errorf("%s: %q", name, why)
		}
	}
}
