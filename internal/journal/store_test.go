package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/work"
)

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with ?#% in it", "state")
	s := openIn(t, dir)
	l := create(t, s, "run")
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 3)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := s.Append(t.Context(), l, Append{Events: eventsOf("run", 4, 4)}); err == nil {
		t.Error("appended to a closed journal")
	}
	if err := l.Heartbeat(t.Context()); err == nil {
		t.Error("heartbeat in a closed journal")
	}
	if _, err := s.Changed(t.Context()); err == nil {
		t.Error("watched a closed journal")
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName+"-wal")); err == nil {
		t.Error("Close left the log behind")
	}
	events, err := openIn(t, dir).Events(t.Context(), "run", 0)
	if err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := Open(context.Background(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Another process is in the middle of making the journal.
func TestOpenWhileItIsMade(t *testing.T) {
	dir := t.TempDir()
	other, err := sql.Open("sqlite", filepath.Join(dir, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		s, err := Open(context.Background(), dir)
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("Open did not wait: %v", err)
		return
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPragmas(t *testing.T) {
	s, l := openWithRun(t, "run")
	if err := l.Heartbeat(t.Context()); err != nil { // opens the quick writer
		t.Fatal(err)
	}
	read := func(q interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}, pragma string) (value string) {
		if err := q.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "recursive_triggers": "1",
	} {
		if got := read(s.durable.conn, pragma); got != want {
			t.Errorf("%s of the durable writer is %s, want %s", pragma, got, want)
		}
	}
	if got := read(s.quick.conn, "synchronous"); got != "1" {
		t.Errorf("synchronous of the quick writer is %s", got)
	}
	if got := read(s.readers, "query_only"); got != "1" {
		t.Errorf("query_only of a reader is %s", got)
	}
}

// A database that this program must not touch is refused and left as it is.
func TestRefused(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir, file string)
		want  error
		says  string
	}{
		{"newer", func(t *testing.T, dir, file string) { shell(t, dir, `PRAGMA user_version = 99`) }, ErrNewer, "version 99"},
		{"foreign", func(t *testing.T, dir, file string) {
			remove(t, file)
			shell(t, dir, `CREATE TABLE theirs (a)`)
		}, ErrBroken, "another program"},
		{"foreign id", func(t *testing.T, dir, file string) { shell(t, dir, `PRAGMA application_id = 7`) }, ErrBroken, "another program"},
		{"text", func(t *testing.T, dir, file string) { write(t, file, bytes.Repeat([]byte("no database\n"), 1000)) }, ErrBroken, "not a whole"},
		{"truncated", func(t *testing.T, dir, file string) {
			if err := os.Truncate(file, 3*4096); err != nil {
				t.Fatal(err)
			}
		}, ErrBroken, "not a whole"},
		{"emptied", func(t *testing.T, dir, file string) { write(t, file, nil) }, ErrBroken, "missing or empty"},
		{"gone", func(t *testing.T, dir, file string) { remove(t, file) }, ErrBroken, "missing or empty"},
		{"emptied beside a log", func(t *testing.T, dir, file string) {
			if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
				t.Fatal(err)
			}
			write(t, file, nil)
			write(t, file+"-wal", []byte("frames"))
		}, ErrBroken, "missing or empty"},
		{"a folder", func(t *testing.T, dir, file string) {
			remove(t, file)
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, ErrBroken, "not a file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, databaseName)
			s := openIn(t, dir)
			appendTo(t, s, create(t, s, "run"), Append{Events: eventsOf("run", 1, 100)})
			if _, err := s.PutBlob(t.Context(), []byte("blob")); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			test.spoil(t, dir, file)
			before, _ := os.ReadFile(file)
			_, err := Open(t.Context(), dir)
			wantError(t, err, test.want)
			for _, says := range []string{file, test.says, "; "} { // the way out follows
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(after, before) {
				t.Error("the file was changed")
			}
		})
	}
}

// A process that died while it made the journal leaves one that can be opened.
func TestBeginningOfAJournal(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir, file string){
		"empty file": func(t *testing.T, dir, file string) { write(t, file, nil) },
		"no schema":  func(t *testing.T, dir, file string) { shell(t, dir, `PRAGMA journal_mode = WAL`) },
		"no blobs": func(t *testing.T, dir, file string) {
			openIn(t, dir).Close()
			remove(t, file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(t, dir, filepath.Join(dir, databaseName))
			create(t, openIn(t, dir), "run")
		})
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, WithBusyTimeout(20*time.Millisecond))
	l := create(t, s, "run")
	other, err := sql.Open("sqlite", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	err = s.Append(t.Context(), l, Append{Events: eventsOf("run", 1, 1)})
	wantError(t, err, ErrLocked)
	if !strings.Contains(err.Error(), s.path) {
		t.Errorf("%q does not name the file", err)
	}
	if events, err := s.Events(t.Context(), "run", 0); err != nil || len(events) != 0 {
		t.Errorf("reading beside a writer: %d events, %v", len(events), err)
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 1)})

	// A database that another program has wholly to itself cannot be opened.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(`PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, WithBusyTimeout(20*time.Millisecond))
	wantError(t, err, ErrLocked)
}

func TestFull(t *testing.T) {
	s, l := openWithRun(t, "run")
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 1)})
	var pages int
	if err := s.durable.conn.QueryRowContext(t.Context(), `PRAGMA max_page_count = 1`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	big := event("run", 2)
	big.Data = []byte(`"` + strings.Repeat("x", 10000) + `"`)
	err := s.Append(t.Context(), l, Append{Events: []work.Event{big}})
	wantError(t, err, ErrFull)
	if !strings.Contains(err.Error(), s.path) {
		t.Errorf("%q does not name the file", err)
	}
	if err := s.durable.conn.QueryRowContext(t.Context(), `PRAGMA max_page_count = 100000`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, l, Append{Events: []work.Event{big}})
	if events, err := s.Events(t.Context(), "run", 0); err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestChanged(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	changed := func(want bool) {
		t.Helper()
		if got, err := s.Changed(t.Context()); err != nil || got != want {
			t.Errorf("changed: %v, %v, want %v", got, err, want)
		}
	}
	changed(true)
	changed(false)
	other := openIn(t, dir)
	changed(false)
	l := create(t, other, "run")
	changed(true)
	changed(false)
	wantError(t, other.Append(t.Context(), l, Append{Events: eventsOf("run", 2, 2)}), ErrSequence)
	changed(false)
}

func TestWriteWaitsItsTurn(t *testing.T) {
	s, l := openWithRun(t, "run")
	s.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Append(ctx, l, Append{Events: eventsOf("run", 1, 1)}) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-s.turn
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
