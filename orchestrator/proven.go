package orchestrator

import (
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// A verify that was green stands for the next one of the same: the same tree,
// commands, environment, settings and tools. What a change does to evidence, the
// owner's hidden checks and the test runners are asked all the same. A red,
// disturbed or unsteady verify stands for nothing, and takes that from a green one
// of the same; where anything is not known, the commands run.

// reuse is how old a green verify may be that stands for another one of the same in
// a repository; 0 = none stands.
func (s *State) reuse(repository string) int64 {
	if s.Fresh || s.Spec.Fresh {
		return 0
	}
	return max(s.settingsOf(repository).Verify.ReuseSecs, 0)
}

// Beliefs is what may be believed of a run where one of its verifies is carried
// out: a record of an earlier green one stands for it, or does not.
type Beliefs struct {
	ReuseSecs int64    // how old a record may be; 0 = none stands
	Red       []string // trees that verify was red on in this run
	Own       bool     // it is about the phase's own tree, which is
	Tree      string
}

// Stand says that b stands for the verify, of which key is the name now.
func (w Beliefs) Stand(key work.ProofKey, b work.ProvenBefore, now time.Time) bool {
	age := now.Sub(b.At)
	switch {
	case w.ReuseSecs <= 0, key.Key == "", key.Tree == "":
		return false
	case b.Key != key.Key, b.Tree != key.Tree, b.Run == "", b.Command == "":
		return false
	case age < 0, age > time.Duration(w.ReuseSecs)*time.Second:
		// Of a record from the future nobody knows how old it is.
		return false
	case slices.Contains(w.Red, key.Tree):
		// Green once more, it would be flaky: that is for a run of the commands
		// to say, whatever they were.
		return false
	}
	return !w.Own || w.Tree == key.Tree
}

// beliefs are those of the run about c.
func (s *State) beliefs(c Command) Beliefs {
	w := Beliefs{Own: c.On == work.OnSnapshot || c.On == work.OnMerged, ReuseSecs: s.reuse(s.repositoryOf(c))}
	for key, verdict := range s.Verdicts {
		if tree, _, named := strings.Cut(key, " "); named && verdict != verdictGreen {
			w.Red = append(w.Red, tree)
		}
	}
	slices.Sort(w.Red)
	w.Red = slices.Compact(w.Red)
	if p := s.Phases[c.Phase]; p != nil {
		w.Tree = p.judgedTree()
	}
	return w
}

// believes says that b stands for carrying c out, of which key is the name now.
func (s *State) believes(c Command, key work.ProofKey, b work.ProvenBefore, now time.Time) bool {
	return s.beliefs(c).Stand(key, b, now)
}

// StandsForLanding says that a green verify stands for the one before the result
// of s lands, of which key is the name now.
func (s *State) StandsForLanding(key work.ProofKey, b work.ProvenBefore, now time.Time) bool {
	return s.believes(Command{}, key, b, now)
}
