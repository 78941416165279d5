package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/journal"
)

// Of a file and a database one counts, and which is said: a file that nobody
// moved is not passed over, one that was moved is not gone on with.
func TestOneJournalCounts(t *testing.T) {
	state := t.TempDir()
	dialled := 0
	env := Env{Environ: []string{"TEAM_DB=postgres://h/d"}, Stores: func(_ context.Context, variable, url string, _ func(string)) (*journal.Store, error) {
		if variable != "TEAM_DB" || url != "postgres://h/d" {
			t.Errorf("%s with %s is opened", variable, url)
		}
		dialled++
		return nil, nil
	}}
	file, server := &Checkout{Env: env, State: state}, &Checkout{Env: env, State: state, Server: "TEAM_DB"}
	refused := func(p *Checkout, want string) {
		t.Helper()
		before := dialled
		if _, err := p.OpenStore(t.Context(), false); err == nil || !strings.Contains(err.Error(), want) || dialled != before {
			t.Errorf("got %v with %d calls, want %q and none", err, dialled-before, want)
		}
	}
	if ok, err := server.OpenStore(t.Context(), false); !ok || err != nil || dialled != 1 {
		t.Fatalf("an empty state folder: %v, %v, %d calls", ok, err, dialled)
	}
	if err := os.WriteFile(file.JournalFile(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(server, "is still in "+file.JournalFile())
	want := Moved{To: "postgres://h/d", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := file.MarkMoved(&want); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Moved(); err != nil || got == nil || *got != want {
		t.Errorf("the mark is %+v, %v", got, err)
	}
	refused(file, "was moved to postgres://h/d")
	if _, err := server.OpenStore(t.Context(), false); err != nil || dialled != 2 {
		t.Errorf("a file that was moved is in the way: %v", err)
	}
	if err := os.WriteFile(filepath.Join(state, "journal.moved"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(file, "read where the journal was moved to")
	refused(server, "read where the journal was moved to")
	if err := file.MarkMoved(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Moved(); err != nil || got != nil {
		t.Errorf("the mark is still %+v, %v", got, err)
	}
}
