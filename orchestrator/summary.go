package orchestrator

import (
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// maxSummary is how much of an agent's words a commit message holds, in bytes.
const maxSummary = 800

// element is a signal in an agent's words, or what is left of one.
var element = text.Lazy(`(?s)<(promise|progress|blocker|pivot|spawn-subphase|spawn_subphase|checkpoint|job-complete|question|assumption|lesson|reply|session-summary)\b[^>]*>.*?(</(promise|progress|blocker|pivot|spawn-subphase|spawn_subphase|checkpoint|job-complete|question|assumption|lesson|reply|session-summary)>|$)|<request-decomposition ?/>`)

// likeTrailer is what could be taken for a line of Forge's own below a commit.
var likeTrailer = text.Lazy(`(?i)\b(forge-[a-z-]+):`)

// summarize keeps what the agent said of its work, for the commit that lands it: of
// what a fix or a conflict took, nobody wants to read there.
func (p *Phase) summarize(d work.IterationFinishedData) {
	own := p.Kind == IterationWork || p.Kind == IterationRework && p.Reworking
	if d.Message != "" && d.Outcome.KeepsClaim() && (own || p.Said == "") {
		p.Said = d.Message
	}
}

// summary is what the agent said of its work, as text that acts nowhere: no signal,
// no trailer, no word that closes an issue on a code host.
func (p *Phase) summary() string {
	said := element().ReplaceAllString(text.Plain(p.Said), "\n")
	said = likeTrailer().ReplaceAllString(said, "$1 :")
	var out []string
	for _, paragraph := range strings.Split(text.Clip(said, maxSummary), "\n\n") {
		var lines []string
		for _, line := range strings.Split(paragraph, "\n") {
			if line = text.Line(line); line != "" {
				lines = append(lines, text.Fold(line, 76)...)
			}
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return strings.Join(out, "\n\n")
}

// landMessage is the message of the one commit that lands a phase: its name, what its
// agent says of it, and Forge's own lines.
func (s *State) landMessage(p *Phase, head Head) string {
	message := strings.TrimSpace(p.Plan.Name) + "\n\n"
	if said := p.summary(); said != "" {
		message += said + "\n\n"
	}
	return message + fmt.Sprintf("Forge-Run: %s\nForge-Phase: %s\nForge-Journal: %s\n", s.Run, p.Number, head.Hash)
}
