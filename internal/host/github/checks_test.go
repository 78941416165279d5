package github_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// Check runs count with the statuses: each with its last run, those that were
// cancelled with none, and of Actions the step and the end of the log are read.
func TestGitHubCheckRuns(t *testing.T) {
	g := hosttest.StartGitHub(t)
	store, start := hosttest.NewStore(t)
	g.Seed(t, store, "main", start)
	h := adapter(t, g, "repo", hosttest.GitHubToken, store)
	at := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	log := strings.Repeat("2026-01-01T00:00:00.0000000Z line\n", 3000) + "2026-01-01T00:00:01.0000000Z \x1b[31m--- FAIL: TestIt\u202e\x1b[0m\r\n"
	g.CheckRun(start, "unit", "completed", "failure", at, &hosttest.Job{Head: start, Step: "go test", Log: log})
	g.CheckRun(start, "gone", "completed", "timed_out", at, &hosttest.Job{Head: start, Step: "wait"})
	g.CheckRun(start, "other", "completed", "failure", at, &hosttest.Job{Head: "c0ffee", Step: "of another commit", Log: log})
	g.CheckRun(start, "flake", "completed", "failure", at, nil)
	g.CheckRun(start, "flake", "completed", "success", at.Add(time.Minute), nil)
	g.CheckRun(start, "again", "completed", "failure", at, nil)
	g.CheckRun(start, "again", "queued", "", time.Time{}, nil)
	g.CheckRun(start, "slow", "in_progress", "", at, nil)
	g.CheckRun(start, "stopped", "completed", "cancelled", at, nil)
	g.CheckRun(start, "left out", "completed", "skipped", at, nil)
	got, err := h.Checks(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, c := range got.Failed {
		failed = append(failed, c.Name)
	}
	if !slices.Equal(failed, []string{"gone", "other", "unit"}) || !slices.Equal(got.Flaky, []string{"flake"}) || !slices.Equal(got.Waiting, []string{"again", "slow"}) ||
		!slices.Equal(got.Broken, []string{"stopped"}) || got.State != work.ChecksFailed || !got.Since.Equal(at) {
		t.Fatalf("checks: %+v", got)
	}
	for i, want := range []struct{ step, end string }{{"wait", ""}, {"", ""}, {"go test", "line\n--- FAIL: TestIt"}} {
		c, err := h.CheckLog(t.Context(), got.Failed[i])
		if err != nil || c.Step != want.step || !strings.HasSuffix(c.Log, want.end) || want.end == "" && c.Log != "" || len(c.Log) > 10<<10 {
			t.Errorf("log of %s: %q, %q (%v)", c.Name, c.Step, c.Log[max(len(c.Log)-60, 0):], err)
		}
	}
}
