package trackers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/work"
)

// puts is an issue of the board as a claim, a run or a person would have left it.
func (w *trackerWorld) puts(id int64, change func(*work.Issue)) {
	w.Helper()
	was := w.issue(id)
	now := was
	change(&now)
	c, err := w.sync.Board.PlanEdit(w.Context(), was, now, factory.By{Name: "tester", Door: "cli"})
	if err == nil {
		_, err = w.store.ChangeBoard(w.Context(), c)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func closeIt(r *tracker.Reading) { r.Open, r.Closed = false, time.Unix(1700, 0) }

func openIt(r *tracker.Reading) {
	r.Open, r.Closed = true, time.Time{}
	r.Events = append(r.Events, tracker.Event{Kind: tracker.Reopened, By: "writer", At: time.Unix(1800, 0)})
}

// What the tracker does not want any more goes back, wherever it waits or is
// worked on, keeps its text and what was done, and says why; wanted again, it
// goes on.
func TestTrackerTakesBack(t *testing.T) {
	label := func(r *tracker.Reading) {
		r.Labels = []string{"forge"}
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Labelled, By: "writer", At: time.Unix(1800, 0), Label: "forge"})
	}
	for name, c := range map[string]struct {
		away, again func(*tracker.Reading)
		says        string
	}{
		"closed":     {closeIt, openIt, "closed_on_tracker: it was closed on the tracker on 1970-01-01 00:28Z; reopen it there"},
		"unlabelled": {func(r *tracker.Reading) { r.Labels = nil }, label, "label_taken_away: it does not have the label forge on the tracker any more; give it the label again there"},
		"locked":     {func(r *tracker.Reading) { r.Locked = true }, func(r *tracker.Reading) { r.Locked = false }, "locked_on_tracker: "},
		"assigned": {func(r *tracker.Reading) { r.Assignees = []string{"ann"} }, func(r *tracker.Reading) { r.Assignees = nil },
			"assigned_to_somebody: it was assigned to ann after it was labelled; "},
		"gone":      {func(r *tracker.Reading) { r.Gone = true }, func(r *tracker.Reading) { r.Gone = false }, "gone_from_tracker: "},
		"a request": {func(r *tracker.Reading) { r.Pull = true }, func(r *tracker.Reading) { r.Pull = false }, "became_pull_request: "},
	} {
		w := newTrackerWorld(t)
		for _, n := range []int64{4, 5} {
			w.on.put(n, nil)
		}
		w.once()
		text := w.issue(2).Description
		w.puts(2, func(i *work.Issue) {
			i.Column, i.State, i.Reason, i.Run, i.Branch = work.ColumnInProgress, work.IssueWaits, "waits for you: start?", "i2-x", "forge/issue-2"
		})
		w.on.put(4, c.away)
		w.on.put(5, c.away)
		w.once()
		for _, id := range []int64{1, 2} {
			i := w.issue(id)
			if i.Column != work.ColumnBacklog || i.State != work.IssueWaits || !strings.HasPrefix(i.Reason, c.says) || i.Description == "" {
				t.Errorf("%s: %+v", name, i)
			}
		}
		if i := w.issue(2); i.Run != "i2-x" || i.Branch != "forge/issue-2" || i.Description != text {
			t.Errorf("%s: what was done is lost: %+v", name, i)
		} else if name == "closed" && !strings.HasSuffix(i.Reason, "reopen it there: it goes on from what run i2-x has done") {
			t.Errorf("%s: the way out: %s", name, i.Reason)
		}
		told := w.on.posted[5]
		if last := told[len(told)-1]; name != "gone" && !strings.Contains(last.Body.String(), "does not work on this any more") {
			t.Errorf("%s: told %q", name, last.Body)
		} else if name == "gone" && strings.Contains(last.Body.String(), "any more") {
			t.Errorf("%s: an issue that is not there is told of", name)
		}
		version := w.issue(2).Version
		w.on.put(5, nil)
		w.once()
		if got := w.issue(2).Version; got != version {
			t.Errorf("%s: said %d times", name, got-version+1)
		}
		w.on.put(4, c.again)
		w.on.put(5, c.again)
		w.once()
		for _, id := range []int64{1, 2} {
			if i := w.issue(id); i.Column != work.ColumnReady || i.State != "" || i.Reason != "" || (id == 2) != (i.Run == "i2-x") {
				t.Errorf("%s, and wanted again: %+v", name, i)
			}
		}
	}
}

