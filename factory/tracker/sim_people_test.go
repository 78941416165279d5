package tracker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/factory"
	"forge/internal/work"
)

// simIssue is an issue of the simulated tracker: what it tells, and the truth.
type simIssue struct {
	Reading
	gone    bool
	changed int // when the tracker last told that it changed
	// When, by the count of what happened, it stopped being wanted, an external author
	// reopened it, or something came to block it; 0 = it is not so.
	unwanted, reopened, blocked int
	spoiled                     bool              // an external author wrote into it since it was labelled
	vouched                     string            // its texts as they were labelled
	said                        map[string]string // Forge's own comments by their keys
	calls                       map[string]bool   // of ann's that have to be heard
	again                       bool              // people reopened it when it was done
}

const strange = "strange words " // of eve's

// the people: ann may write to the repository, eve wrote the issues.
const (
	ann = "ann"
	eve = "eve"
)

func (w *simWorld) event(i *simIssue, kind EventKind, by, label, whom string) {
	i.Events = append(i.Events, Event{Kind: kind, By: by, At: w.now, Label: label, Whom: whom})
}

// opens lets eve open an issue, which ann may label.
func (w *simWorld) opens() *simIssue {
	n := int64(len(w.issues) + 1)
	i := &simIssue{Reading: Reading{
		Number: n, Title: fmt.Sprintf("Wish %d", n), Body: fmt.Sprintf("%s%d", strange, w.tick), Author: eve, Open: true,
		Edits: Edits{Known: true}, Writers: map[string]bool{ann: true, eve: false},
	}, said: map[string]string{}, calls: map[string]bool{}, unwanted: w.tick}
	w.issues[n] = i
	return i
}

func (w *simWorld) label(i *simIssue) {
	if !has(i.Labels, "forge") {
		i.Labels = []string{"forge"}
	}
	w.event(i, Labelled, ann, "forge", "")
	i.reopened, i.spoiled = 0, false
	i.vouched += i.Title + "\n" + i.Body + "\n"
}

// something happens on the tracker. told is false for what some trackers do not
// tell as a change of the issue.
func (w *simWorld) onTracker() {
	if len(w.issues) < 2 || len(w.issues) < simIssues && w.rand.IntN(8) == 0 {
		w.became(w.opens(), true)
		return
	}
	i := w.issues[1+w.rand.Int64N(int64(len(w.issues)))]
	if i.gone {
		return
	}
	who := []string{ann, eve}[w.rand.IntN(2)]
	told := true
	switch w.rand.IntN(16) {
	case 0, 1, 2, 3, 4:
		if !has(i.Labels, "forge") || w.rand.IntN(4) == 0 {
			w.label(i)
			break
		}
		i.Labels = nil
		w.event(i, Unlabelled, ann, "forge", "")
		told = w.rand.IntN(2) == 0
	case 5:
		i.Open = false
	case 6:
		w.reopen(i, who)
	case 7:
		i.Locked = !i.Locked
		told = w.store.rows[i.Number].Issue == 0
	case 8:
		if i.Assignees = nil; w.rand.IntN(2) == 0 {
			i.Assignees = []string{ann}
			w.event(i, Assigned, ann, "", ann)
		}
	case 9, 10:
		w.edit(i, who)
	case 11, 12, 13:
		w.comment(i, who)
	case 14:
		w.block(i)
	case 15:
		if i.gone = w.rand.IntN(3) == 0; i.gone {
			told = false
		}
	}
	w.became(i, told)
}

func (w *simWorld) reopen(i *simIssue, who string) {
	if i.Open {
		return
	}
	i.Open = true
	w.event(i, Reopened, who, "", "")
	if row, ok := w.store.rows[i.Number]; ok && row.Issue != 0 {
		i.again = i.again || w.card(row.Issue).Column == work.ColumnDone
	}
	if who == eve && i.reopened == 0 {
		i.reopened = w.tick
	}
}

func (w *simWorld) edit(i *simIssue, who string) {
	words := "Please, by " + ann
	if who == eve {
		words, i.spoiled = fmt.Sprintf("%s%d", strange, w.tick), true
	}
	i.Body = words
	i.Edits = Edits{Known: true, Revision: fmt.Sprint(w.tick), Whole: true, List: append(slices.Clone(i.Edits.List), Edit{By: who, At: w.now})}
}

func (w *simWorld) comment(i *simIssue, who string) {
	words := []string{"/forge stop", "/forge do", "/forge retry", "me too"}[w.rand.IntN(4)]
	if w.rand.IntN(2) == 0 {
		words = fmt.Sprintf("/forge budget %d", w.tick)
		if who == ann && w.store.rows[i.Number].Issue != 0 {
			i.calls[strings.TrimPrefix(words, "/forge ")] = true
		}
	}
	i.Comments = append(i.Comments, Comment{ID: int64(w.tick), By: who, At: w.now, Body: words})
}

// block lets an issue wait for an older one, or for one that is elsewhere, or
// takes that back.
func (w *simWorld) block(i *simIssue) {
	switch {
	case len(i.Blockers) > 0:
		i.Blockers, i.blocked = nil, 0
		return
	case i.Number > 1:
		i.Blockers = []Blocker{{Number: 1 + w.rand.Int64N(i.Number-1)}}
	default:
		i.Blockers = []Blocker{{Repo: "other/place", Number: 500, Open: true}}
	}
	i.blocked = w.tick
}

