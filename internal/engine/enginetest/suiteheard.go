package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/effect"
	"forge/internal/work"
	"forge/orchestrator"
)

func heard(c Candidate) error {
	w, err := NewWorld([]string{"01", "02"}, gates.PointPhaseStart)
	if err != nil {
		return err
	}
	if _, err := w.ends(context.Background(), c, work.RunFrozen); err != nil {
		return err
	}
	ids := map[string]string{}
	for _, n := range []string{"01", "02"} {
		if ids[n], err = w.question(n); err != nil {
			return err
		}
	}
	if err := w.answers(c, work.Answer{Checkpoint: ids["01"], Status: work.CheckpointApproved}); err != nil {
		return err
	}
	began := make(chan struct{})
	w.instead = func(_ context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		switch e := e.(type) {
		case orchestrator.FolderEffect:
			if e.Command.Phase == "02" {
				close(began)
			}
		case orchestrator.IterateEffect:
			if e.Command.Phase != "01" {
				break
			}
			if err := w.answers(c, work.Answer{Checkpoint: ids["02"], Status: work.CheckpointApproved}); err != nil {
				return orchestrator.Broke{Command: e.Command, Problem: err.Error()}, true
			}
			w.expect(began, "the phase that was answered, during the iteration of another")
		}
		return nil, false
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	if n := w.count(work.CheckpointAnswered); n != 2 {
		return fmt.Errorf("%d answers are on record, want 2", n)
	}
	return w.once()
}

func heardLater(c Candidate) error {
	w, err := NewWorld([]string{"01"}, gates.PointFinal)
	if err != nil {
		return err
	}
	for range 2 { // nobody answered: it waits still
		if _, err := w.ends(context.Background(), c, work.RunFrozen); err != nil {
			return err
		}
	}
	id, err := w.question("")
	if err != nil {
		return err
	}
	for range 2 { // the second one comes too late
		if err := w.answers(c, work.Answer{Checkpoint: id, Status: work.CheckpointApproved}); err != nil {
			return err
		}
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	if n := w.count(work.CheckpointOpened); n != 1 {
		return fmt.Errorf("it was asked %d times, want once", n)
	}
	return w.once()
}

func urgent(c Candidate) error {
	w, err := NewWorld([]string{"01"})
	if err != nil {
		return err
	}
	const said = "write it in capitals"
	var prompts []string
	w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		it, ok := e.(orchestrator.IterateEffect)
		if !ok {
			return nil, false
		}
		if prompts = append(prompts, it.Request.Prompt); len(prompts) > 1 {
			return nil, false
		}
		err := w.answers(c, work.Answer{Message: &work.Message{ID: "m1", Phase: "01", Text: said, Now: true}})
		w.expect(ctx.Done(), "the end of the iteration")
		if cause := context.Cause(ctx); err != nil || !errors.Is(cause, effect.ErrTold) {
			w.mu.Lock()
			w.wrong("the message was taken with %v, and the iteration ended by %v", err, cause)
			w.mu.Unlock()
		}
		done := w.usual(e).(orchestrator.IterationDone)
		done.Report.Outcome, done.Report.Claims = work.OutcomeTold, nil
		return done, true
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	if len(prompts) != 2 || !strings.Contains(prompts[1], said) {
		return fmt.Errorf("%d iterations, and the last prompt does not say %q", len(prompts), said)
	}
	return w.once()
}

// setBack: what is under way ends, whatever it is, and counts for nothing; the same
// wish twice is met once.
func setBack(c Candidate) error {
	for _, during := range []orchestrator.Step{orchestrator.StepIterate, orchestrator.StepVerify} {
		w, err := NewWorld([]string{"01"})
		if err != nil {
			return err
		}
		var from []string
		asked := false
		w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
			if it, ok := e.(orchestrator.IterateEffect); ok {
				from = append(from, it.Opening.Last)
			}
			if e.Of().Step != during || asked {
				return nil, false
			}
			asked = true
			for range 2 {
				if err := w.answers(c, work.Answer{Rewind: &work.Rewind{ID: "b1", Phase: "01"}}); err != nil {
					w.mu.Lock()
					w.wrong("it was taken with %v", err)
					w.mu.Unlock()
				}
			}
			w.expect(ctx.Done(), "the end of what is under way")
			if during != orchestrator.StepIterate {
				return nil, true
			}
			done := w.usual(e).(orchestrator.IterationDone)
			done.Report.Outcome, done.Report.Claims = work.OutcomeTold, nil
			return done, true
		}
		if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
			return err
		}
		if len(from) != 2 || from[0] != from[1] || w.count(work.PhaseRewound) != 1 {
			return fmt.Errorf("set back during %s: iterations went on from %q, and it was set back %d times", during, from, w.count(work.PhaseRewound))
		}
		if err := w.once(); err != nil {
			return err
		}
	}
	return nil
}
