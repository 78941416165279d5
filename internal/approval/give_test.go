package approval

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/gates"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// asking is a project with a run that asks the checkpoints run.1, run.2, …
func asking(t *testing.T, checkpoints ...work.Checkpoint) *project.Checkout {
	t.Helper()
	ctx := t.Context()
	store, err := journal.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := &project.Checkout{Env: project.Env{Log: log.New(io.Discard), Now: func() time.Time { return noon }}, Journal: store}
	lease, err := store.CreateRun(ctx, "run", journal.Self())
	if err != nil {
		t.Fatal(err)
	}
	began := work.Event{V: work.EventVersion, Seq: 1, Time: noon, Run: "run", Kind: work.RunStarted}
	if err := store.Append(ctx, lease, journal.Append{Events: []work.Event{began}, Open: checkpoints}); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

func question(id string) work.Checkpoint {
	return work.Checkpoint{ID: id, Run: "run", Kind: string(gates.PointFinal), Question: "Land it?", Revision: 1, Status: work.CheckpointPending, OpenedAt: noon}
}

func yes(id string) work.Answer {
	return work.Answer{Checkpoint: id, Revision: 1, Status: work.CheckpointApproved, By: "ann", Door: "test", At: noon}
}

// The first answer counts and is found by the beginning of an id; what is refused
// says why by its code, names a way out, and leaves the checkpoint as it is.
func TestGive(t *testing.T) {
	t.Parallel()
	p := asking(t, question("run.1"), question("run.2"))
	ctx := t.Context()

	cp, row, err := Give(ctx, p, yes(".1"), Options{})
	if err != nil || cp.ID != "run.1" || cp.Status != work.CheckpointApproved || cp.AnsweredBy != "ann" || row.ID != "run" {
		t.Fatalf("got %+v of run %q: %v", cp, row.ID, err)
	}
	refusedWith := func(a work.Answer, want error, fix string) {
		t.Helper()
		cp, row, err := Give(ctx, p, a, Options{})
		if !errors.Is(err, want) || Code(err) != want.Error() || !strings.Contains(err.Error(), fix) {
			t.Errorf("%+v: got %v, want %v with %q", a, err, want, fix)
		}
		if row.ID != "" {
			t.Errorf("%+v: a refused answer goes on with run %q", a, row.ID)
		}
		if cp.ID == "run.2" && cp.Status != work.CheckpointPending {
			t.Errorf("%+v changed the checkpoint to %s", a, cp.Status)
		}
	}
	no := yes("run.1")
	no.Status = work.CheckpointRejected
	refusedWith(no, work.ErrAlreadyResolved, "forge show run.1")
	refusedWith(yes("run.9"), work.ErrUnknown, "forge checkpoints")
	late := yes("run.2")
	late.Revision = 7
	refusedWith(late, work.ErrConflict, "look again")
	mute := yes("run.2")
	mute.Status = work.CheckpointChangesRequested
	refusedWith(mute, work.ErrEmptyFeedback, "-m TEXT")
	odd := yes("run.2")
	odd.Choice = "pivot"
	refusedWith(odd, gates.ErrBadAnswer, "names the choices")

	mute.Comment = strings.Repeat("x", work.MaxFeedback+1)
	if _, _, err := Give(ctx, p, mute, Options{}); err == nil || Code(err) != "" || !strings.Contains(err.Error(), "shorten") {
		t.Errorf("an endless comment: %v", err)
	}
	if got, err := p.Journal.Checkpoint(ctx, "run.2"); err != nil || got.Status != work.CheckpointPending {
		t.Errorf("after all refusals: %+v, %v", got, err)
	}
}

// A run that is at a remote is answered there, or not at all.
func TestGiveFarAway(t *testing.T) {
	t.Parallel()
	p := asking(t, question("run.1"))
	ctx := t.Context()
	if err := p.Journal.SetTravel(ctx, "run", journal.Travel{Remote: "origin"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Give(ctx, p, yes("run.1"), Options{}); !errors.Is(err, journal.ErrAway) {
		t.Errorf("without a way there: %v", err)
	}
	var seen work.Checkpoint
	there := func(_ context.Context, _ *project.Checkout, away *journal.AwayError, cp work.Checkpoint, a work.Answer) (work.Checkpoint, error) {
		if away.Remote != "origin" || away.Run != "run" {
			t.Errorf("away %+v", away)
		}
		seen = cp
		cp.Status = a.Status
		return cp, nil
	}
	cp, row, err := Give(ctx, p, yes("run.1"), Options{Away: there})
	if err != nil || cp.Status != work.CheckpointApproved || row.ID != "run" || seen.ID != "run.1" || seen.Status != work.CheckpointPending {
		t.Errorf("got %+v of %q, seen %+v: %v", cp, row.ID, seen, err)
	}
	taken := func(context.Context, *project.Checkout, *journal.AwayError, work.Checkpoint, work.Answer) (work.Checkpoint, error) {
		return work.Checkpoint{}, work.ErrAlreadyResolved
	}
	if cp, _, err := Give(ctx, p, yes("run.1"), Options{Away: taken}); Code(err) != work.ErrAlreadyResolved.Error() || cp.ID != "run.1" {
		t.Errorf("one that came too late there: %+v, %v", cp, err)
	}
}

// What was said of single files is kept, and the whole is not approved past it.
func TestJudgeFiles(t *testing.T) {
	t.Parallel()
	p := asking(t, question("run.1"))
	ctx := t.Context()
	cp, err := Exact(ctx, p, "run.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Exact(ctx, p, "run"); !errors.Is(err, work.ErrUnknown) {
		t.Errorf("the beginning of an id is taken for one: %v", err)
	}
	back := []work.FileVerdict{{Path: "a.go", Status: work.CheckpointChangesRequested, Comment: "no", By: "ann", At: noon}}
	if cp, err = JudgeFiles(ctx, p, cp, 1, back); err != nil || len(cp.Verdicts) != 1 || cp.Status != work.CheckpointPending {
		t.Fatalf("got %+v: %v", cp, err)
	}
	if _, _, err := Give(ctx, p, yes("run.1"), Options{}); Code(err) != work.ErrConflict.Error() || !strings.Contains(err.Error(), "sends back what is not approved") {
		t.Errorf("approved past a file that is sent back: %v", err)
	}
}
