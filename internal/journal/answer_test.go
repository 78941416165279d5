package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

func checkpoint(run, id string, opened time.Time) work.Checkpoint {
	return work.Checkpoint{ID: id, Run: run, Kind: "phase.start", Revision: 1, Status: work.CheckpointPending, OpenedAt: opened}
}

// openMany opens checkpoints c00000, c00001, … in run, three at each moment.
func openMany(t testing.TB, s *Store, l *Lease, n int) {
	t.Helper()
	var a Append
	for i := range n {
		a.Open = append(a.Open, checkpoint(l.Run(), fmt.Sprintf("%s-%05d", l.Run(), i), testTime.Add(time.Duration(i/3))))
	}
	appendTo(t, s, l, a)
}

// Ten thousand checkpoints, each answered by two at once.
func TestTenThousandRaces(t *testing.T) {
	n := 10000
	if pace.Race {
		n = 1000
	}
	dir := t.TempDir()
	s := openIn(t, dir, unsynced)
	openMany(t, s, create(t, s, "run"), n)
	// Two journals, as two processes have.
	doors := []*Store{s, openIn(t, dir, unsynced)}
	won := make([][]bool, len(doors))
	var all sync.WaitGroup
	for d, door := range doors {
		won[d] = make([]bool, n)
		all.Go(func() {
			for i := range n {
				a := work.Answer{Checkpoint: fmt.Sprintf("run-%05d", i), Status: work.CheckpointApproved, By: fmt.Sprint(d), At: testTime}
				switch _, err := door.Answer(t.Context(), a); {
				case err == nil:
					won[d][i] = true
				case !errors.Is(err, work.ErrAlreadyResolved):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	inbox, err := s.Inbox(t.Context(), "run")
	if err != nil || len(inbox) != n {
		t.Fatalf("%d answers in the inbox, want %d; %v", len(inbox), n, err)
	}
	by := map[string]string{}
	for _, row := range inbox {
		by[row.Answer.Checkpoint] = row.Answer.By
	}
	for i := range n {
		if won[0][i] == won[1][i] {
			t.Fatalf("checkpoint %d: both doors say %v", i, won[0][i])
		}
		id := fmt.Sprintf("run-%05d", i)
		if want := map[bool]string{true: "0", false: "1"}[won[0][i]]; by[id] != want {
			t.Fatalf("%s was answered by %s, the inbox has %s", id, want, by[id])
		}
	}
}

func TestListCheckpoints(t *testing.T) {
	s := openIn(t, t.TempDir())
	a, b := create(t, s, "a"), create(t, s, "b")
	openMany(t, s, a, 25)
	openMany(t, s, b, 7)
	for i := range 5 {
		id := fmt.Sprintf("a-%05d", 2*i)
		if _, err := s.Answer(t.Context(), work.Answer{Checkpoint: id, Status: work.CheckpointRejected, At: testTime}); err != nil {
			t.Fatal(err)
		}
	}
	for filter, want := range map[CheckpointFilter]int{
		{}:                                32,
		{Run: "a"}:                        25,
		{Run: "b"}:                        7,
		{Status: work.CheckpointPending}:  27,
		{Status: work.CheckpointRejected}: 5,
		{Run: "a", Status: "pending"}:     20,
		{Run: "b", Status: "rejected"}:    0,
		{Status: "no such status"}:        0,
		{Run: "a", Status: work.CheckpointExpired}: 0,
	} {
		seen := map[string]bool{}
		after, last := "", work.Checkpoint{}
		for {
			page, err := s.Checkpoints(t.Context(), filter, 4, after)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				if seen[c.ID] || c.OpenedAt.Before(last.OpenedAt) || (filter.Run != "" && c.Run != filter.Run) || (filter.Status != "" && c.Status != filter.Status) {
					t.Errorf("%+v: %s (%s, %s) after %s", filter, c.ID, c.Run, c.Status, last.ID)
				}
				seen[c.ID], last = true, c
			}
			if len(page) < 4 {
				break
			}
			after = page[3].ID
		}
		if len(seen) != want {
			t.Errorf("%+v: %d checkpoints, want %d", filter, len(seen), want)
		}
	}
	_, err := s.Checkpoints(t.Context(), CheckpointFilter{Run: "none"}, 1, "")
	wantError(t, err, ErrNoRun)
	_, err = s.Checkpoints(t.Context(), CheckpointFilter{}, 1, "none")
	wantError(t, err, work.ErrUnknown)
	for _, limit := range []int{-1, 0, 1001} {
		if _, err := s.Checkpoints(t.Context(), CheckpointFilter{}, limit, ""); err == nil {
			t.Errorf("limit %d was accepted", limit)
		}
	}
}

// However many there are, a page is a walk along one index: no table is
// scanned and nothing is sorted.
func TestPagesFollowAnIndex(t *testing.T) {
	s, l := openWithRun(t, "run")
	openMany(t, s, l, 3)
	for filter, index := range map[CheckpointFilter]string{
		{}:                               "checkpoints_all (opened>? AND id>?)",
		{Status: "pending"}:              "checkpoints_status (status=? AND opened>? AND id>?)",
		{Run: "run"}:                     "checkpoints_run (run=? AND opened>? AND id>?)",
		{Run: "run", Status: "rejected"}: "checkpoints_run_status (run=? AND status=? AND opened>? AND id>?)",
	} {
		query, args, err := s.checkpointQuery(t.Context(), filter, 50, "run-00001")
		if err != nil {
			t.Fatal(err)
		}
		steps := plan(t, s, query, args...)
		if len(steps) != 1 || !strings.HasSuffix(strings.ReplaceAll(steps[0], "(opened,id)>(?,?)", "opened>? AND id>?"), index) {
			t.Errorf("%+v: %q, want one step with %s", filter, steps, index)
		}
	}
}

// plan are the steps of a query, as the database says that it takes them.
func plan(t *testing.T, s *Store, query string, args ...any) (steps []string) {
	t.Helper()
	err := s.each(t.Context(), "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestFindCheckpoint(t *testing.T) {
	s, l := openWithRun(t, "run")
	var a Append
	for _, id := range []string{"ab", "abc", "abd", "x%y_z", "é1"} {
		a.Open = append(a.Open, checkpoint("run", id, testTime))
	}
	appendTo(t, s, l, a)
	for prefix, want := range map[string]string{
		"ab": "ab", "abc": "abc", "abd": "abd", "x": "x%y_z", "x%": "x%y_z", "é": "é1",
		"a": "", "": "", "b": "", "%": "", "abcd": "", "x_y": "",
	} {
		c, err := s.Checkpoint(t.Context(), prefix)
		if want == "" {
			if !errors.Is(err, work.ErrUnknown) {
				t.Errorf("%q: got %q, error %v", prefix, c.ID, err)
			}
		} else if err != nil || c.ID != want {
			t.Errorf("%q: got %q, error %v, want %q", prefix, c.ID, err, want)
		}
	}
	if _, err := s.Checkpoint(t.Context(), "a"); !strings.Contains(err.Error(), "ab or abc") {
		t.Errorf("unhelpful: %v", err)
	}
}

func TestDamagedRows(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	openMany(t, s, create(t, s, "run"), 2)
	if _, err := s.Answer(t.Context(), work.Answer{Checkpoint: "run-00000", Status: work.CheckpointApproved, At: testTime}); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, `UPDATE checkpoints SET record = 'x'`, `UPDATE inbox SET answer = 'x'`)
	_, err := s.Checkpoint(t.Context(), "run-00000")
	wantError(t, err, ErrBroken)
	_, err = s.Answer(t.Context(), work.Answer{Checkpoint: "run-00001", Status: work.CheckpointApproved, At: testTime})
	wantError(t, err, ErrBroken)
	_, err = s.Inbox(t.Context(), "run")
	wantError(t, err, ErrBroken)
}
