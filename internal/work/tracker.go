package work

import "time"

// TrackerIssue is what is remembered of one issue of a tracker. It is bound to
// at most one issue of one board, for good.
type TrackerIssue struct {
	Tracker string // which repository on which host
	Remote  int64  // its number there
	Project string // of the board; "" = not bound
	Issue   int64  // on the board; 0 = not bound
	Hash    string // of the text that the board's issue has
	Judged  string // hash of the last text that was judged
	// Revision is the one of the body that was last seen without the label;
	// SeenBare says that there is one.
	Revision string
	SeenBare bool
	// Heard is the last comment whose calls were acted on, 0 = none.
	Heard  int64
	Posted string // how the board's issue stood when it was last told
}

// TrackerMark is how far a tracker was read.
type TrackerMark struct {
	ETag  string
	Since time.Time // of the newest change that was read; zero = none
}
