package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"forge/internal/work"
)

// childMode makes the test binary behave as another process: see child_test.go.
const childMode = "FORGE_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := runChild(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// openIn opens the journal in dir for the length of the test.
func openIn(t testing.TB, dir string, options ...Option) *Store {
	t.Helper()
	s, err := Open(context.Background(), dir, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openWithRun(t testing.TB, run string, options ...Option) (*Store, *Lease) {
	t.Helper()
	s := openIn(t, t.TempDir(), options...)
	return s, create(t, s, run)
}

func create(t testing.TB, s *Store, run string) *Lease {
	t.Helper()
	l, err := s.CreateRun(context.Background(), run, Self())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unsynced is for tests that make very many commits and cut no power.
func unsynced(s *Store) { s.sync = "OFF" }

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)

func event(run string, seq int64) work.Event {
	return work.Event{V: work.EventVersion, Seq: seq, Time: testTime.Add(time.Duration(seq)), Run: run, Kind: work.Warned, Data: []byte(`{"n":1}`)}
}

func eventsOf(run string, from, to int64) []work.Event {
	var list []work.Event
	for seq := from; seq <= to; seq++ {
		list = append(list, event(run, seq))
	}
	return list
}

func appendTo(t testing.TB, s *Store, l *Lease, a Append) {
	t.Helper()
	if err := s.Append(context.Background(), l, a); err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// shell is what a person with a SQLite shell could do to the database in dir.
func shell(t testing.TB, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

const dropTriggers = `DROP TRIGGER events_are_not_changed; DROP TRIGGER events_are_not_deleted`
