package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
	"forge/orchestrator"
)

func pullTitle(req orchestrator.PullPublish) string {
	return host.Inert(fmt.Sprintf("Phase %s: %s", req.Paper.Phase, req.Title))
}

// mostListed is how many files a pull request's text names.
const mostListed = 20

// paper is the text of a pull request: what changed, why, on which evidence,
// with which doubts, what to read first, and how to answer.
func (h *hostPort) paper(ctx context.Context, req orchestrator.PullPublish) (string, error) {
	changes, err := h.repo.Changes(ctx, req.From, req.Commit)
	if err != nil {
		return "", err
	}
	p := req.Paper
	var s sheet
	s.section("What changed", tellChanges(changes))
	s.section("Why", quoted(host.Inert(p.Why)))
	s.section("Evidence", host.Inert(tellProof(p.Proof)))
	s.section("Doubts", host.Inert(p.Doubts))
	s.section("Read first", readFirst(changes))
	if h.judged != nil && p.Checkpoint != "" {
		before, err := h.judged(ctx, p.Checkpoint)
		if err != nil {
			return "", err
		}
		s.section("Judged before, file by file", host.Inert(before))
	}
	s.section("What Forge asks", host.Inert(tellFacts(p.Facts)))
	answer := fmt.Sprintf("Approve it and Forge merges it; request changes, with comments on lines, and the agent works on them here; push commits of your own, and they become part of it. "+
		"A comment alone answers nothing. The same question is checkpoint `%s`: `forge approve %s`.", p.Checkpoint, p.Checkpoint)
	if p.Checkpoint == "" {
		answer = "Nobody has to: Forge merges it at once."
	}
	s.section("How to answer", answer)
	return s.String(), nil
}

// sheet is the text of a pull request in the making.
type sheet struct{ strings.Builder }

// section adds one, unless it would be empty.
func (s *sheet) section(title, text string) {
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintf(s, "## %s\n\n%s\n\n", title, text)
	}
}

// quoted keeps a text apart from Forge's own words: its headings are none of the
// document's.
func quoted(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

func changedHow(status string) string {
	switch status {
	case "A":
		return "added"
	case "M":
		return "changed"
	case "D":
		return "deleted"
	case "T":
		return "of another type"
	}
	return status
}

func tellChanges(changes []work.FileChange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d file(s):\n\n", len(changes))
	for i, c := range changes {
		if i == mostListed {
			fmt.Fprintf(&b, "- and %d more\n", len(changes)-i)
			break
		}
		fmt.Fprintf(&b, "- `%s` (%s)\n", strings.ReplaceAll(c.Path, "`", "'"), changedHow(c.Status))
	}
	return b.String()
}

func tellProof(commands []string) string {
	if len(commands) == 0 {
		return "Nothing proved it but the agent's word."
	}
	return "Forge ran these in a fresh folder, and they passed:\n\n    " + strings.Join(commands, "\n    ")
}

// tellFacts are the facts of a question, without the signals in what was said.
func tellFacts(facts string) string {
	lines := strings.Split(host.Words(facts), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimRight(line, " "), " It said:")
	}
	return strings.Join(lines, "\n")
}

// readFirst are three files that tell most: sources, then tests, then documents
// and what is gone or generated, each as git lists them.
func readFirst(changes []work.FileChange) string {
	var ranks [3][]string
	for _, c := range changes {
		path, rank := strings.ToLower(c.Path), 0
		switch {
		case strings.HasPrefix(c.Path, work.JobDir+"/"): // a plan is no mere document
		case c.Status == "D", strings.Contains(path, ".lock"), strings.HasSuffix(path, ".md"):
			rank = 2
		case strings.Contains(path, "test"):
			rank = 1
		}
		ranks[rank] = append(ranks[rank], "- `"+strings.ReplaceAll(c.Path, "`", "'")+"`")
	}
	all := slices.Concat(ranks[:]...)
	return strings.Join(all[:min(len(all), 3)], "\n")
}