// Who may not write does not bring a closed issue back, though hosts let authors
// reopen their own. A writer's label does.
func TestTrackerReopenedByItsAuthor(t *testing.T) {
	for _, seen := range []bool{true, false} { // whether Forge saw that it was closed
		w := newTrackerWorld(t)
		w.on.put(4, nil)
		w.once()
		w.on.put(4, closeIt)
		if seen {
			w.once()
		}
		w.on.put(4, func(r *tracker.Reading) { openIt(r); r.Events[len(r.Events)-1].By = "reader" })
		w.once()
		if i := w.issue(1); i.State != work.IssueWaits || !strings.HasPrefix(i.Reason, "reopened_without_access: ") {
			t.Errorf("reopened by its author: %+v", i)
		}
		w.on.put(4, func(r *tracker.Reading) {
			r.Events = append(r.Events, tracker.Event{Kind: tracker.Labelled, By: "writer", At: time.Unix(1900, 0), Label: "forge"})
		})
		w.once()
		if i := w.issue(1); i.Column != work.ColumnReady || i.State != "" {
			t.Errorf("labelled by a writer: %+v", i)
		}
	}
}

// A finished result stays where people look at it, and says that it will not
// land; wanted again, the loop looks at it again. What stopped, is done or was
// left in the backlog is not dragged around.
func TestTrackerLeavesWhereItIs(t *testing.T) {
	w := newTrackerWorld(t)
	for n := range int64(5) {
		w.on.put(n+4, nil)
	}
	w.once()
	in := func(id int64, c work.Column, s work.IssueState, why string) {
		w.puts(id, func(i *work.Issue) { i.Column, i.State, i.Reason, i.Run = c, s, why, "r" })
	}
	in(1, work.ColumnInReview, "", "")
	in(2, work.ColumnInProgress, work.IssueFailed, "phase 1 failed")
	in(3, work.ColumnDone, "", "")
	in(4, work.ColumnBacklog, "", "")
	in(5, work.ColumnInReview, work.IssueWaits, "pull request 3 was closed: reopen it there")
	for n := range int64(5) {
		w.on.put(n+4, closeIt)
	}
	w.once()
	for id, want := range map[int64]string{
		1: "in_review  closed_on_tracker", 2: "in_progress failed phase 1 failed", 3: "done  ", 4: "backlog  closed_on_tracker", 5: "in_review waits closed_on_tracker",
	} {
		i := w.issue(id)
		if got := string(i.Column) + " " + string(i.State) + " " + i.Reason; !strings.HasPrefix(got, want) {
			t.Errorf("issue %d: %q, want %q", id, got, want)
		}
	}
	for n := range int64(5) {
		w.on.put(n+4, openIt)
	}
	w.once()
	for id, want := range map[int64]string{
		1: "in_progress  ", 2: "in_progress failed phase 1 failed", 3: "done  ", 4: "backlog  ", 5: "in_progress  ",
	} {
		i := w.issue(id)
		if got := string(i.Column) + " " + string(i.State) + " " + i.Reason; got != want {
			t.Errorf("reopened, issue %d: %q, want %q", id, got, want)
		}
	}
}

// The parts of an issue go its way, with their texts.
func TestTrackerTakesBackParts(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(4, nil)
	w.once()
	w.puts(1, func(i *work.Issue) {
		i.Column, i.State, i.Reason = work.ColumnInProgress, work.IssueWaits, "waits for its parts"
	})
	add := func(parent int64, column work.Column) int64 {
		i := work.Issue{Title: "part", Description: "its text", Priority: work.PriorityNormal, Column: work.ColumnReady, Parent: parent}
		i, err := w.sync.Board.Add(t.Context(), i, factory.Place{At: factory.Bottom}, factory.By{Name: "factory", Door: "factory"})
		if err != nil {
			t.Fatal(err)
		}
		if column != work.ColumnReady {
			w.puts(i.ID, func(i *work.Issue) { i.Column = column })
		}
		return i.ID
	}
	ready, runs, done, parked := add(1, work.ColumnReady), add(1, work.ColumnInProgress), add(1, work.ColumnDone), add(1, work.ColumnBacklog)
	deeper, other := add(ready, work.ColumnReady), add(0, work.ColumnReady)
	w.on.put(4, closeIt)
	w.once()
	for _, id := range []int64{1, ready, runs, deeper} {
		if i := w.issue(id); i.Column != work.ColumnBacklog || !strings.HasPrefix(i.Reason, "closed_on_tracker") || id != 1 && i.Description != "its text" {
			t.Errorf("issue %d: %+v", id, i)
		}
	}
	for id, column := range map[int64]work.Column{done: work.ColumnDone, parked: work.ColumnBacklog, other: work.ColumnReady} {
		if i := w.issue(id); i.Column != column || i.Reason != "" {
			t.Errorf("issue %d: %+v", id, i)
		}
	}
	w.on.put(4, openIt)
	w.once()
	for _, id := range []int64{1, ready, runs, deeper} {
		if i := w.issue(id); i.Column != work.ColumnReady || i.State != "" {
			t.Errorf("wanted again, issue %d: %+v", id, i)
		}
	}
}

