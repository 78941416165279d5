package enginetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

// batch holds the first merged tree in its verify until all phases have come to
// their turn: the others are merged together, each is asked for itself, and one
// effect lands them.
func batch(c Candidate) error {
	w, err := NewWorld([]string{"01", "02", "03", "04", "05"})
	if err != nil {
		return err
	}
	w.Spec.Settings.MaxParallel, w.Spec.Settings.MergeBatch = 5, 5
	w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		if v, ok := e.(orchestrator.VerifyEffect); ok && v.Command.On == work.OnMerged && v.Rides == "" {
			w.atTurn(ctx, 5)
		}
		return nil, false
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	var trains, alone, together, rides, verifies int
	for _, a := range w.did {
		switch e := a.effect.(type) {
		case orchestrator.TrainEffect:
			trains++
		case orchestrator.LandEffect:
			alone++
			together += len(e.Before)
		case orchestrator.VerifyEffect:
			switch {
			case e.Rides != "":
				rides++
			case e.Command.On == work.OnMerged:
				verifies++
			}
		}
	}
	if got := fmt.Sprint(trains, alone, together, rides, verifies); got != "1 3 2 2 2" {
		return fmt.Errorf("trains, land effects, phases that landed with another, asked for themselves, merged trees verified: %s, want 1 3 2 2 2", got)
	}
	return w.once()
}

// atTurn waits until so many phases have come to their turn to merge.
func (w *World) atTurn(ctx context.Context, n int) {
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		w.Journal.Lock()
		came := 0
		for _, e := range w.Journal.Events {
			if e.Kind == work.GateDecided && strings.Contains(string(e.Data), `"to":"turn"`) {
				came++
			}
		}
		w.Journal.Unlock()
		if came >= n {
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong("%d phases at their turn: %w", n, errImpatient)
}
