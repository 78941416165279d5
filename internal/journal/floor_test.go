package journal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// claimable is a journal with a board and one ready issue.
func claimable(t *testing.T, options ...Option) (*Store, work.Issue) {
	t.Helper()
	s := openIn(t, t.TempDir(), options...)
	if err := s.PutProject(t.Context(), work.BoardProject{ID: "p", Root: "/p", Created: testTime}); err != nil {
		t.Fatal(err)
	}
	i := work.Issue{Project: "p", Title: "a", Priority: work.PriorityNormal, Column: work.ColumnReady, Rank: "M", Author: "x", Created: testTime, Changed: testTime}
	stored, err := s.ChangeBoard(t.Context(), work.BoardChange{Project: "p", Issues: []work.IssueChange{{Issue: i, Entry: entryOf(work.IssueAdded)}}})
	if err != nil {
		t.Fatal(err)
	}
	return s, stored[0]
}

func entryOf(action work.IssueAction) work.IssueEntry {
	return work.IssueEntry{At: testTime, By: "x", Door: "cli", Action: action, Fields: []work.FieldChange{}}
}

// begun claims the issue for a process, into in_progress, with a run.
func begun(t *testing.T, s *Store, owner Owner, i work.Issue, run string) work.IssueClaim {
	t.Helper()
	i.Column, i.Rank, i.Run = work.ColumnInProgress, "M", run
	c, _, err := s.ClaimIssue(t.Context(), owner, work.IssueClaim{Project: "p", Issue: i.ID},
		work.BoardChange{Project: "p", Issues: []work.IssueChange{{Issue: i, Entry: entryOf(work.IssueClaimed)}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRunsOfIssuesStandInNobodysWay(t *testing.T) {
	s, i := claimable(t)
	ctx := t.Context()
	l, err := s.CreateIssueRun(ctx, "i1-r", Self(), "p", i.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, l, Append{Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: testTime, Run: "i1-r", Kind: work.RunStarted}}}); err != nil {
		t.Fatal(err)
	}
	own, err := s.CreateSoleRun(ctx, "own", Self())
	if err != nil {
		t.Fatalf("a person's own run beside an issue's: %v", err)
	}
	_, err = s.CreateSoleRun(ctx, "second", Self())
	wantError(t, err, ErrUnfinished)
	if row, err := s.RunOf(ctx, "i1-r"); err != nil || row.Issue != i.ID || row.Project != "p" || !row.Alive {
		t.Errorf("row = %+v, %v", row, err)
	}
	if row, err := s.RunOf(ctx, own.Run()); err != nil || row.Issue != 0 || row.Project != "" {
		t.Errorf("own row = %+v, %v", row, err)
	}
	_, err = s.RunOf(ctx, "none")
	wantError(t, err, ErrNoRun)
	for _, bad := range []func() error{
		func() error { _, err := s.CreateIssueRun(ctx, "x", Self(), "", 1); return err },
		func() error { _, err := s.CreateIssueRun(ctx, "x", Self(), "p", 0); return err },
	} {
		if bad() == nil {
			t.Error("a run of no issue was made")
		}
	}
}

func TestNewsOfIssues(t *testing.T) {
	s, i := claimable(t)
	ctx := t.Context()
	l, err := s.CreateIssueRun(ctx, "i1-r", Self(), "p", i.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Append(ctx, l, Append{
		Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: testTime, Run: "i1-r", Kind: work.RunStarted}},
		Open:   []work.Checkpoint{checkpoint("i1-r", "c", testTime)},
	})
	if err != nil {
		t.Fatal(err)
	}
	runs := func() int {
		t.Helper()
		rows, err := s.IssueRuns(ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if runs() != 0 {
		t.Error("the run of an issue that is ready was listed")
	}
	begun(t, s, Self(), i, "i1-r")
	if runs() != 1 {
		t.Error("the run of an issue in progress was not listed")
	}
	if got, err := s.Unheard(ctx, "p"); err != nil || len(got) != 0 {
		t.Errorf("answers: %v, %v", got, err)
	}
	if _, err := s.Answer(ctx, work.Answer{Checkpoint: "c", Status: work.CheckpointApproved, By: "ada", At: testTime}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Unheard(ctx, "p")
	if err != nil || len(got[i.ID]) != 1 || got[i.ID][0].By != "ada" {
		t.Errorf("answers: %+v, %v", got, err)
	}
	if got, err := s.Unheard(ctx, "q"); err != nil || len(got) != 0 {
		t.Errorf("of another project: %v, %v", got, err)
	}
}

// asks opens a run of an issue of p, which asks something that ends at a time;
// nil = never.
func asks(t testing.TB, s *Store, run string, issue int64, end *time.Time) {
	t.Helper()
	l, err := s.CreateIssueRun(t.Context(), run, Self(), "p", issue)
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoint(run, run+".1", testTime)
	c.ExpiresAt = end
	appendTo(t, s, l, Append{
		Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: testTime, Run: run, Kind: work.RunStarted}}, Open: []work.Checkpoint{c},
	})
}

func TestOverdueQuestionsOfIssues(t *testing.T) {
	s, i := claimable(t)
	end := testTime.Add(time.Hour)
	asks(t, s, "i1-r", i.ID, &end)
	overdue := func(project string, at time.Time) string {
		t.Helper()
		got, err := s.Overdue(t.Context(), project, at)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(got)), " ")
	}
	if got := overdue("p", end); got != "" {
		t.Errorf("of an issue that is not begun: %s", got)
	}
	begun(t, s, Self(), i, "i1-r")
	asks(t, s, "i1-old", i.ID, &end) // not the run that the card names
	own, err := s.CreateSoleRun(t.Context(), "own", Self())
	if err != nil {
		t.Fatal(err)
	}
	mine := checkpoint("own", "own.1", testTime)
	mine.ExpiresAt = &end
	appendTo(t, s, own, Append{Open: []work.Checkpoint{mine}})
	for at, want := range map[time.Time]string{end.Add(-1): "", end: "i1-r", end.Add(time.Hour): "i1-r"} {
		if got := overdue("p", at); got != want {
			t.Errorf("at %v: %q, want %q", at, got, want)
		}
	}
	for _, other := range []string{"q", ""} {
		if got := overdue(other, end); got != "" {
			t.Errorf("of project %q: %s", other, got)
		}
	}
	column := func(to work.Column) {
		t.Helper()
		if _, err := s.durable.conn.ExecContext(t.Context(), `UPDATE issues SET col = ?`, string(to)); err != nil {
			t.Fatal(err)
		}
	}
	for to, want := range map[work.Column]string{work.ColumnDone: "", work.ColumnReady: "", work.ColumnInReview: "i1-r"} {
		if column(to); overdue("p", end) != want {
			t.Errorf("in %s: not %q", to, want)
		}
	}
	column(work.ColumnInReview)
	if _, err := s.Answer(t.Context(), work.Answer{Checkpoint: "i1-r.1", Status: work.CheckpointApproved, By: "ada", At: testTime}); err != nil {
		t.Fatal(err)
	}
	if got := overdue("p", end); got != "" {
		t.Errorf("what was answered: %s", got)
	}
	// No step goes through a whole table, nor through all that is pending.
	for n, step := range plan(t, s, selectOverdue, "p") {
		if !strings.HasPrefix(step, "SEARCH") || n == 3 && !strings.HasSuffix(step, "(run=? AND status=?)") {
			t.Errorf("step %d is %s", n, step)
		}
	}
	if _, err := s.durable.conn.ExecContext(t.Context(), `UPDATE checkpoints SET status = 'pending', record = json_set(record, '$.expires_at', 'soon') WHERE id = 'i1-r.1'`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Overdue(t.Context(), "p", end); err == nil {
		t.Error("an end that cannot be read is none")
	}
}

// BenchmarkOverdue is one look of the loop at 20 issues that wait for a person,
// with so many questions pending elsewhere in the journal.
func BenchmarkOverdue(b *testing.B) {
	for _, others := range []int{100, 10_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			s := boardOf(b, 20)
			end, low := testTime.Add(time.Hour), ""
			for n := range int64(20) {
				run := fmt.Sprintf("i%d-r", n+1)
				asks(b, s, run, n+1, &end)
				i, err := s.Issue(b.Context(), "p", n+1)
				if err != nil {
					b.Fatal(err)
				}
				i.Column, i.Run = work.ColumnInReview, run
				if _, err := s.ChangeBoard(b.Context(), work.BoardChange{Project: "p", Issues: []work.IssueChange{{Issue: i, Low: low, Entry: entryOf(work.IssueMoved)}}}); err != nil {
					b.Fatal(err)
				}
				low = i.Rank
			}
			openMany(b, s, create(b, s, "other"), others)
			for b.Loop() {
				if got, err := s.Overdue(b.Context(), "p", end); err != nil || len(got) != 20 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// A claim is dead when its process is, as a lease is.
func TestClaimOfADeadProcess(t *testing.T) {
	s, i := claimable(t)
	gone := Self()
	if gone.Boot == "" {
		t.Skip("the system does not tell whether a process runs")
	}
	gone.StartTime++ // another process had this number
	begun(t, s, gone, i, "")
	list, err := s.Claims(t.Context(), "p")
	if err != nil || !list[i.ID].Dead {
		t.Errorf("claims = %+v, %v", list, err)
	}
}

func TestServers(t *testing.T) {
	now := testTime
	s, _ := claimable(t, WithClock(func() time.Time { return now }))
	ctx := t.Context()
	one, two := Self(), Self()
	for _, o := range []Owner{one, two} {
		if err := s.Serve(ctx, "p", o, ""); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(LeaseTimeout + 1)
	if err := s.Serve(ctx, "p", two, "paused"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Servers(ctx, "p")
	if err != nil || len(list) != 2 {
		t.Fatalf("servers = %+v, %v", list, err)
	}
	for _, v := range list {
		if v.Dead != (v.Owner == one.ID) || !v.Since.Equal(testTime) || (v.Note == "paused") != (v.Owner == two.ID) {
			t.Errorf("server %+v", v)
		}
	}
	if err := s.Leave(ctx, "p", two); err != nil {
		t.Fatal(err)
	}
	now = now.Add(20 * LeaseTimeout)
	three := Self()
	if err := s.Serve(ctx, "p", three, ""); err != nil {
		t.Fatal(err)
	}
	if list, err = s.Servers(ctx, "p"); err != nil || len(list) != 1 || list[0].Owner != three.ID {
		t.Errorf("servers = %+v, %v", list, err)
	}
	wantError(t, s.Serve(ctx, "q", one, ""), ErrNoProject)
	wantError(t, s.SetFloor(ctx, "q", work.Floor{}), ErrNoProject)
}

// Each watch has its own memory: what one has heard, another still hears.
func TestWatches(t *testing.T) {
	s, _ := claimable(t)
	one, two := s.Watch(), s.Watch()
	changed := func(w *Watch, want bool) {
		t.Helper()
		if got, err := w.Changed(t.Context()); err != nil || got != want {
			t.Errorf("changed = %v, %v, want %v", got, err, want)
		}
	}
	changed(one, true)
	changed(one, false)
	changed(two, true)
	if err := s.SetFloor(t.Context(), "p", work.Floor{Paused: true}); err != nil {
		t.Fatal(err)
	}
	changed(one, true)
	changed(two, true)
	changed(two, false)
	changed(one, false)
}
