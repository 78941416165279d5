package runs

import (
	"errors"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// The folder of a run that is over is removed while nobody can take the run up: who rewinds
// it at that moment would work in a folder that vanishes.
func TestNobodyTakesUpARunWhoseFolderGoes(t *testing.T) {
	t.Parallel()
	store, err := journal.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := &project.Checkout{Journal: store}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ends := func(run string, outcome work.RunOutcome) *journal.Lease {
		t.Helper()
		lease, err := store.CreateRun(t.Context(), run, journal.Self())
		if err == nil {
			err = store.Append(t.Context(), lease, journal.Append{
				Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: began, Run: run, Kind: work.RunStarted}},
				Status: &journal.Status{Outcome: outcome},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	other := journal.Owner{ID: "another", Host: "elsewhere"}
	over := func(r journal.RunRow) bool { return !r.Unfinished() && !r.Alive }
	removes := func(run string, want bool) {
		t.Helper()
		done, err := whileOver(t.Context(), p, run, over, func() error {
			if _, err := store.AcquireRun(t.Context(), run, other); run != "nobody" && !errors.Is(err, journal.ErrLease) {
				t.Errorf("%s was taken up while its folder was removed: %v", run, err)
			}
			return nil
		})
		if done != want || err != nil {
			t.Errorf("%s: removed %t, want %t; %v", run, done, want, err)
		}
	}
	free := ends("over", work.RunCompleted)
	removes("over", false) // its process is at its end still
	if err := free.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	removes("over", true)
	if _, err := store.AcquireRun(t.Context(), "over", other); err != nil {
		t.Errorf("nobody can take up what was tidied: %v", err)
	}
	if err := ends("waits", work.RunFrozen).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	removes("waits", false)
	removes("nobody", true)
}
