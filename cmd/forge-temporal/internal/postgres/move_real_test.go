//go:build real

package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
	"forge/internal/work"
)

// fill puts something into every table of a journal, and releases every lease.
func fill(t *testing.T, s *journal.Store) {
	t.Helper()
	ctx := t.Context()
	now := time.Now().UTC()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cost, tokens := 0.1, int64(7)
	for n := range 3 {
		run := fmt.Sprint("run", n)
		l, err := s.CreateRun(ctx, run, journal.Self())
		ok(err)
		var events []work.Event
		for seq := int64(1); seq <= 1500; seq++ {
			e := event(seq, strings.Repeat("ä\x00", int(seq%7)))
			e.Run, e.Phase = run, "05"
			events = append(events, e)
		}
		ok(s.Append(ctx, l, journal.Append{
			Events: events, Status: &journal.Status{Branch: "b", CostUSD: &cost},
			Open:  []work.Checkpoint{{ID: run + ".1", Run: run, Status: work.CheckpointPending, Revision: 1, OpenedAt: now}, {ID: run + ".2", Run: run, Status: work.CheckpointPending, Revision: 1, OpenedAt: now}},
			Usage: []journal.UsageRow{{Run: run, Command: "c", Time: now, USD: &cost}, {Run: run, Command: "d", Time: now, Tokens: &tokens}},
			Begin: []journal.AttemptRow{{Run: run, Command: "c", Mark: "m", Started: now}},
		}))
		for _, id := range []string{".1", ".2"} {
			_, err = s.Answer(ctx, work.Answer{Checkpoint: run + id, Status: work.CheckpointApproved, By: "ann", At: now})
			ok(err)
		}
		inbox, err := s.Inbox(ctx, run)
		ok(err)
		// Of the two answers the later is heard: its number must not be given again.
		e := event(1501, "heard")
		e.Run = run
		ok(s.Append(ctx, l, journal.Append{Events: []work.Event{e}, Consume: []int64{inbox[1].ID}}))
		ok(s.SaveState(ctx, run, 1501, []byte{0, 1, 2}))
		ok(s.SetTravel(ctx, run, journal.Travel{Remote: "origin", Here: true}))
		ok(l.Release(ctx))
	}
	_, err := s.PutBlob(ctx, []byte("a blob"))
	ok(err)
	ok(s.PutProject(ctx, work.BoardProject{ID: "p", Root: "/p", Created: now}))
	graph := int64(0)
	issue := func(rank, low string, needs ...int64) work.Issue {
		change := work.BoardChange{Project: "p", Issues: []work.IssueChange{{
			Issue: work.Issue{Project: "p", Title: "t␀", Column: work.ColumnBacklog, Rank: rank, Description: "d␀", Criteria: []work.Criterion{}, Hold: []string{}, Author: "ann", Labels: []string{"l"}, Needs: needs,
				Priority: work.PriorityHigh, Created: now, Changed: now},
			Low: low, Entry: work.IssueEntry{At: now, By: "ann", Action: "added"},
		}}}
		if len(needs) > 0 {
			change.Graph = &graph
		}
		list, err := s.ChangeBoard(ctx, change)
		ok(err)
		return list[0]
	}
	first := issue("a", "")
	second := issue("b", "a", first.ID)
	owner := journal.Self()
	claim, second, err := s.ClaimIssue(ctx, owner, work.IssueClaim{Project: "p", Issue: second.ID}, work.BoardChange{Project: "p", Issues: []work.IssueChange{{
		Issue: func() work.Issue { i := second; i.Rank = ""; return i }(), Entry: work.IssueEntry{At: now, By: "ann", Action: "claimed"}}}})
	ok(err)
	_, err = s.EndClaim(ctx, claim, nil, now.Add(time.Hour))
	ok(err)
	ok(s.SetFloor(ctx, "p", work.Floor{}))
	ok(s.KeepTracker(ctx, work.TrackerIssue{Tracker: "t", Remote: 1, Hash: "h", SeenBare: true}, nil))
	ok(s.SetTrackerMark(ctx, "t", work.TrackerMark{ETag: "e", Since: now}))
	_, err = s.NewHook(ctx, "t", []string{"w"})
	ok(err)
	_, err = s.KeepSchedule(ctx, work.ScheduleRow{Project: "p", Name: "nightly", Due: now}, time.Time{}, nil)
	ok(err)
	_, _, err = s.BeginPost(ctx, "slack", "run0")
	ok(err)
	ok(s.AddTalk(ctx, "run0", 0, now, json.RawMessage(`{"a":1}`)))
	ok(s.PutShared(ctx, "users.json", []byte(`{"ä":1}`), 0))
}

