package site

import (
	"testing"

	"forge/factory"
	"forge/internal/project/projecttest"
	"forge/internal/work"
	"forge/internal/worker"
)

// What may let a run go on is gone on with at once, not when the server looks next.
func TestAnswersWakeWhoGoesOn(t *testing.T) {
	t.Parallel()
	jobs, run := sleepingJob(t)
	woken := 0
	desk := answers{jobs.view, func() { woken++ }}
	eventually(t, "a phase hears a message", func() bool {
		woken = 0
		_, err := desk.Tell(t.Context(), run, work.Message{Text: "Mind the gap."}, "olga", "web")
		return err == nil
	})
	if woken != 1 {
		t.Errorf("a message woke them %d times", woken)
	}
}

// Whoever answers on the pages of a server wakes that server's jobs.
func TestAnswersOnPagesWakeTheJobs(t *testing.T) {
	t.Parallel()
	env := projecttest.New(t, "", "")
	w, err := worker.Open(t.Context(), env, env.Dir, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := Open(t.Context(), []*worker.Worker{w})
	s.list[0].Desk.(answers).taken()
	select {
	case <-s.Jobs[0].poke:
	default:
		t.Error("the jobs were not woken")
	}
}
