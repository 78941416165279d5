package temporal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/internal/work"
	"forge/orchestrator"
)

// one is the only run there is.
type one struct{ w *enginetest.World }

type oneRecord struct{ *enginetest.Journal }

func (r oneRecord) Events(_ context.Context, after int64) ([]work.Event, error) {
	r.Lock()
	defer r.Unlock()
	return slices.Clone(r.Journal.Events[after:]), nil
}

func (p one) Open(context.Context, string, string) (*Place, error) {
	return &Place{Record: oneRecord{p.w.Journal}, Effects: p.w, Processes: p.w.Processes, Close: func() {}}, nil
}

func (one) Fold(context.Context, string, string) (*orchestrator.State, error) { return nil, nil }
func (one) Away(error) bool                                                   { return false }

// A batch that is written twice stands there once; one that does not follow what was
// known adds nothing.
func TestAppendTwice(t *testing.T) {
	w, err := enginetest.NewWorld([]string{"01"})
	if err != nil {
		t.Fatal(err)
	}
	a := &Activities{Places: one{w}}
	event := func(seq int64, kind work.EventKind) engine.Batch {
		return engine.Batch{Events: []work.Event{{Seq: seq, Kind: kind, Time: time.Unix(seq, 0).UTC()}}}
	}
	first := AppendInput{Batch: event(1, work.RunStarted)}
	var head orchestrator.Head
	for range 2 {
		if head, err = a.Append(t.Context(), first); err != nil || head.Count != 1 || len(w.Journal.Events) != 1 {
			t.Fatalf("the head is %+v with %d events: %v", head, len(w.Journal.Events), err)
		}
	}
	var app *temporal.ApplicationError
	if _, err := a.Append(t.Context(), AppendInput{Batch: event(1, work.RunResumed)}); !errors.As(err, &app) || app.Type() != errConflict || !app.NonRetryable() {
		t.Errorf("another batch in its place: %v", err)
	}
	w.Journal.Answer(work.Answer{Checkpoint: "c"})
	heard := AppendInput{After: head, Batch: engine.Batch{Upkeep: engine.Upkeep{Consumed: []int64{1}}}}
	for range 2 {
		if got, err := a.Append(t.Context(), heard); err != nil || got != head || len(w.Journal.Waiting) != 0 {
			t.Errorf("an answer that nothing follows from: head %+v, %d wait: %v", got, len(w.Journal.Waiting), err)
		}
	}
}
