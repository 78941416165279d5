package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"forge/internal/work"
)

// Reading is one issue as its tracker tells it, read at once.
type Reading struct {
	Number int64
	URL    string
	Title  string
	Body   string
	Author string
	Open   bool
	Closed time.Time // zero = it is open, or the tracker does not say
	Pull   bool      // a pull request
	Locked bool      // nobody but writers may say anything
	// Gone says that the repository is there and the issue is not, or not any
	// more: it was deleted, or moved to another repository. Nothing else is known
	// of it then.
	Gone   bool
	Labels []string
	// State is the one that it has there by name; "" = the tracker knows open and
	// closed alone.
	State string
	// Priority is what the tracker says of it; "" = nothing.
	Priority work.Priority
	// Assignees are the accounts that it is assigned to, but for the one that
	// Forge itself uses.
	Assignees []string
	// Events are what happened to it, in the order in which it did.
	Events []Event
	// Edits says what is known of changes of the body.
	Edits    Edits
	Comments []Comment // in order
	// Blockers are the issues that have to be closed first, as the tracker has it.
	Blockers []Blocker
	// Writers are the people who may write to the repository. Who is not a key
	// could not be asked about.
	Writers map[string]bool
}

// Blocker is an issue that another one waits for on its tracker.
type Blocker struct {
	Repo   string // owner/name; "" = the same repository
	Number int64
	Open   bool
}

// Event is one line of an issue's timeline.
type Event struct {
	Kind  EventKind
	By    string // "" = the tracker does not say
	At    time.Time
	Label string // of Labelled and Unlabelled
	Whom  string // of Assigned; "" = the tracker does not say
}

// EventKind is what happened to an issue.
type EventKind string

// The events that count here.
const (
	Labelled   EventKind = "labelled"
	Unlabelled EventKind = "unlabelled"
	Renamed    EventKind = "renamed"
	Assigned   EventKind = "assigned"
	Reopened   EventKind = "reopened"
)

// Edits is what a tracker knows of changes of an issue's body.
type Edits struct {
	// Known is false where it cannot be said whether there were any.
	Known bool
	// Revision is a word for the body as it is: another after each edit. "" =
	// it was never edited.
	Revision string
	// List are all edits; Whole says that none is missing. Both may be empty
	// where Revision alone is known.
	List  []Edit
	Whole bool
}

// Edit is one change of a body.
type Edit struct {
	By string // "" = unknown
	At time.Time
}

// Comment is what somebody said below an issue.
type Comment struct {
	ID   int64  // later ones have higher ones; 0 = not known
	Key  string // the tracker's own word for it, where that is no number
	By   string
	At   time.Time
	Body string
	// Own says that it is a report of Forge's, where its text does not say it.
	Own bool
}

// Bound is what an issue on the board is bound to. Hold is "" where the text is
// the one that somebody with write access labelled; else it says in a word, and
// Why in a line, what could not be established.
type Bound struct {
	By   string // who labelled it
	At   time.Time
	Hold Hold
	Why  string
	// Last is when it was last reopened by somebody who may not write; zero = never
	// since the label.
	Last time.Time
	// Labels are those that the board's owner mapped and somebody gave who may
	// write; Mapped are all that the owner mapped.
	Labels, Mapped []string
}

// Seen is what was known of an issue before: Revision of its body while it did
// not have the label. OK is false where nothing is known.
type Seen struct {
	Revision string
	OK       bool
}

// Bind says what of a reading counts; ok is false where the issue is not for
// Forge at all, and Hold and Why say why: it is closed, locked, gone, a pull
// request, without the label, or was given to somebody else.
//
// The text counts as it was when somebody with write access labelled it. It is
// that text when nothing was edited since, or by who labelled it alone.
// Whatever is not known is not so.
func Bind(r Reading, label string, before Seen) (b Bound, ok bool) {
	at := labelledAt(r, label)
	if b, not := notForForge(r, label, at); not {
		return b, false
	}
	hold := func(h Hold, format string, args ...any) (Bound, bool) {
		b.Hold, b.Why = h, fmt.Sprintf(format, args...)
		return b, true
	}
	if at < 0 {
		return hold(HoldUnknown, "the tracker does not say who gave it the label %s", label)
	}
	given := r.Events[at]
	b.By, b.At = given.By, given.At
	writes, known := r.Writers[given.By]
	switch {
	case given.By == "" || !known:
		return hold(HoldUnknown, "nobody can say whether who labelled it may write to the repository")
	case !writes:
		return hold(HoldReader, "%s, who labelled it, may not write to the repository", given.By)
	}
	for _, e := range r.Events[at+1:] {
		switch {
		case e.Kind == Reopened && !r.Writers[e.By]:
			// Hosts let authors reopen what others closed.
			b.Last, b.Hold = e.At, HoldReopened
			b.Why = "it was closed and reopened after the label" + byWhom(e.By) + ", who may not write to the repository"
		case b.Hold == "" && e.Kind == Renamed && (e.By == "" || e.By != given.By):
			b.Hold, b.Why = HoldChanged, "its title was changed after the label"+byWhom(e.By)
		}
	}
	if b.Hold != "" {
		return b, true
	}
	return edited(r.Edits, b, before)
}

// labelledAt is the event by which an issue has its label, -1 = none.
func labelledAt(r Reading, label string) int {
	at := -1
	for n, e := range r.Events {
		if !strings.EqualFold(e.Label, label) {
			continue
		}
		switch e.Kind {
		case Labelled:
			at = n
		case Unlabelled:
			at = -1
		}
	}
	return at
}

// edited says whether the body is the one that was labelled.
func edited(e Edits, b Bound, before Seen) (Bound, bool) {
	switch {
	case !e.Known:
		b.Hold, b.Why = HoldUnknown, "the tracker does not say whether its text was edited"
	case e.Revision == "":
	case before.OK && before.Revision == e.Revision:
		// It was seen without the label, and not edited since.
	case !e.Whole:
		b.Hold, b.Why = HoldUnknown, "its text was edited, and nobody can say whether before or after the label"
	default:
		for _, one := range e.List {
			// Times are of a second: at the same one is not before.
			if one.At.Before(b.At) || one.By != "" && one.By == b.By {
				continue
			}
			b.Hold, b.Why = HoldChanged, "its text was edited after the label"+byWhom(one.By)
		}
	}
	return b, true
}

func byWhom(who string) string {
	if who == "" {
		return ", nobody knows by whom"
	}
	return " by " + who
}

func has(labels []string, label string) bool {
	for _, l := range labels {
		if strings.EqualFold(l, label) {
			return true
		}
	}
	return false
}

// Hash is of the text that people see and change: title and body.
func Hash(r Reading) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(r.Title), r.Title, r.Body)))
	return hex.EncodeToString(sum[:16])
}
