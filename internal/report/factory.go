package report

import (
	"fmt"
	"strings"
	"time"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
)

// FactoryStanding is whether a board is worked on, and why not.
func FactoryStanding(s pages.Standing) string {
	body := "Nobody works on the board: forge factory does."
	if s.Serving {
		body = "The board is being worked on, since " + s.Since.Local().Format(time.DateTime) + "."
	}
	switch {
	case s.Drain:
		body += "\nDraining: nothing is claimed, and the server ends when nothing runs."
	case s.Paused:
		body += "\nPaused: nothing is claimed. forge factory resume goes on."
	case strings.HasPrefix(s.Note, factory.NoteBeside):
		body += "\n" + text.UpperFirst(s.Note)
	case s.Note != "":
		body += "\nNothing is claimed: " + s.Note
	}
	if len(s.Running) > 0 {
		body += "\nWorks on: " + narrate.Hashes(s.Running)
	}
	if s.InReview > 0 {
		body += fmt.Sprintf("\nIn review: %d", s.InReview)
	}
	return text.Harmless(body)
}

// BoardCounts is how many issues stand where, in a line.
func BoardCounts(counts map[work.Column]int) string {
	var parts []string
	for _, c := range work.Columns() {
		if counts[c] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[c], strings.ReplaceAll(string(c), "_", " ")))
		}
	}
	if len(parts) == 0 {
		return "the board is empty"
	}
	return strings.Join(parts, ", ")
}
