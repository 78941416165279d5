package landing

import (
	"time"

	"forge/factory"
	"forge/internal/work"
)

// Purpose is what a try is for.
type Purpose string

const (
	ForLand Purpose = "land" // bring the result into its target
	ForShow Purpose = "show" // let people see a result that waits for one of them
	// ForAgain looks whether a result still does not land as it is, right before
	// another run is opened for that.
	ForAgain Purpose = "again"
)

// BeganData is the payload of landing.began: a try, which supersedes the one before.
type BeganData struct {
	Try    int     `json:"try"` // from 1, over all processes
	For    Purpose `json:"for"`
	Issue  int64   `json:"issue"`
	Result string  `json:"result"` // commit
	Branch string  `json:"branch"` // of the result on a code host
	// Unwanted is why nothing may be brought there any more.
	Unwanted string          `json:"unwanted,omitempty"`
	Pull     *work.IssuePull `json:"pull,omitempty"`  // as the card names it
	Retry    bool            `json:"retry,omitempty"` // a person wants it tried again
	Moved    bool            `json:"moved,omitempty"` // something moved during the try before
}

// StartedData is the payload of landing.started.
type StartedData struct {
	Command work.CommandID `json:"command"`
	Step    Step           `json:"step"`
	Commit  string         `json:"commit,omitempty"` // that it is about
}

// FinishedData is the payload of landing.finished: what one step found or did, or
// why it could not be told.
type FinishedData struct {
	Command   work.CommandID    `json:"command"`
	Step      Step              `json:"step"`
	Look      *Look             `json:"look,omitempty"`
	Proof     *Proof            `json:"proof,omitempty"`
	Made      *Made             `json:"made,omitempty"`
	Check     *Check            `json:"check,omitempty"`
	Probe     *Probe            `json:"probe,omitempty"`
	Trouble   *work.PullTrouble `json:"trouble,omitempty"`
	AfterSecs int               `json:"after_secs,omitempty"` // the host asks for silence
	Problem   string            `json:"problem,omitempty"`    // of Forge itself
}

// Look is how the target and the pull request of a result stand.
type Look struct {
	Target string `json:"target"`
	Head   string `json:"head,omitempty"` // of the target; "" = there is no such branch
	Onto   string `json:"onto"`           // what the result is merged with
	Tree   string `json:"tree,omitempty"` // of the result
	There  bool   `json:"there,omitempty"`
	// Here says that the target is checked out and moved there; Out why it is not
	// moved at all, since it is checked out elsewhere.
	Here bool   `json:"here,omitempty"`
	Out  string `json:"out,omitempty"`
	// Same says that the host opens no pull request, since there is nothing new.
	Same bool      `json:"same,omitempty"`
	Host bool      `json:"host,omitempty"` // the target is on a code host
	Pull *PullLook `json:"pull,omitempty"`
}

// PullLook is how the pull request of a result stands.
type PullLook struct {
	factory.PullSeen
	Card     work.IssuePull `json:"card"`         // as the card names it from now on
	At       string         `json:"at,omitempty"` // commit of its branch
	Commit   string         `json:"commit,omitempty"`
	MergedBy string         `json:"merged_by,omitempty"`
	Mark     string         `json:"mark,omitempty"` // how it stands, as a sum to compare
}

// Verdict is what the project's commands said of a commit. The zero value says
// that nobody knows.
type Verdict string

const (
	Green      Verdict = "green"
	Red        Verdict = "red"
	NoCommands Verdict = "none" // the project has none
)

// Proof is what the target would be, and whether it is good.
type Proof struct {
	Onto      string   `json:"onto"`
	At        string   `json:"at"`
	Commit    string   `json:"commit,omitempty"`
	Tree      string   `json:"tree,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"`
	Verdict   Verdict  `json:"verdict,omitempty"`
	Problem   string   `json:"problem,omitempty"`
	InTheWay  string   `json:"in_the_way,omitempty"` // of what people have checked out
	With      []int64  `json:"with,omitempty"`       // issues that land in the same move
	// Trusted is the state whose evidence it was held against, of a result that was proven
	// alone.
	Trusted []string `json:"trusted,omitempty"`
	// Pages are those that the owner has shown for a proof, where they were shown for
	// this one.
	Pages []work.PageShown `json:"pages,omitempty"`
}

// Made is what came of letting it land.
type Made struct {
	Commit   string `json:"commit,omitempty"`
	Moved    string `json:"moved,omitempty"` // nothing was made, since this moved
	InTheWay string `json:"in_the_way,omitempty"`
	Undo     string `json:"undo,omitempty"`
}

// Check is what a merge that the host made came to.
type Check struct {
	Commit  string           `json:"commit,omitempty"`
	There   bool             `json:"there,omitempty"` // the target holds it
	Tree    string           `json:"tree,omitempty"`
	Verdict Verdict          `json:"verdict,omitempty"` // of the target, where the tree is not the proven one
	Problem string           `json:"problem,omitempty"`
	Pages   []work.PageShown `json:"pages,omitempty"`
}

// DecidedData is the payload of landing.decided: what follows from what is known.
type DecidedData struct {
	Try      int       `json:"try"`
	Decision Decision  `json:"decision"`
	To       Stage     `json:"to"`
	Commit   string    `json:"commit,omitempty"` // landed: the target's head that holds it
	Target   string    `json:"target,omitempty"`
	Hold     string    `json:"hold,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Waits    bool      `json:"waits,omitempty"` // it is tried again by itself
	Until    time.Time `json:"until,omitzero"`
}

// Decision is what follows.
type Decision string

const (
	DecideProve  Decision = "prove"
	DecideLand   Decision = "land"  // it is proven: let the target become just that
	DecideCheck  Decision = "check" // the host has merged: see to what
	DecideLanded Decision = "landed"
	DecideWait   Decision = "wait"  // held, for the reason that goes with it
	DecideShown  Decision = "shown" // people see it, and are asked
	DecideAgain  Decision = "again" // another run goes on from it
	DecideMoved  Decision = "moved" // anew, on what is there now
	DecideLeft   Decision = "left"  // no other run is needed any more
)

// Ends says that the try is over with it.
func (d Decision) Ends() bool {
	switch d {
	case DecideProve, DecideLand, DecideCheck:
		return false
	}
	return true
}
