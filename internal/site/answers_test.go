package site

import (
	"testing"
	"time"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/project/projecttest"
	"forge/internal/work"
	"forge/internal/worker"
)

// What is answered is gone on with at once, not when the server looks next; what is
// refused wakes nobody.
func TestAnswersWakeWhoGoesOn(t *testing.T) {
	t.Parallel()
	jobs := tended(t, "")
	run, err := jobs.Start(t.Context(), pages.JobOrder{Description: "Ask first.", Level: "interactive"})
	if err != nil {
		t.Fatal(err)
	}
	woken := 0
	desk := answers{jobs.view, func() { woken++ }}
	var asked []work.Checkpoint
	eventually(t, "the job asks", func() bool {
		asked, err = desk.Checkpoints(t.Context(), run, work.CheckpointPending, 1, "")
		return err != nil || len(asked) == 1
	})
	if err != nil {
		t.Fatal(err)
	}
	a := work.Answer{Checkpoint: asked[0].ID, Revision: asked[0].Revision + 1, Status: work.CheckpointApproved, By: "olga", Door: "web", At: time.Now()}
	if _, err := desk.Answer(t.Context(), a, ""); err == nil || woken != 0 {
		t.Errorf("an answer to what was not asked: %v, woken %d times", err, woken)
	}
	a.Revision--
	if _, err := desk.Answer(t.Context(), a, ""); err != nil || woken != 1 {
		t.Errorf("an answer: %v, woken %d times", err, woken)
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
	s.list[0].Questions.(answers).taken()
	select {
	case <-s.Jobs[0].poke:
	default:
		t.Error("the jobs were not woken")
	}
}
