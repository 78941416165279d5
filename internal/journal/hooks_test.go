package journal

import (
	"fmt"
	"testing"
	"time"
)

// A webhook is known again by any of its words, for as long as they are
// remembered; one that is sent again and again under other ids fills nothing.
func TestHooksThatCameBefore(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := openIn(t, t.TempDir(), WithClock(func() time.Time { return now }))
	fresh := func(want bool, tracker string, known ...string) {
		t.Helper()
		if got, err := s.NewHook(t.Context(), tracker, known); err != nil || got != want {
			t.Errorf("%s %q: fresh %v (%v), want %v", tracker, known, got, err, want)
		}
	}
	rows := func() (n int) {
		t.Helper()
		if err := s.readers.QueryRowContext(t.Context(), `SELECT count(*) FROM tracker_hooks`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	fresh(true, "one", "body a", "id 1")
	for n := range 200 {
		fresh(false, "one", "body a", fmt.Sprint("id again ", n))
	}
	fresh(false, "one", "body b", "id 1")
	fresh(false, "one", "id 1")
	if n := rows(); n != 2 {
		t.Errorf("%d words are remembered, want 2", n)
	}
	fresh(true, "one", "body b", "id 2")
	fresh(true, "other", "body a", "id 1")
	// Forgotten, also while nothing was written that would have removed it.
	now = now.Add(hookMemory + time.Second)
	fresh(true, "one", "body a", "id 1")
	fresh(false, "one", "body a", "id 3")
	if n := rows(); n != 2 {
		t.Errorf("%d words are left after their time, want 2", n)
	}
}
