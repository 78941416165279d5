package trackers

import (
	"testing"

	"forge/factory"
	"forge/internal/work"
)

// What came from a file, and a part of it, was written elsewhere, but nobody is asked
// whether it is still wanted: there is no tracker that could say so. An issue whose
// tracker is not known is asked about all the same, and held.
func TestImportedIsAskedOfNobody(t *testing.T) {
	w := newTrackerWorld(t)
	o := Origins{store: w.store, project: "p"}
	for source, from := range map[string]string{work.ImportedSource + "vibe-kanban/App/VIB-1": "", "vibe-kanban#1": "vibe-kanban"} {
		i, err := w.sync.Board.Add(t.Context(), work.Issue{Title: "t", Priority: work.PriorityNormal, Column: work.ColumnReady, Source: source}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []work.Issue{i, {Project: "p", ID: i.ID + 100, Parent: i.ID}} {
			if got, err := o.From(t.Context(), of); got != from || err != nil {
				t.Errorf("%s: from %q, %v, want %q", source, got, err, from)
			}
			if origin, ok, err := o.ofTracker(t.Context(), of); !ok || err != nil || origin.Source != source {
				t.Errorf("%s counts as written here: %+v, %v", source, origin, err)
			}
		}
	}
}
