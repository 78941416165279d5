package report

import (
	"fmt"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// Rewound is what forge rewind says: how far a phase that is set back has come, and
// what to do next.
type Rewound struct {
	work.Rewound
	Driven bool   `json:"driven"` // a process goes on with the run by itself
	Next   string `json:"next"`
}

// RewoundPhase is that of a run.
func RewoundPhase(r work.Rewound, row journal.RunRow) Rewound {
	out := Rewound{Rewound: r, Driven: project.Driven(row), Next: "forge resume " + row.ID}
	if out.Driven {
		out.Next = "forge logs -f --run " + row.ID + " " + r.Phase
	}
	return out
}

// Text is the same for a terminal.
func (r Rewound) Text() string {
	from := fmt.Sprintf("iteration %d", r.Iteration)
	if r.Iteration == 0 {
		from = "what it began with"
	}
	how := "goes on from " + from
	switch {
	case r.State == work.RewindDone:
	case r.Driven:
		how = "queued: it goes on from " + from + " when what is under way has ended"
	default:
		how = "queued: it goes on from " + from + " when the run is resumed"
	}
	if len(r.Again) > 0 {
		how += "; open again with it: " + strings.Join(r.Again, ", ")
	}
	return fmt.Sprintf("%s phase %s: %s (commit %s)\nNext: %s\n", r.Run, r.Phase, how, text.Short(r.Commit), r.Next)
}
