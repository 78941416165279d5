package work

import "time"

// ProofQuestion is a verify, and all else that its answer depends on.
type ProofQuestion struct {
	Verify    VerifyRequest
	Protected []string // globs of verify.protected
	Proof     ProofSettings
}

// ProofKey names a verify by everything that its answer depends on and Forge can
// know: the same key, the same answer. Key is "" where a part of it cannot be
// told; then nothing stands for a run of the commands.
type ProofKey struct {
	Key  string
	Tree string // that the commands run on
}

// ProvenBefore is a verify that was green, in words that its run's journal bears
// out.
type ProvenBefore struct {
	Key     string    `json:"key"`
	Tree    string    `json:"tree"`
	Run     string    `json:"run"`
	Command CommandID `json:"command"` // which ran it
	At      time.Time `json:"at"`
	Millis  int64     `json:"millis,omitempty"` // how long it took then
	Base    string    `json:"base,omitempty"`   // commit of the base of that run
	// Filled says that it was of accepted work, and filled caches of tools.
	Filled bool `json:"filled,omitempty"`
}

// Said is what a person is told in place of what the commands printed.
func (b ProvenBefore) Said() string {
	return "proven before: run " + b.Run + ", at " + b.At.UTC().Format("2006-01-02 15:04:05") + " UTC; not run again"
}
