package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/board"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// Nothing but commands that ran and passed lets a result land.
func TestUnprovenHolds(t *testing.T) {
	t.Parallel()
	ran := make([]work.CommandReport, 1)
	for name, c := range map[string]struct {
		rep    work.CommandsReport
		proven bool
	}{
		"passed":           {work.CommandsReport{OK: true, Ran: ran}, true},
		"nothing ran":      {work.CommandsReport{OK: true}, false},
		"nothing said":     {work.CommandsReport{}, false},
		"failed":           {work.CommandsReport{Ran: ran, Problem: "exit 1"}, false},
		"failed, silently": {work.CommandsReport{Ran: ran}, false},
	} {
		if why := unproven(c.rep); (why == "") != c.proven {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A project whose pages are a part of the proof and that has no commands for what
// would land, since its phases have their own: nothing lands without its pages.
func TestPagesWithoutCommandsDoNotLand(t *testing.T) {
	var run orchestrator.State
	got, err := (&Worker{}).verified(t.Context(), nil, &run, "m", toLand{commit: "c", onto: "o"})
	if err != nil || got.verdict != landing.NoCommands {
		t.Errorf("without pages: %v, %v", got.verdict, err)
	}
	run.Spec.Settings.Proof.Pages = []work.PageSettings{{URL: "http://localhost:1/"}}
	got, err = (&Worker{}).verified(t.Context(), nil, &run, "m", toLand{commit: "c", onto: "o"})
	if err != nil || got.verdict != landing.Red || !strings.Contains(got.problem, "verify.commands") {
		t.Errorf("with pages: %v, %q, %v", got.verdict, got.problem, err)
	}
}

// What the machine lacked while a result was proven says nothing about the result: it
// is tried again, and lands.
func TestALandingWaitsForRoom(t *testing.T) {
	t.Parallel()
	w := newLineWorld(t, "a", "b")
	land := func(title string) (factory.Landed, error) {
		return placed{w.worker}.Land(t.Context(), w.of[title], "", func(work.IssuePull) error { return nil })
	}
	if got, err := land("a"); err != nil || got.Commit == "" {
		t.Fatalf("with room: %+v, %v", got, err)
	}
	w.worker.room = func(*project.Checkout) error {
		return &fs.PathError{Op: "write", Path: "there", Err: syscall.ENOSPC}
	}
	full := filepath.Join(filepath.Dir(w.env.Dir), "verify.sh")
	was, err := os.ReadFile(full)
	if err == nil {
		err = os.WriteFile(full, []byte("echo no room; exit 1\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := land("b") // another tree than that of its run, beside a
	if err != nil || got.Commit != "" || got.Hold != factory.HoldShort || !got.Waits || !got.Until.After(time.Now()) || !strings.Contains(got.Reason, "the disk that holds there is full") {
		t.Fatalf("with a full disk: %+v, %v", got, err)
	}
	settled, later, ok := factory.Settled(work.Issue{Run: "r", Column: work.ColumnInProgress}, factory.Ended{Outcome: work.RunCompleted, Promoted: true}, &got)
	if !ok || settled.State != "" || !later.Equal(got.Until) {
		t.Errorf("its card: %+v, %v, %v", settled, later, ok)
	}
	w.worker.room = func(*project.Checkout) error { return nil }
	if got, err = land("b"); err != nil || got.Commit != "" || got.Hold != factory.HoldLandingRed {
		t.Errorf("red with room: %+v, %v", got, err)
	}
	if err := os.WriteFile(full, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err = land("b"); err != nil || got.Commit == "" {
		t.Errorf("green with room: %+v, %v", got, err)
	}
}

// So it is where not even that could be written down, and where the run stopped for it.
func TestAnIssueWaitsForRoom(t *testing.T) {
	t.Parallel()
	s := &Worker{Opened: &board.Opened{}}
	now := time.Now()
	s.Now = func() time.Time { return now }
	full := &fs.PathError{Op: "write", Path: "there", Err: syscall.ENOSPC}
	s.room = func(*project.Checkout) error { return full }
	l := &pass{Worker: s}
	if got := l.broke(landing.Command{}, errors.New("no word of it")); got.Short == "" || got.Trouble != nil {
		t.Errorf("a step on a full disk: %+v", got)
	}
	s.room = func(*project.Checkout) error { return nil }
	if got := l.broke(landing.Command{}, full); got.Short == "" || got.Trouble != nil {
		t.Errorf("a step that met one: %+v", got)
	}
	if got := l.broke(landing.Command{}, errors.New("other")); got.Short != "" {
		t.Errorf("another error of a step: %+v", got)
	}
	if got, err := (placed{s}).waits(factory.Landed{}, full); err != nil || got.Hold != factory.HoldShort || !got.Waits || !got.Until.After(now) {
		t.Errorf("a landing: %+v, %v", got, err)
	}
	for _, err := range []error{full, fmt.Errorf("drive: %w", &runs.AwayError{Err: errors.New("the server is not reached")})} {
		if got, err := (placed{s}).later(factory.Ended{}, err); err != nil || got.Outcome != work.RunLimit || !got.Until.After(now) || got.Reason == "" {
			t.Errorf("a run: %+v, %v", got, err)
		}
	}
	other := errors.New("other")
	if _, err := (placed{s}).later(factory.Ended{}, other); !errors.Is(err, other) {
		t.Errorf("another error of a run: %v", err)
	}
	if _, err := (placed{s}).waits(factory.Landed{}, other); !errors.Is(err, other) {
		t.Errorf("another error: %v", err)
	}
	run := orchestrator.State{Outcome: work.RunInterrupted, Reason: orchestrator.RanOut("the disk is full")}
	if got := s.endedOf(&run); got.Outcome != work.RunLimit || !got.Until.After(now) {
		t.Errorf("a run: %+v", got)
	}
	run.Reason = orchestrator.StopInternal + "x"
	if got := s.endedOf(&run); got.Outcome != work.RunInterrupted || !got.Until.IsZero() {
		t.Errorf("a run that was interrupted by itself: %+v", got)
	}
}