// That an issue was deleted is no change that a tracker tells of: what is in
// progress is looked at in each round.
func TestTrackerSweepsWhatIsInProgress(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(4, nil)
	w.once()
	w.puts(1, func(i *work.Issue) { i.Column = work.ColumnInProgress })
	w.on.mu.Lock()
	w.on.issues[4].Gone = true // and no change is counted
	w.on.mu.Unlock()
	w.once()
	if i := w.issue(1); i.Column != work.ColumnBacklog || !strings.HasPrefix(i.Reason, "gone_from_tracker") {
		t.Errorf("deleted: %+v", i)
	}
}

// An issue that the host does not close delays nothing but itself (a Gitea
// answers 412 while a dependency is open).
func TestTrackerThatCannotBeToldOfOne(t *testing.T) {
	w := newTrackerWorld(t)
	for _, n := range []int64{4, 5} {
		w.on.put(n, nil)
	}
	w.once()
	now := time.Unix(3000, 0)
	w.sync.Board.Now = func() time.Time { return now }
	w.on.refuses = map[int64]error{4: &work.HostTrouble{Kind: work.HostRefused, Status: 412, What: "the host refuses (412)"}}
	for id := range int64(2) {
		w.puts(id+1, func(i *work.Issue) { i.Column = work.ColumnDone })
	}
	for range 3 {
		w.once()
	}
	if got := w.on.posted[5]; len(got) != 2 || !got[1].Done {
		t.Errorf("the other one was told %+v", got)
	}
	if w.on.tried[4] != 2 { // of the first round, and once since
		t.Errorf("told %d times in vain", w.on.tried[4])
	}
	want := "tracker_not_told: tell fake:owner/work how issue 4 stands: the host refuses (412); it is tried again at 1970-01-01 00:5"
	if i := w.issue(1); i.Column != work.ColumnDone || !strings.HasPrefix(i.Reason, want) {
		t.Errorf("its card says %q, want %q", i.Reason, want)
	}
	if i := w.issue(2); i.Reason != "" {
		t.Errorf("the other's card says %q", i.Reason)
	}
	w.on.put(6, nil)
	w.once()
	if w.count("p") != 3 {
		t.Error("nothing new is taken")
	}
	w.on.refuses = nil
	now = now.Add(time.Hour)
	w.once()
	if got := w.on.posted[4]; len(got) != 2 || !got[1].Done {
		t.Errorf("told in the end %+v", got)
	}
	if i := w.issue(1); i.Reason != "" {
		t.Errorf("its card still says %q", i.Reason)
	}
}

// One issue's own trouble, whatever the host calls it, is no trouble of the
// tracker.
func TestTroubleOfOneIssue(t *testing.T) {
	client := host.NewClient("git.example.com", nil, "secret")
	for status, want := range map[int]bool{403: true, 404: true, 410: true, 412: true, 422: true, 401: false, 429: false, 500: false, 502: false, 0: false} {
		if got := tracker.OfIssue(client.Trouble("close an issue", status, http.Header{}, "no", nil)); got != want {
			t.Errorf("%d is of one issue: %v, want %v", status, got, want)
		}
	}
	limit := http.Header{"Retry-After": {"60"}}
	if tracker.OfIssue(client.Trouble("close an issue", 403, limit, "", nil)) {
		t.Error("a limit is taken for one issue's trouble")
	}
}

