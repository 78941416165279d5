package orchestrator

import (
	"forge/internal/text"
)

// liveTag matches the beginning of any tag that counts as a signal.
var liveTag = text.Lazy(`<(/?)(promise|progress|blocker|pivot|spawn-subphase|spawn_subphase|request-decomposition|decomposition|checkpoint|job-complete|question|assumption|lesson>|reply>|session-summary>)`)

// inert makes text from elsewhere safe to stand in a prompt: invisible
// characters and hidden comments are removed, and tags no longer count.
func inert(words string) string {
	words, _ = text.Reveal(words)
	return liveTag().ReplaceAllString(words, "&lt;$1$2")
}
