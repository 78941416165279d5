package trackers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/journal"
	"forge/internal/work"
)

// lostStore does what it is told, and now and then says that it failed.
type lostStore struct {
	*journal.Store
	before, after bool
}

func (s *lostStore) HearTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	if s.before {
		s.before = false
		return errors.New("it died before")
	}
	err := s.Store.HearTracker(ctx, t, c)
	if s.after && err == nil {
		s.after = false
		return errors.New("it died after")
	}
	return err
}

func (w *trackerWorld) says(n int64, who, body string) {
	w.on.put(n, func(r *tracker.Reading) {
		r.Comments = append(r.Comments, tracker.Comment{ID: int64(len(r.Comments) + 1), By: who, At: time.Unix(int64(1000+len(r.Comments)), 0), Body: body})
	})
}

// lines counts what calls did, in the history of issue 1.
func (w *trackerWorld) lines(note string) (n int) {
	w.Helper()
	all, err := w.store.IssueHistory(w.Context(), "p", 1, 100, 0)
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range all {
		if strings.Contains(l.Note, note) {
			n++
		}
	}
	return n
}

// calledWorld hears calls, by two servers over one journal.
func calledWorld(t *testing.T) (*trackerWorld, *tracker.Sync) {
	w := newTrackerWorld(t)
	other := w.onto("p")
	for _, s := range []*tracker.Sync{w.sync, other} {
		s.Rules.Called, s.Rules.Column = "forge", work.ColumnBacklog
		s.Rules.Level = func(name string) error {
			if name != "careful" {
				return fmt.Errorf("there is no level %q", name)
			}
			return nil
		}
	}
	return w, other
}

// A call of who may write is acted on once, whoever reads it how often; one of
// others is left alone without a word, and counted.
func TestCallsAreActedOnOnce(t *testing.T) {
	w, other := calledWorld(t)
	w.on.put(7, nil)
	w.once()
	w.says(7, "reader", "/forge do")
	w.says(7, "writer", "/forge level careful\n/forge budget 3\n@forge do")
	for range 3 {
		w.once()
		if err := other.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.on.put(7, nil) // told again
	}
	i := w.issue(1)
	if i.Column != work.ColumnReady || i.Level != "careful" || i.Budget != 3 || strings.Contains(i.Description, "/forge") {
		t.Errorf("%+v", i)
	}
	if n := w.lines("called:"); n != 1 {
		t.Errorf("acted on %d times", n)
	}
	if !slices.Equal(w.on.signs, []int64{2}) {
		t.Errorf("signs at %v", w.on.signs)
	}
	if got := w.sync.Heard(); got["taken"] != 1 || got["ignored"] != 1 || got["refused"] != 0 {
		t.Errorf("counted %v", got)
	}
	// What a person moves back afterwards stays there.
	if _, err := w.sync.Board.Move(t.Context(), 1, work.ColumnBacklog, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	w.on.put(7, nil)
	w.once()
	if got := w.issue(1); got.Column != work.ColumnBacklog {
		t.Errorf("it was moved again: %+v", got)
	}
}

// A process that dies around a call loses none and does none twice.
func TestCallsSurviveADeath(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			w, other := calledWorld(t)
			w.on.put(7, nil)
			w.once()
			lost := &lostStore{Store: w.store, before: when == "before", after: when == "after"}
			w.sync.Store = lost
			w.says(7, "writer", "/forge stop")
			if err := w.sync.Once(t.Context()); err == nil {
				t.Fatal("it did not die")
			}
			if when == "after" {
				// Meanwhile a person takes it up again: that stands.
				if _, err := other.Board.Retry(t.Context(), 1, factory.By{Name: "ann", Door: "cli"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := work.IssueCancelled
			if when == "after" {
				want = ""
			}
			if i := w.issue(1); i.State != want || w.lines("called: stop") != 1 {
				t.Errorf("%+v, %d lines", i, w.lines("called: stop"))
			}
		})
	}
}

// What is not done is answered in one comment with the reason; so is explain.
func TestCallsAreAnswered(t *testing.T) {
	w, _ := calledWorld(t)
	w.sync.History = func(context.Context, work.Issue, int) ([]string, error) { return []string{"added by @ann"}, nil }
	w.on.put(7, nil)
	w.once()
	w.on.posted[7] = nil
	w.says(7, "writer", "/forge level free")
	w.says(7, "writer", "/forge explain")
	w.says(7, "writer", "/forge dance")
	w.once()
	var all []string
	for _, r := range w.on.posted[7] {
		all = append(all, r.Body.String())
	}
	if len(all) != 3 || !strings.Contains(all[0], "there is no level") || !strings.Contains(all[1], "on Forge's board") || !strings.Contains(all[1], "added by") || strings.Contains(all[1], "@ann") ||
		!strings.Contains(all[2], "do, plan, retry, stop") {
		t.Errorf("answered %q", all)
	}
	if got := w.sync.Heard(); got["refused"] != 2 || got["taken"] != 1 {
		t.Errorf("counted %v", got)
	}
}