// What the loop is told: by the tracker that an issue, or what it is a part of,
// came from; a tracker that fails is not asked for each of its issues.
func TestOriginsAsk(t *testing.T) {
	w := newTrackerWorld(t)
	for _, n := range []int64{4, 5, 6} {
		w.on.put(n, nil)
	}
	w.once()
	now := time.Unix(2000, 0)
	clock := func() time.Time { return now }
	env := project.Env{Now: clock, Log: log.New(io.Discard)}
	one := &followed{sync: w.sync}
	o := Origins{env, w.store, "p", []*followed{one}}
	part := work.Issue{Project: "p", ID: 9, Parent: 1}
	ask := func(i work.Issue) factory.Asked {
		t.Helper()
		if from, err := o.From(t.Context(), i); err != nil || from != "work" {
			t.Errorf("from %q, %v", from, err)
		}
		return o.Ask(t.Context(), i)
	}
	if from, err := o.From(t.Context(), work.Issue{ID: 8, Project: "p"}); err != nil || from != "" {
		t.Errorf("an issue of the board is from %q, %v", from, err)
	}
	if a := ask(part); a.Says != factory.WantedYes {
		t.Errorf("a part of what is wanted: %+v", a)
	}
	w.on.put(4, closeIt)
	for name, i := range map[string]work.Issue{"closed": w.issue(1), "a part of it": part} {
		if a := ask(i); a.Says != factory.WantedNo || !strings.HasPrefix(a.Why, "closed_on_tracker: ") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if i := w.issue(1); i.Column != work.ColumnBacklog {
		t.Errorf("asked about: %+v", i)
	}
	// Nobody can say.
	w.on.broken = &work.HostTrouble{Kind: work.HostUnreachable, What: "no answer from port 12345"}
	reads := w.on.reads
	var first factory.Asked
	for _, id := range []int64{2, 3, 2} {
		a := ask(w.issue(id))
		if a.Says != factory.WantedUnknown || !strings.Contains(a.Why, "(unreachable)") || !a.Until.After(now) {
			t.Errorf("unreachable: %+v", a)
		}
		if first.Until.IsZero() {
			first = a
		}
	}
	if got := w.on.reads - reads; got != 1 {
		t.Errorf("a tracker that fails was asked %d times", got)
	}
	now = first.Until
	if a := ask(w.issue(2)); a.Until.Sub(now) <= first.Until.Sub(time.Unix(2000, 0)) || a.Why != strings.ReplaceAll(first.Why, "work#6", "work#5") {
		t.Errorf("asked in vain again: %+v after %+v", a, first)
	}
	w.on.broken = nil
	now = now.Add(time.Hour)
	if a := ask(w.issue(2)); a.Says != factory.WantedYes {
		t.Errorf("within reach again: %+v", a)
	}
	// One issue that cannot be read holds itself alone.
	w.on.refusesRead = map[int64]error{5: &work.HostTrouble{Kind: work.HostRefused, What: "its timeline is too long"}}
	if a, b := ask(w.issue(2)), ask(w.issue(3)); a.Says != factory.WantedUnknown || b.Says != factory.WantedYes {
		t.Errorf("one that is refused: %+v, another: %+v", a, b)
	}
	// The tracker is not configured here, or the issue is bound to nothing.
	for name, o := range map[string]Origins{"no tracker": {env, w.store, "p", nil}, "another": {env, w.store, "other", o.trackers}} {
		if a := o.Ask(t.Context(), w.issue(3)); a.Says != factory.WantedUnknown || a.Why == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// Who asked has gone: that says nothing of the tracker.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.on.broken = ctx.Err()
	if a := o.Ask(ctx, w.issue(3)); a.Says != factory.WantedUnknown {
		t.Errorf("cancelled: %+v", a)
	}
	w.on.broken = nil
	if a := ask(w.issue(3)); a.Says != factory.WantedYes {
		t.Errorf("after somebody gave up: %+v", a)
	}
}

// Questions that are under way together and all fail are one failure: a tracker that was
// away for a moment is not left alone for a quarter of an hour.
func TestQuestionsThatFailTogether(t *testing.T) {
	t.Parallel()
	began, why := time.Unix(1000, 0), &work.HostTrouble{Kind: work.HostUnreachable}
	var p pause
	for n := range 64 {
		p = p.failed(began, began.Add(time.Duration(n)*time.Millisecond), why)
	}
	if got := p.until.Sub(began); got != askPause {
		t.Errorf("64 questions at once leave it alone for %s, want %s", got, askPause)
	}
	next := p.until
	if p = p.failed(next, next, why); p.until.Sub(next) != 2*askPause {
		t.Errorf("the next one leaves it alone for %s, want %s", p.until.Sub(next), 2*askPause)
	}
}
