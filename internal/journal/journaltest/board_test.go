package journaltest_test

import (
	"testing"

	"forge/internal/journal"
	"forge/internal/journal/journaltest"
)

func TestMemoryBoard(t *testing.T) {
	journaltest.RunBoard(t, func(*testing.T) journaltest.Board { return &journaltest.MemoryBoard{} })
}

func TestStoreBoard(t *testing.T) {
	journaltest.RunBoard(t, func(t *testing.T) journaltest.Board {
		s, err := journal.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
