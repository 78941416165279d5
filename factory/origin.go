package factory

import (
	"context"
	"time"

	"forge/internal/work"
)

// An issue may come from elsewhere, such as a tracker. Whether it is still
// wanted there is asked before it is claimed and before its result lands. What
// follows from the answer is decided here.

// Origins know where issues come from. They may be asked by several goroutines.
type Origins interface {
	// From names where an issue comes from, by one word for all of one place; "" =
	// it was written on the board. It is asked of every issue that may be claimed,
	// so it is cheap.
	From(ctx context.Context, i work.Issue) (string, error)
	// Ask asks there whether the issue is wanted, as it is at this moment.
	Ask(ctx context.Context, i work.Issue) Asked
}

// Asked is what the place says that an issue comes from. The zero value says
// nothing, and holds.
type Asked struct {
	Says Wanted
	// Why is a line for the card, with the way out, of all but WantedYes.
	Why string
	// Until is when it is worth asking again, where nobody could tell.
	Until time.Time
}

// Wanted says whether an issue is wanted where it comes from.
type Wanted string

// The answers. Every other word is as good as WantedUnknown.
const (
	WantedYes     Wanted = "yes"
	WantedNo      Wanted = "no"
	WantedUnknown Wanted = "unknown" // it cannot be reached, or makes no sense
)

// Moment is when the answer is needed.
type Moment string

// The moments.
const (
	AtLook     Moment = "look"     // of a tracker that is read, whoever works on the issue
	AtClaim    Moment = "claim"    // the issue would be claimed now
	AtDecision Moment = "decision" // it would be claimed since people decided on its result, or merged it
	AtRework   Moment = "rework"   // it would be claimed since somebody asks for changes of its result
	AtLanding  Moment = "landing"  // its result would be shown or landed now
)

// OriginStep is what follows for an issue from what is said where it comes from.
type OriginStep string

// The steps.
const (
	OriginGo    OriginStep = "go"    // as if nobody had been asked
	OriginHold  OriginStep = "hold"  // not now: it is asked again
	OriginBack  OriginStep = "back"  // to the backlog, which stops who works on it
	OriginSay   OriginStep = "say"   // it stays where it is, is not claimed, and its card says why
	OriginCheck OriginStep = "check" // only what people decided or merged already is taken note of
)

// HoldOrigin is why an issue is not claimed, or its result not landed, while
// nobody can say whether it is wanted where it comes from.
const HoldOrigin = "tracker_unreachable"

// HoldUnwanted is why a finished result does not land that is not wanted any
// more where its issue comes from. The card's reason says why not.
const HoldUnwanted = "unwanted"

// NextOfOrigin decides what follows for an issue. Nothing unknown advances.
func NextOfOrigin(says Wanted, i work.Issue, at Moment) OriginStep {
	switch {
	case says == WantedYes:
		return OriginGo
	case says != WantedNo && at == AtLook:
		return OriginGo // who looks next may know more
	case says != WantedNo:
		return OriginHold
	case stopped(i) || i.Column == work.ColumnDone:
		return OriginGo // nobody works on it anyway
	}
	switch i.Column {
	case work.ColumnReady, work.ColumnInProgress:
		if at == AtLanding {
			return OriginCheck
		}
		return OriginBack
	case work.ColumnInReview:
		// A person may have merged the result, and closed the issue since it is done.
		if at == AtDecision || at == AtLanding {
			return OriginCheck
		}
	}
	return OriginSay
}

// PutBack is an issue that is not wanted where it comes from: it waits in the
// backlog. Its run and branch stay, for the day on which it is wanted again.
func PutBack(i work.Issue, why string) work.Issue {
	i = moved(i, work.ColumnBacklog)
	i.State, i.Reason = work.IssueWaits, Line(why)
	return i
}

// takenAway says that whoever works on an issue has to stop.
func takenAway(i work.Issue) bool {
	return stopped(i) || i.Column != work.ColumnInProgress && i.Column != work.ColumnInReview
}

// onBoard is where every issue was written on the board.
type onBoard struct{}

// NoOrigins is for boards whose issues all were written there.
func NoOrigins() Origins { return onBoard{} }

func (onBoard) From(context.Context, work.Issue) (string, error) { return "", nil }
func (onBoard) Ask(context.Context, work.Issue) Asked            { return Asked{Says: WantedYes} }
