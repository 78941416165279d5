package factory

import (
	"fmt"
	"strings"

	"forge/internal/work"
)

// Parts says how an issue stands that was broken into others: done when all of
// them are, else what it waits for, in one line. One without parts is not done.
func Parts(parts []work.Issue) (done bool, reason string) {
	finished := 0
	var bad []string
	for _, i := range parts {
		switch {
		case i.Column == work.ColumnDone:
			finished++
		case stopped(i):
			text := fmt.Sprintf("#%d %s", i.ID, i.State)
			if i.Reason != "" {
				text += ": " + i.Reason
			}
			bad = append(bad, text)
		}
	}
	if len(parts) > 0 && finished == len(parts) {
		return true, fmt.Sprintf("its %d parts are done", len(parts))
	}
	reason = fmt.Sprintf("waits for its parts: %d of %d done", finished, len(parts))
	if len(bad) > 0 {
		reason += "; " + strings.Join(bad, "; ")
	}
	return false, Line(reason)
}
