package runs

import (
	"context"
	"fmt"
	"strings"

	"forge/internal/git"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// IterationChange is what one iteration changed, as forge audit changes --output
// json lists it.
type IterationChange struct {
	Phase     string            `json:"phase"`
	Iteration int               `json:"iteration"`
	Attempt   int               `json:"attempt"`
	Commit    string            `json:"commit"` // in Forge's own repository
	Files     []work.FileChange `json:"files"`
}

// IterationChanges are the changes of the iterations that events tell of, of one
// phase alone unless it is "".
func IterationChanges(ctx context.Context, repo *git.Store, evs []work.Event, phase string) ([]IterationChange, error) {
	list := []IterationChange{}
	for _, e := range evs {
		var d work.IterationFinishedData
		if e.Kind != work.IterationFinished || phase != "" && e.Phase != phase || work.Decode(e, &d) != nil || d.Snapshot == "" {
			continue
		}
		one := IterationChange{Phase: e.Phase, Iteration: e.Iteration, Attempt: e.Attempt, Commit: d.Snapshot, Files: []work.FileChange{}}
		parents, err := repo.Parents(ctx, d.Snapshot)
		if err == nil && d.Changed && len(parents) > 0 {
			one.Files, err = repo.Changes(ctx, parents[0], d.Snapshot)
		}
		if err != nil {
			return nil, refusal.New("forge audit show has the events without the files", "read what iteration %d of phase %s changed: %v", e.Iteration, e.Phase, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// IterationChangesText is the list for a person.
func IterationChangesText(list []IterationChange) string {
	if len(list) == 0 {
		return "No iteration of it has ended yet.\n"
	}
	var b strings.Builder
	for _, one := range list {
		fmt.Fprintf(&b, "phase %s, iteration %d, attempt %d: %s\n", one.Phase, one.Iteration, one.Attempt, text.Number(len(one.Files), "file"))
		for _, f := range one.Files {
			fmt.Fprintf(&b, "  %s %s\n", f.Status, text.Harmless(f.Path))
		}
	}
	return b.String()
}
