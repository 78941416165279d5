package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Candidate is an engine that is held against the suite.
type Candidate struct {
	// Engine is a process that drives the run of w. A world may see several, one
	// after the other.
	Engine func(w *World) engine.Engine
	// Answer hands a person's answer to the run of w, whether a process drives it
	// or not; nil = it goes into the inbox of w's journal.
	Answer func(w *World, a work.Answer) error
}

// Law is something that holds for every engine. Holds returns what stands
// against it.
type Law struct {
	Name  string
	Holds func(c Candidate) error
}

// Test holds an engine against all laws.
func Test(t *testing.T, c Candidate) {
	for _, l := range Laws() {
		t.Run(l.Name, func(t *testing.T) {
			if err := l.Holds(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// Laws are what holds for every engine. Those that every world looks after hold
// in each: an effect begins when its beginning is on record, under a mark of its
// own, never twice at once, and after what a dead process left has ended.
func Laws() []Law {
	return []Law{
		{"an effect follows its start, and a run its record", order},
		{"effects of several phases go on at once", together},
		{"phases that wait for their turn are merged together", batch},
		{"a result that comes twice counts once", twice},
		{"a result of something else counts for nothing", strays},
		{"a result that is lost is had again", lost},
		{"a process that dies is followed by another", dies},
		{"a stop ends what is under way", stopped},
		{"an answer is heard during an effect", heard},
		{"an answer that nobody waited for is heard by the next process", heardLater},
		{"an urgent message ends an iteration", urgent},
		{"a phase that is set back goes on from what the iteration left", setBack},
		{"a run that is over stays over", over},
	}
}

// patience is how long a law waits for what has to come.
const patience = time.Minute

var errImpatient = errors.New("it did not come")

// diamond is two phases at once, and one that needs both.
func diamond(points ...gates.Point) (*World, error) {
	return NewWorld([]string{"01", "02", "03 after 01,02"}, points...)
}

func order(c Candidate) error {
	w, err := diamond()
	if err != nil {
		return err
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	landed := map[string]bool{}
	for _, a := range w.did {
		switch e := a.effect.(type) {
		case orchestrator.LandEffect:
			landed[e.Command.Phase] = true
		case orchestrator.FolderEffect:
			if e.Command.Phase == "03" && !(landed["01"] && landed["02"]) {
				return errors.New("phase 03 began before what it needs")
			}
		}
	}
	if n := w.count(work.IterationFinished); n != 3 || len(landed) != 3 {
		return fmt.Errorf("%d iterations, %d phases landed, want 3 and 3", n, len(landed))
	}
	return w.once()
}

func together(c Candidate) error {
	w, err := diamond()
	if err != nil {
		return err
	}
	met := make(chan struct{})
	came := 0
	w.instead = func(_ context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		if e, ok := e.(orchestrator.IterateEffect); !ok || e.Command.Phase == "03" {
			return nil, false
		}
		w.mu.Lock()
		if came++; came == 2 {
			close(met)
		}
		w.mu.Unlock()
		w.expect(met, "the iterations of both phases")
		return nil, false
	}
	_, err = w.ends(context.Background(), c, work.RunCompleted)
	return err
}

// expect waits for what has to come, and notes when it does not.
func (w *World) expect(came <-chan struct{}, what string) {
	select {
	case <-came:
	case <-time.After(patience):
		w.mu.Lock()
		w.wrong("%s: %w", what, errImpatient)
		w.mu.Unlock()
	}
}

// each plays a run in which one append after the other fails.
func each(c Candidate, written bool, play func(w *World, at int) error) error {
	whole, err := diamond()
	if err != nil {
		return err
	}
	if _, err := whole.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	return beside(whole.Journal.Appends, func(at int) error {
		w, err := diamond()
		if err != nil {
			return err
		}
		w.Journal.FailAt, w.Journal.Written = at+1, written
		if err := play(w, at+1); err != nil {
			return fmt.Errorf("append %d of %d: %w", at+1, whole.Journal.Appends, err)
		}
		return nil
	})
}

// beside plays worlds that have nothing to do with each other, some at a time, and returns
// what went wrong in the first of those where something did.
func beside(worlds int, play func(at int) error) error {
	wrong := make([]error, worlds)
	some := make(chan struct{}, 4)
	var all sync.WaitGroup
	for at := range worlds {
		some <- struct{}{}
		all.Go(func() {
			wrong[at] = play(at)
			<-some
		})
	}
	all.Wait()
	for _, err := range wrong {
		if err != nil {
			return err
		}
	}
	return nil
}

// fails is one process that cannot go on, and says so.
func (w *World) fails(c Candidate) error {
	got, failed, err := w.drive(context.Background(), c)
	if failed == nil {
		err = errors.Join(fmt.Errorf("a process that cannot go on ended %q, without an error", got.Outcome), err)
	}
	return err
}

// whole is after, where no iteration was interrupted.
func (w *World) whole(c Candidate) error {
	if err := w.after(c); err != nil {
		return err
	}
	if n := w.count(work.IterationFinished); n != 3 {
		return fmt.Errorf("%d iterations came to an end, want 3", n)
	}
	return nil
}

// after is what has to be so once the run of a diamond was driven to its end.
func (w *World) after(c Candidate) error {
	// One whose last event was written has ended, and nobody knows.
	if s, err := w.state(); err != nil || s.Outcome == work.RunCompleted {
		return err
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	if n := w.count(work.PhaseMerged); n != 3 {
		return fmt.Errorf("%d phases landed, want 3", n)
	}
	return w.once()
}

// twice: the results are on record, and the process that wrote them died before
// it knew; the next one is told the first of them again.
func twice(c Candidate) error {
	return each(c, true, func(w *World, _ int) error {
		if err := w.fails(c); err != nil {
			return err
		}
		if len(w.did) > 0 {
			again := w.usual(w.did[0].effect)
			w.instead = w.first(func(orchestrator.Effect) bool { return true }, func() orchestrator.Fact { return again })
		}
		return w.whole(c)
	})
}

// first puts something else in the place of the first effect that is so.
func (w *World) first(is func(e orchestrator.Effect) bool, fact func() orchestrator.Fact) func(context.Context, orchestrator.Effect) (orchestrator.Fact, bool) {
	done := false
	return func(_ context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if done || !is(e) {
			return nil, false
		}
		done = true
		return fact(), true
	}
}

// strays: of a command that is over, and of one that is under way.
func strays(c Candidate) error {
	const from, about = "02", "01"
	// What is spoken of is over where the other one merges, and works where it works.
	slower := map[orchestrator.Step]string{orchestrator.StepMerge: from, orchestrator.StepIterate: about}
	for step, slow := range slower {
		w, err := diamond()
		if err != nil {
			return err
		}
		stray := w.first(func(e orchestrator.Effect) bool {
			return e.Of().Step == step && e.Of().Phase == from
		}, func() orchestrator.Fact {
			return orchestrator.IterationDone{
				Command: orchestrator.Command{ID: Run + "/" + about + "/1/1/iterate", Step: orchestrator.StepIterate, Phase: about, Iteration: 1, Attempt: 1},
				Report:  work.IterationReport{Outcome: work.OutcomeOK},
			}
		})
		w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
			if e.Of().Step == orchestrator.StepIterate && e.Of().Phase == slow {
				time.Sleep(100 * time.Millisecond)
			}
			return stray(ctx, e)
		}
		if err := w.whole(c); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func lost(c Candidate) error {
	for _, step := range []orchestrator.Step{orchestrator.StepBase, orchestrator.StepFolder, orchestrator.StepVerify, orchestrator.StepMerge} {
		w, err := diamond()
		if err != nil {
			return err
		}
		w.instead = w.first(func(e orchestrator.Effect) bool { return e.Of().Step == step }, func() orchestrator.Fact { return nil })
		if err := w.whole(c); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func dies(c Candidate) error {
	return each(c, false, func(w *World, at int) error {
		if err := w.fails(c); err != nil {
			return err
		}
		if w.Journal.Appends != at {
			return fmt.Errorf("%d appends were tried after the one that failed", w.Journal.Appends-at)
		}
		return w.whole(c)
	})
}

// stopped: whichever effect is under way when the stop comes.
func stopped(c Candidate) error {
	whole, err := diamond()
	if err != nil {
		return err
	}
	if _, err := whole.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	return beside(len(whole.did), func(at int) error {
		if err := stoppedAt(c, at); err != nil {
			return fmt.Errorf("effect %d: %w", at+1, err)
		}
		return nil
	})
}

func stoppedAt(c Candidate, at int) error {
	w, err := diamond()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		w.mu.Lock()
		now := len(w.did) == at+1
		w.mu.Unlock()
		if !now {
			return nil, false
		}
		stop()
		switch e := e.(type) {
		case orchestrator.IterateEffect:
			w.expect(ctx.Done(), "the end of "+string(e.Command.ID))
			return orchestrator.IterationDone{Command: e.Command, Report: work.IterationReport{Outcome: work.OutcomeInterrupted}}, true
		case orchestrator.FolderEffect, orchestrator.VerifyEffect:
			w.expect(ctx.Done(), "the end of "+string(e.Of().ID))
			return nil, true
		}
		return nil, false // it is done to its end
	}
	got, err := w.ends(ctx, c, work.RunInterrupted, work.RunCompleted)
	if err != nil || got == work.RunCompleted {
		return err
	}
	written := w.Journal.Appends
	w.instead = nil
	time.Sleep(10 * time.Millisecond)
	if n := w.Journal.Appends; n != written {
		return fmt.Errorf("the process has ended, and wrote %d times more", n-written)
	}
	return w.after(c)
}

func over(c Candidate) error {
	w, err := NewWorld([]string{"01"})
	if err != nil {
		return err
	}
	if _, err := w.ends(context.Background(), c, work.RunCompleted); err != nil {
		return err
	}
	events, did := len(w.Journal.Events), len(w.did)
	if err := w.fails(c); err != nil {
		return err
	}
	if len(w.Journal.Events) != events || len(w.did) != did {
		return errors.New("something was done all the same")
	}
	return nil
}
