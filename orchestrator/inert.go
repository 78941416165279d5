package orchestrator

import (
	"forge/internal/text"
	"forge/internal/work"
)

// liveTag matches the beginning of any tag that counts as a signal.
var liveTag = work.Lazy(`<(/?)(promise|progress|blocker|pivot|spawn-subphase|spawn_subphase|request-decomposition|checkpoint|job-complete)`)

// inert makes text from elsewhere safe to stand in a prompt: invisible
// characters and hidden comments are removed, and tags no longer count.
func inert(words string) string {
	words, _ = text.Reveal(words)
	return liveTag().ReplaceAllString(words, "&lt;$1$2")
}

// Reveal removes what a person would not see in text, and says how many
// hidden comments and invisible characters that were.
func Reveal(words string) (seen string, hidden int) { return text.Reveal(words) }
