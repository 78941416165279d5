package site

import (
	"context"
	"strings"
	"testing"
	"time"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/project/projecttest"
	"forge/internal/work"
	"forge/internal/worker"
)

// tended are the jobs of a project whose agent does as script says, looked after
// until the test ends.
func tended(t *testing.T, script string) *Jobs {
	t.Helper()
	env := projecttest.New(t, script, "")
	w, err := worker.Open(t.Context(), env, env.Dir, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	jobs := newJobs(newView(w.Checkout), w)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		jobs.Tend(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-over
		w.Close()
	})
	return jobs
}

// sleepingJob is a job that is driven and does not end by itself.
func sleepingJob(t *testing.T) (jobs *Jobs, run string) {
	t.Helper()
	jobs = tended(t, "[[step]]\ndo = [{run = \"exec sleep 300\"}]\n")
	run, err := jobs.Start(t.Context(), pages.JobOrder{Description: "Work for ever."})
	if err != nil {
		t.Fatal(err)
	}
	return jobs, run
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not so after a minute: " + what)
		}
	}
}

// A job that is cancelled just while the server takes it up again is ended all
// the same, once.
func TestAJobIsCancelledWhileItIsTakenUp(t *testing.T) {
	t.Parallel()
	jobs, run := sleepingJob(t)
	// The process that drives it lets go; tend, or this test, takes it up.
	jobs.mu.Lock()
	letGo := jobs.driven[run].stop
	jobs.mu.Unlock()
	over := make(chan error, 1)
	letGo()
	go func() { over <- jobs.Cancel(context.Background(), run, "olga") }()
	if err := jobs.resume(t.Context(), run); err != nil && !strings.Contains(err.Error(), "cancelled") {
		t.Logf("resume: %v", err) // Cancel was first
	}
	if err := <-over; err != nil {
		t.Fatalf("cancel: %v", err)
	}
	row, err := jobs.worker.Journal.RunOf(t.Context(), run)
	if err != nil || row.Outcome != work.RunCancelled || row.Alive {
		t.Errorf("the job is %+v, %v", row, err)
	}
	ends := 0
	for e, err := range jobs.worker.Journal.Replay(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == work.RunFinished && strings.Contains(string(e.Data), string(work.RunCancelled)) {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("it was cancelled %d times", ends)
	}
}

// What is taken up while a person ends it stops by itself.
func TestAJobThatIsBeingCancelledIsNotDriven(t *testing.T) {
	t.Parallel()
	jobs, run := sleepingJob(t)
	driven := func() *driving {
		jobs.mu.Lock()
		defer jobs.mu.Unlock()
		return jobs.driven[run]
	}
	jobs.mu.Lock()
	jobs.ending[run] = true
	jobs.mu.Unlock()
	driven().stop()
	eventually(t, "the job is let go", func() bool { return driven() == nil })
	if err := jobs.resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job is let go again", func() bool { return driven() == nil })
}
