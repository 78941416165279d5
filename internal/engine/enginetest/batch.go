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
	var moves, together, rides, verifies int
	for _, a := range w.did {
		switch e := a.effect.(type) {
		case orchestrator.LandEffect:
			moves++
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
	// How many board depends on who came when: of each move of the branch but the
	// first, whose tree was proven, one tree is verified, and whoever lands before the
	// last of it is asked for itself.
	if moves+together != 5 || together < 2 || rides != together || verifies != moves-1 {
		return fmt.Errorf("the branch moved %d times, %d landed with another, %d were asked for themselves, %d merged trees were verified", moves, together, rides, verifies)
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
