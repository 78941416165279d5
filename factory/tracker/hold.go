package tracker

import (
	"slices"
	"strings"

	"forge/factory"
	"forge/internal/work"
)

// Hold is why an issue of a tracker waits for a person.
type Hold string

// The holds of an issue whose text nobody can answer for.
const (
	HoldChanged  Hold = "changed_after_label" // by another than who labelled it, or nobody knows by whom
	HoldUnknown  Hold = "text_unknown"        // nobody can say what the text was when it was labelled
	HoldReader   Hold = "label_without_access"
	HoldReopened Hold = "reopened_without_access"
	HoldLong     Hold = "text_too_long"
)

// HoldBlocked is of an issue that waits for one which is not on the board.
const HoldBlocked Hold = "blocked_on_tracker"

// HoldUntold is of an issue that its tracker does not let Forge tell of, such as
// one that it does not close. Nothing waits for it.
const HoldUntold Hold = "tracker_not_told"

// The holds of an issue that the tracker does not want worked on any more.
const (
	HoldClosed     Hold = "closed_on_tracker"
	HoldUnlabelled Hold = "label_taken_away"
	HoldLocked     Hold = "locked_on_tracker"
	HoldGone       Hold = "gone_from_tracker"
	HoldPull       Hold = "became_pull_request"
	HoldAssigned   Hold = "assigned_to_somebody"
	HoldState      Hold = "state_on_tracker"
)

// wayOut is the way out of one hold.
type wayOut struct {
	hold     Hold
	unwanted bool // by the tracker
	way      string
}

// waysOut are all holds, with the way out of each.
func waysOut() []wayOut {
	return []wayOut{
		{HoldChanged, false, lookAtText},
		{HoldUnknown, false, lookAtText},
		{HoldReader, false, lookAtText},
		{HoldLong, false, lookAtText},
		{HoldReopened, false, "give it the label again there, or move it to ready if it shall be done"},
		{HoldBlocked, false, "close it there, take the dependency back, or move this to ready"},
		{HoldUntold, false, "mend that there"},
		{HoldClosed, true, "reopen it there"},
		{HoldUnlabelled, true, "give it the label again there"},
		{HoldLocked, true, "unlock it there"},
		{HoldGone, true, "add what is still wanted as a new issue"},
		{HoldPull, true, "add what is still wanted as a new issue"},
		{HoldState, true, "put it back there into one of the states of its tracker's configuration"},
		{HoldAssigned, true, "take that back there, or give it the label again"},
	}
}

const lookAtText = "look at its text, and move it to ready if it shall be done"

// notForForge says why an issue is not to be worked on, whatever its text; not
// is false where nothing speaks against it. at is the event of its label.
func notForForge(r Reading, label string, at int) (b Bound, not bool) {
	away := func(h Hold, why string) (Bound, bool) {
		return Bound{At: r.Closed, Hold: h, Why: why}, true
	}
	switch {
	case r.Gone:
		return away(HoldGone, "it was deleted on the tracker, or moved to another repository")
	case r.Pull:
		return away(HoldPull, "it is a pull request on the tracker")
	case !r.Open && r.Closed.IsZero():
		return away(HoldClosed, "it was closed on the tracker")
	case !r.Open:
		return away(HoldClosed, "it was closed on the tracker on "+r.Closed.UTC().Format("2006-01-02 15:04Z"))
	case !has(r.Labels, label):
		return away(HoldUnlabelled, "it does not have the label "+work.OneLine(label)+" on the tracker any more")
	case r.Locked:
		return away(HoldLocked, "it was locked on the tracker")
	}
	if who := assignedAfter(r, at); len(who) > 0 {
		return away(HoldAssigned, "it was assigned to "+work.OneLine(strings.Join(who, ", "))+" after it was labelled")
	}
	return b, false
}

// bind is Bind for issues of one tracker: those in other states than the ones that
// its rules name are not for Forge.
func (s Rules) bind(r Reading, before Seen) (b Bound, ok bool) {
	b, ok = Bind(r, s.Label, before)
	named := func(state string) bool { return strings.EqualFold(state, r.State) }
	if !ok || len(s.States) == 0 || slices.ContainsFunc(s.States, named) {
		return b, ok
	}
	return Bound{Hold: HoldState, Why: "it is in the state " + work.OneLine(r.State) + " on the tracker"}, false
}

// assignedAfter are who an issue is assigned to that whoever labelled it cannot
// have known of. Who was assigned before the label is responsible for it, and
// had it given to Forge; who was assigned after it took it over. What is not
// known was after it.
func assignedAfter(r Reading, at int) (who []string) {
	for _, a := range r.Assignees {
		known := at >= 0 && slices.ContainsFunc(r.Events[:at], func(e Event) bool { return e.Kind == Assigned && e.Whom == a })
		again := at >= 0 && slices.ContainsFunc(r.Events[at+1:], func(e Event) bool { return e.Kind == Assigned && (e.Whom == a || e.Whom == "") })
		if !known || again {
			who = append(who, a)
		}
	}
	return who
}

// Line is what a card says of a hold: in a word, why, and the way out.
func (b Bound) Line(i work.Issue) string {
	for _, w := range waysOut() {
		if w.hold != b.Hold {
			continue
		}
		text := string(b.Hold) + ": " + b.Why + "; " + w.way
		if w.unwanted && i.Run != "" && b.Hold != HoldGone && b.Hold != HoldPull {
			text += ": it goes on from what run " + i.Run + " has done"
		}
		return factory.Line(text)
	}
	return factory.Line(string(b.Hold) + ": " + b.Why + "; " + lookAtText)
}

// Held is the board's issue as it waits for a person.
func (b Bound) Held(i work.Issue) work.Issue {
	i.State, i.Reason = work.IssueWaits, b.Line(i)
	return i
}

// saidOf is the hold that an issue's card names, "" = none.
func saidOf(i work.Issue) (h Hold, unwanted bool) {
	for _, w := range waysOut() {
		if strings.HasPrefix(i.Reason, string(w.hold)+":") {
			return w.hold, w.unwanted
		}
	}
	return "", false
}