// A journal that is moved to Postgres and back is the same, row by row, and goes
// on: numbers that were given are not given again.
func TestRealPostgresMove(t *testing.T) {
	cluster := pgtest.Start(t)
	dir := t.TempDir()
	file := openFile(t, dir)
	fill(t, file)
	stock, err := journal.Count(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range stock.Tables {
		if table.Rows == 0 {
			t.Errorf("the table %s is empty: nothing is shown of it", table.Name)
		}
	}
	server := open(t, cluster.Schema(t))
	there, err := journal.Move(t.Context(), file, server)
	if err != nil {
		t.Fatal(err)
	}
	again := openFile(t, t.TempDir())
	back, err := journal.Move(t.Context(), server, again)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range stock.Tables {
		if there.Tables[i] != want || back.Tables[i] != want {
			t.Errorf("%s: %v there and %v back, want %v", want.Name, there.Tables[i], back.Tables[i], want)
		}
	}
	for name, s := range map[string]*journal.Store{"file": file, "server": server, "again": again} {
		for n := range 3 {
			run := fmt.Sprint("run", n)
			seq, head, err := s.Head(t.Context(), run)
			if err == nil {
				err = file.CheckAnchor(t.Context(), run, seq, head)
			}
			if err != nil || seq != 1501 {
				t.Errorf("%s: %s has %d events (%v)", name, run, seq, err)
			}
		}
		l, err := s.CreateRun(t.Context(), "new", journal.Self())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Tell(t.Context(), "new", work.Answer{Message: &work.Message{ID: "m", Phase: "05", Text: "hello"}, At: time.Now()}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		inbox, err := s.Inbox(t.Context(), "new")
		if err != nil || len(inbox) != 1 || inbox[0].ID != 7 {
			t.Errorf("%s: the next answer has the number %+v (%v), want 7", name, inbox, err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := journal.Move(t.Context(), file, server); !errors.Is(err, journal.ErrNotEmpty) {
		t.Errorf("a journal that holds something takes another: %v", err)
	}
	if _, err := file.AcquireRun(t.Context(), "run0", journal.Self()); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Move(t.Context(), file, open(t, cluster.Schema(t))); err == nil || !strings.Contains(err.Error(), "works on run run0") {
		t.Errorf("a journal was moved under a run: %v", err)
	}
	if err := journal.MarkMoved(t.Context(), server, "elsewhere"); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, cluster.URL("postgres", "s1")); err == nil || !strings.Contains(err.Error(), "moved to elsewhere") {
		t.Errorf("a journal that was moved away is opened: %v", err)
	}
}

// A row that changed on its way, or a chain that does not hold, is found before
// anything is committed.
func TestRealPostgresMoveIsChecked(t *testing.T) {
	cluster := pgtest.Start(t)
	for name, spoil := range map[string]string{
		"a row": `CREATE FUNCTION s%d.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.title := 'other'; RETURN NEW; END $$;
			CREATE TRIGGER spoil BEFORE INSERT ON s%d.issues FOR EACH ROW EXECUTE FUNCTION s%d.spoil()`,
		"a row that is lost": `CREATE FUNCTION s%d.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER spoil BEFORE INSERT ON s%d.talks FOR EACH ROW EXECUTE FUNCTION s%d.spoil()`,
	} {
		t.Run(name, func(t *testing.T) {
			file := openFile(t, t.TempDir())
			fill(t, file)
			url := cluster.Schema(t)
			server := open(t, url)
			var n int
			if _, err := fmt.Sscanf(url[strings.LastIndex(url, "search_path=")+len("search_path=s"):], "%d", &n); err != nil {
				t.Fatal(err)
			}
			cluster.Exec(t, fmt.Sprintf(spoil, n, n, n))
			if _, err := journal.Move(t.Context(), file, server); err == nil {
				t.Fatal("it was moved all the same")
			}
			stock, err := journal.Count(t.Context(), server)
			if err != nil || stock.Rows("runs") != 0 {
				t.Errorf("%d runs are there (%v), want none", stock.Rows("runs"), err)
			}
		})
	}
}

func openFile(t *testing.T, dir string) *journal.Store {
	t.Helper()
	s, err := journal.Open(context.WithoutCancel(t.Context()), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
