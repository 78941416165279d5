package journaltest_test

import (
	"testing"

	"forge/internal/journal"
	"forge/internal/journal/journaltest"
)

func TestMemoryBoard(t *testing.T) {
	journaltest.RunBoard(t, func(*testing.T) journaltest.Board { return &journaltest.MemoryBoard{} })
}

func TestMemoryClaims(t *testing.T) {
	journaltest.RunClaims(t, func(*testing.T) journaltest.ClaimBoard { return &journaltest.MemoryBoard{} })
}

func TestStoreClaims(t *testing.T) {
	journaltest.RunClaims(t, func(t *testing.T) journaltest.ClaimBoard {
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

func TestMemoryLeaders(t *testing.T) {
	journaltest.RunLeaders(t, func(*testing.T) journaltest.Leaders { return &journaltest.MemoryLeaders{} })
}

func TestStoreLeadersAndShared(t *testing.T) {
	open := func(t *testing.T) *journal.Store {
		s, err := journal.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	journaltest.RunLeaders(t, func(t *testing.T) journaltest.Leaders { return open(t) })
	journaltest.RunShared(t, open(t))
}
