package work

import (
	"testing"
	"time"
)

func TestSlowProofsSayWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		took ProofTime
		want string
	}{
		"as in a checkout":       {ProofTime{FolderMillis: 40, SetupMillis: 60, RunMillis: 3000}, ""},
		"setup no longer than 4": {ProofTime{SetupMillis: 4000, RunMillis: 1000}, ""},
		"setup":                  {ProofTime{SetupMillis: 9000, RunMillis: 1000}, "9.0 s of 10.0 s are setup: [worktree] cache_key keeps what it produces"},
		"files":                  {ProofTime{FolderMillis: 5000, RunMillis: 500}, "5.0 s of 5.5 s are the writing of its files"},
		"cold":                   {ProofTime{RunMillis: 44600, Cold: true}, "its 44.6 s began with empty caches: the green base of a run fills them"},
		"cold and over at once":  {ProofTime{RunMillis: 400, Cold: true}, ""},
		"nothing that is felt":   {ProofTime{SetupMillis: 900, RunMillis: 10}, ""},
	} {
		if got := test.took.Slow(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestProvenBeforeIsSaid(t *testing.T) {
	t.Parallel()
	b := ProvenBefore{Run: "260131-abcd", At: time.Date(2026, 1, 31, 10, 2, 7, 0, time.FixedZone("", 3600))}
	if got, want := b.Said(), "proven before: run 260131-abcd, at 2026-01-31 09:02:07 UTC; not run again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
