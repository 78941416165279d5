package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/board"
	"forge/internal/schedules"
	"forge/internal/work"
)

const scheduled = `[[factory.schedules]]
name = "updates"
cron = "0 6 * * *"
timezone = "Europe/Berlin"
title = "Update, {date}"
text = "As of {date}."
labels = ["chore"]
column = "backlog"
`

// A schedule is seen, run and paused at the command line; when it is due there is
// one issue, whoever looks how often, on how many servers.
func TestSchedulesOfTwoServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("schedule", "list").want(exitDone).says("No schedules")
	w.configure(scheduled, "true")
	w.forge("schedule", "list").want(exitDone).says("updates", "0 6 * * *", "Europe/Berlin")
	w.forge("schedule", "pause", "update").want(exitUsage).warns("there is no schedule \"update\"", "updates")

	now := time.Date(2026, 3, 28, 3, 0, 0, 0, time.UTC)
	open := func() *board.Opened {
		app := &App{Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Environ: w.env, Dir: w.root, Now: func() time.Time { return now }}
		app.logTo(0)
		b, err := app.openBoard(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	servers := []*board.Opened{open(), open()}
	look := func(at string) []work.Issue {
		t.Helper()
		var err error
		if now, err = time.Parse(time.RFC3339, at); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		errs := make([]error, 4)
		for n := range errs {
			all.Go(func() { _, _, errs[n] = schedules.Once(context.Background(), servers[n%2]) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		list, err := servers[0].Journal.Issues(t.Context(), work.IssueFilter{Project: servers[0].Project}, 100, "")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, c := range []struct {
		at   string
		want int
	}{
		{"2026-03-28T07:00:00+01:00", 0}, // what was due before it was seen is not
		{"2026-03-29T05:59:00+02:00", 0},
		{"2026-03-29T06:00:00+02:00", 1}, // the night on which the clock goes forward
		{"2026-03-29T23:00:00+02:00", 1},
		{"2026-03-30T06:30:00+02:00", 1}, // the last one is not done
	} {
		if got := look(c.at); len(got) != c.want {
			t.Fatalf("at %s: %d issues, want %d", c.at, len(got), c.want)
		}
	}
	i := look("2026-03-30T06:31:00+02:00")[0]
	if i.Title != "Update, 2026-03-29" || i.Column != work.ColumnBacklog || i.Author != "schedule updates" || len(i.Labels) != 1 {
		t.Errorf("%+v", i)
	}
	w.forge("schedule", "list").want(exitDone).says("issue 1, its last one, is not done")
	w.forge("issue", "cancel", "1").want(exitDone)
	w.forge("schedule", "pause", "updates").want(exitDone)
	if got := look("2026-04-02T07:00:00+02:00"); len(got) != 1 {
		t.Errorf("while it is paused: %d issues", len(got))
	}
	w.forge("schedule", "resume", "updates").want(exitDone)
	if got := look("2026-04-02T07:01:00+02:00"); len(got) != 1 {
		t.Errorf("what fell due meanwhile is made up for: %d issues", len(got))
	}
	// Days without a server: the last due time alone counts.
	if got := look("2026-04-09T07:00:00+02:00"); len(got) != 2 || got[1].Title != "Update, 2026-04-09" {
		t.Errorf("after a week: %+v", got)
	}
	w.forge("schedule", "run", "updates").want(exitDone).says("Update, ")
	if got := look("2026-04-09T08:00:00+02:00"); len(got) != 3 {
		t.Errorf("by hand: %d issues", len(got))
	}
}

// All that is wrong with schedules is said at once, with place and way out.
func TestBadSchedules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.configure("[[factory.schedules]]\nname = \"A b\"\ncron = \"0 25 * * *\"\ntimezone = \"Mars/Base\"\ntitle = \"x\"\n[[factory.schedules]]\nname = \"b\"\ncron = \"0 0 30 2 *\"\n", "true")
	w.forge("config", "validate").want(exitUsage).warns(`"25" is no hour`, "Mars/Base", "is no name for a schedule", "never comes", "has no title", "forge.toml:")
}
