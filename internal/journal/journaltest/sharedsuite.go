package journaltest

import (
	"context"
	"errors"
	"testing"

	"forge/internal/work"
)

// SharedFiles is the part of a journal that keeps small files for all processes.
// *journal.Store is one.
type SharedFiles interface {
	SharedVersion(ctx context.Context, name string) (int64, error)
	Shared(ctx context.Context, name string) (data []byte, version int64, err error)
	PutShared(ctx context.Context, name string, data []byte, seen int64) error
}

// RunShared runs the suite of shared files on an empty one.
func RunShared(t *testing.T, s SharedFiles) {
	is := func(text string, version int64) {
		t.Helper()
		data, got, err := s.Shared(t.Context(), "users")
		known, err2 := s.SharedVersion(t.Context(), "users")
		if err := errors.Join(err, err2); err != nil || string(data) != text || got != version || known != version {
			t.Errorf("it is %q, version %d and %d, %v; want %q, version %d", data, got, known, err, text, version)
		}
	}
	put := func(text string, seen int64, want error) {
		t.Helper()
		if err := s.PutShared(t.Context(), "users", []byte(text), seen); !errors.Is(err, want) {
			t.Errorf("put %q over version %d: %v, want %v", text, seen, err, want)
		}
	}
	is("", 0)
	put("early", 1, work.ErrStale)
	put("one", 0, nil)
	is("one", 1)
	put("another first one", 0, work.ErrStale)
	put("two \x00 ä", 1, nil)
	put("late", 1, work.ErrStale)
	is("two \x00 ä", 2)
}
