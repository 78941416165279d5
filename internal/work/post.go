package work

import "time"

// Post is a message of Forge at a place outside, such as a chat.
type Post struct {
	Place   string // such as "slack C0123"
	Subject string // what it is about: "question ID", "run ID"
	// Ref is by which the place knows it, "" = it is about to be posted, and may
	// be there.
	Ref   string
	Shown string    // hash of what it says, "" = unknown
	Over  bool      // it says how it ended
	At    time.Time // when it was first to be posted
}