// became takes note of what an issue is in truth, and lets the tracker tell of it:
// a webhook may be lost, late and come twice.
func (w *simWorld) became(i *simIssue, told bool) {
	switch wanted := i.wanted(); {
	case wanted:
		i.unwanted = 0
	case i.unwanted == 0:
		i.unwanted = w.tick
	}
	if told || i.changed == 0 {
		i.changed = w.tick
	}
	for range []int{0, 1, 1, 2}[w.rand.IntN(4)] {
		w.hooks = append(w.hooks, fmt.Sprint(w.tick))
	}
}

// wanted is the truth of whether an issue is to be worked on, its text aside.
func (i *simIssue) wanted() bool {
	return i.Open && !i.gone && !i.Locked && has(i.Labels, "forge") && !i.givenAway()
}

func (i *simIssue) givenAway() bool {
	for _, e := range slices.Backward(i.Events) {
		switch {
		case len(i.Assignees) == 0:
			return false
		case e.Kind == Assigned:
			return true
		case e.Kind == Labelled:
			return !slices.ContainsFunc(i.Events, func(e Event) bool { return e.Kind == Assigned })
		}
	}
	return len(i.Assignees) > 0
}

// onBoard lets ann do something with a card.
func (w *simWorld) onBoard() {
	if len(w.store.rows) == 0 {
		return
	}
	row := w.store.rows[1+w.rand.Int64N(int64(len(w.issues)))]
	if row.Issue == 0 {
		return
	}
	switch w.rand.IntN(5) {
	case 0:
		w.takesOver(row.Issue, w.toReady)
	case 1:
		_, _ = w.people.Move(w.ctx, row.Issue, work.ColumnBacklog, factory.Place{At: factory.Bottom}, onThePages) // refused where it is worked on
	case 2:
		_, _ = w.people.Cancel(w.ctx, row.Issue, onThePages) // refused where it is done
	default:
		w.takesOver(row.Issue, w.retry)
	}
}

func (w *simWorld) retry(id int64) (work.Issue, error) {
	return w.people.Retry(w.ctx, id, onThePages)
}

func (w *simWorld) toReady(id int64) (work.Issue, error) {
	return w.people.Move(w.ctx, id, work.ColumnReady, factory.Place{At: factory.Bottom}, onThePages)
}

// takesOver lets ann do with a card what makes her responsible for what it says.
func (w *simWorld) takesOver(id int64, do func(int64) (work.Issue, error)) {
	was := w.card(id)
	if now, err := do(id); err == nil && now.Version != was.Version {
		w.took[id] = taken{tick: w.tick, text: was.Description}
	}
}

// taken is what ann read on a card, and when.
type taken struct {
	tick int
	text string
}

var onThePages = factory.By{Name: ann, Door: "web"}

// The tracker as the factory sees it.

func (w *simWorld) Name() string { return "sim:owner/work" }

func (w *simWorld) trouble() error {
	if w.away || !w.calm && w.rand.IntN(20) == 0 {
		return &work.HostTrouble{Kind: work.HostUnreachable, What: "no answer"}
	}
	return nil
}

func (w *simWorld) Changed(_ context.Context, m work.TrackerMark) (out []int64, next work.TrackerMark, err error) {
	if err := w.trouble(); err != nil {
		return nil, m, err
	}
	next = m
	for _, n := range slices.Sorted(maps.Keys(w.issues)) {
		at := w.at(w.issues[n].changed)
		if !at.After(m.Since) {
			continue
		}
		out = append(out, n)
		if at.After(next.Since) {
			next.Since = at
		}
	}
	return out, next, nil
}

func (w *simWorld) Read(_ context.Context, n int64) (Reading, error) {
	if err := w.trouble(); err != nil {
		return Reading{}, err
	}
	i := w.issues[n]
	i.tell(w)
	w.read[n] = w.truth(i)
	r := i.Reading
	r.Labels, r.Events, r.Comments, r.Blockers = slices.Clone(i.Labels), slices.Clone(i.Events), slices.Clone(i.Comments), slices.Clone(i.Blockers)
	if i.gone {
		r = Reading{Number: n, Gone: true}
	}
	w.meanwhile() // what was read is old by now
	return r, nil
}

// tell brings what depends on other issues up to date.
func (i *simIssue) tell(w *simWorld) {
	for n, b := range i.Blockers {
		if b.Repo == "" {
			i.Blockers[n].Open = w.issues[b.Number].Open && !w.issues[b.Number].gone
		}
	}
}

func (w *simWorld) Post(_ context.Context, n int64, r Report) error {
	if err := w.trouble(); err != nil {
		return err
	}
	i := w.issues[n]
	if i.gone {
		return &work.HostTrouble{Kind: work.HostNoRepository, What: "no such issue"}
	}
	i.said[r.Key] = r.Body.String()
	if i.tell(w); r.Done && i.Open {
		if slices.ContainsFunc(i.Blockers, func(b Blocker) bool { return b.Open }) {
			return &work.HostTrouble{Kind: work.HostRefused, What: "an issue that it depends on is open"}
		}
		i.Open = false
		w.became(i, true)
	}
	return w.trouble() // it was said, and nobody hears so
}

func (w *simWorld) Acknowledge(context.Context, int64, Comment) error { return w.trouble() }
