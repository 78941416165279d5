package trackers

import (
	"slices"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/text"
	"forge/internal/work"
)

// What the owner mapped is on the card where somebody gave it who may write: when
// it is imported, and when that changes before anybody has begun.
func TestLabelsOfATrackerStandOnTheCard(t *testing.T) {
	w := newTrackerWorld(t)
	w.sync.Rules.Labels = func() ([]string, error) { return []string{"full", "large"}, nil }
	label := func(name, by string) func(*tracker.Reading) {
		return func(r *tracker.Reading) {
			r.Labels = append(r.Labels, name)
			r.Events = append(r.Events, tracker.Event{Kind: tracker.Labelled, By: by, At: time.Unix(900, 0), Label: name})
		}
	}
	holds := func(when string, want ...string) {
		t.Helper()
		w.once()
		if got := w.issue(1).Labels; !slices.Equal(got, want) {
			t.Errorf("%s: the card has %q, want %q", when, got, want)
		}
	}
	w.on.put(7, label("full", "reader"))
	holds("its author labelled it full")
	w.on.put(7, label("large", "writer"))
	holds("a writer labelled it large", "large")
	w.puts(1, func(i *work.Issue) { i.Labels = []string{"large", "mine"} })
	w.on.put(7, func(r *tracker.Reading) { r.Labels = []string{"forge", "full"} })
	holds("large was taken away", "mine")
	w.puts(1, func(i *work.Issue) { i.Column, i.Run = work.ColumnInProgress, "i1-x" })
	w.on.put(7, label("large", "writer"))
	holds("it was begun", "mine")
}

// What an issue may take is said in one comment, which the next estimate replaces;
// an issue of no tracker has nowhere to say it.
func TestAnEstimateIsSaidOnce(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(7, nil)
	w.once()
	o := Origins{store: w.store, project: "p", trackers: []*followed{{sync: w.sync}}}
	told := len(w.on.posted[7])
	for _, words := range []string{"3 tries", "5 tries"} {
		if err := o.Estimate(t.Context(), w.issue(1), text.Format("%s", words)); err != nil {
			t.Fatal(err)
		}
	}
	said := w.on.posted[7][told:]
	if len(said) != 2 || said[0].Key != said[1].Key || said[0].Key == w.on.posted[7][0].Key || said[1].Done || said[1].Body.String() != "5 tries" {
		t.Errorf("it was said as %+v", said)
	}
	if err := o.Estimate(t.Context(), work.Issue{ID: 99}, text.Format("x")); err != nil {
		t.Errorf("an issue of no tracker: %v", err)
	}
	w.on.broken = &work.HostTrouble{Kind: work.HostUnreachable, What: "no answer"}
	if err := o.Estimate(t.Context(), w.issue(1), text.Format("x")); err == nil {
		t.Error("a tracker that is away says nothing")
	}
}
