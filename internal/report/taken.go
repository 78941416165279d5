package report

import (
	"fmt"
	"strings"

	"forge/internal/runs"
	"forge/internal/text"
)

// Taken says what was done, that nobody proved it, and how to undo it.
func Taken(t runs.Taken) string {
	var b strings.Builder
	what := "The work of phase " + t.Phase + " (" + text.OneLine(t.Name, 100) + ")"
	switch t.Onto {
	case runs.TakeChanges:
		fmt.Fprintf(&b, "%s is in your checkout, not committed.\n", what)
	case runs.TakeCommit:
		fmt.Fprintf(&b, "%s is commit %s on your branch %s.\n", what, text.Short(t.Commit), t.Branch)
	default:
		fmt.Fprintf(&b, "%s is on branch %s: commit %s, on top of %s. Your files are as they were.\n", what, t.Branch, text.Short(t.Commit), text.Short(t.Base))
	}
	fmt.Fprintf(&b, "It is NOT proven: %s\n\n", text.OneLine(t.Why, 300))
	fmt.Fprintf(&b, "Look:  %s\n", t.Look())
	if t.Onto == runs.TakeBranch {
		fmt.Fprintf(&b, "Merge: git merge %s   (nothing has proven it)\n", t.Branch)
	}
	fmt.Fprintf(&b, "Undo:  %s\n", t.Undo())
	return b.String()
}
