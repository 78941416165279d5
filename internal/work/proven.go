package work

import (
	"fmt"
	"strings"
	"time"
)

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

// ProofTime is where the time of one verify went.
type ProofTime struct {
	FolderMillis int64 `json:"folder_ms,omitempty"` // its files written and noted
	SetupMillis  int64 `json:"setup_ms,omitempty"`  // home, what the checkout brings, setup commands
	RunMillis    int64 `json:"run_ms,omitempty"`    // the commands
	// Cold says that there were no caches of tools to lend.
	Cold bool `json:"cold,omitempty"`
}

// slowBy is how many times what it takes with warm caches and no setup a proof
// may take before it is said why.
const slowBy = 5

// Slow says why a proof takes so much longer than its commands do in a checkout
// that is ready, "" = it does not, or nobody knows.
func (t ProofTime) Slow() string {
	total := t.FolderMillis + t.SetupMillis + t.RunMillis
	var why []string
	if t.SetupMillis > (slowBy-1)*max(t.RunMillis, 1) && t.SetupMillis >= leastSlow {
		why = append(why, fmt.Sprintf("%.1f s of %.1f s are setup: [worktree] cache_key keeps what it produces", seconds(t.SetupMillis), seconds(total)))
	}
	if t.FolderMillis > (slowBy-1)*max(t.RunMillis, 1) && t.FolderMillis >= leastSlow {
		why = append(why, fmt.Sprintf("%.1f s of %.1f s are the writing of its files", seconds(t.FolderMillis), seconds(total)))
	}
	if t.Cold && total >= leastSlow {
		why = append(why, fmt.Sprintf("its %.1f s began with empty caches: the green base of a run fills them", seconds(total)))
	}
	return strings.Join(why, "; ")
}

// leastSlow is how many milliseconds nobody asks about.
const leastSlow = 1000

func seconds(millis int64) float64 { return float64(millis) / 1000 }

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
