package todos

import (
	"fmt"
	"strings"

	"forge/internal/text"
)

// Tell shows todos with their state, and what is wrong with them.
func Tell(l List) string {
	var b strings.Builder
	fmt.Fprintf(&b, "todos.yaml: %d of %d done\n", len(l.Check().Done), len(l.Todos))
	marks := map[Status]string{Done: "x", InProgress: "~", Open: " "}
	for _, t := range l.Todos {
		needs := ""
		if len(t.Needs) > 0 {
			needs = "  (after " + text.OneLine(strings.Join(t.Needs, ", "), 100) + ")"
		}
		fmt.Fprintf(&b, "  [%s] %s%s\n", marks[t.Status], text.OneLine(t.Title, 200), needs)
	}
	for _, problem := range l.Problems {
		fmt.Fprintf(&b, "  ! %s\n", text.OneLine(problem, 300))
	}
	return b.String()
}
