package gates

import (
	"slices"
	"strings"
	"unicode"
)

// BlockerTracker knows what an agent said stops it. Each phase has its own; the
// zero value is that of a phase that has said nothing. An agent that names the
// same blocker in two iterations in a row, neither of which made progress, lacks
// what it cannot make itself: more iterations only cost.
type BlockerTracker struct {
	// Named are the blockers of the last iteration, as they are compared, where
	// it made no progress.
	Named []string `json:"named,omitempty"`
	// Same is what was named again, in the agent's own words; "" = nothing was.
	Same string `json:"same,omitempty"`
}

// Observe takes in one iteration: whether it made progress, as the stale check
// counts it, and the blockers that it named. Failed iterations are not observed.
func (t BlockerTracker) Observe(progress bool, blockers []string) BlockerTracker {
	if progress {
		return BlockerTracker{}
	}

	var now BlockerTracker
	for _, words := range blockers {
		plain := plainBlocker(words)
		if plain == "" {
			continue
		}
		if now.Same == "" && slices.Contains(t.Named, plain) {
			now.Same = strings.TrimSpace(words)
		}
		now.Named = append(now.Named, plain)
	}
	return now
}

// plainBlocker is a blocker as it is compared: its words in lower case, without
// what changes from one telling to the next (numbers, punctuation, white space).
// One that has no letters is compared as it is.
func plainBlocker(words string) string {
	letters := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	if len(letters) == 0 {
		return strings.Join(strings.Fields(words), " ")
	}
	return strings.Join(letters, " ")
}
