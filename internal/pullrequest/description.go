package pullrequest

import (
	"context"
	"slices"
	"strings"

	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Title is what a pull request is called.
func Title(req orchestrator.PullPublish) text.Title {
	return text.Titled("Phase %s: %s", req.Paper.Phase, req.Title)
}

// MostListed is how many files a pull request's text names.
const MostListed = 20

// paper is the text of a pull request: what changed, why, on which evidence,
// with which doubts, what to read first, and how to answer.
func (h *Port) paper(ctx context.Context, req orchestrator.PullPublish, pictures text.Markdown) (text.Markdown, error) {
	changes, err := h.Repo.Changes(ctx, req.From, req.Commit)
	if err != nil {
		return text.Markdown{}, err
	}
	before := ""
	if h.judged != nil && req.Paper.Checkpoint != "" {
		if before, err = h.judged(ctx, req.Paper.Checkpoint); err != nil {
			return text.Markdown{}, err
		}
	}
	return Describe(req.Paper, changes, before, pictures), nil
}

// Describe says it in words; before is what was said of single files, and pictures are
// those of pages.
func Describe(p orchestrator.PullPaper, changes []work.FileChange, before string, pictures text.Markdown) text.Markdown {
	answer := text.Own("Nobody has to: Forge merges it at once.")
	if p.Checkpoint != "" {
		answer = text.Format("Approve it and Forge merges it; request changes, with comments on lines, and the agent works on them here; push commits of your own, and they become part of it. "+
			"A comment alone answers nothing. The same question is checkpoint %s: %s.", text.Code(p.Checkpoint), text.Code("forge approve "+p.Checkpoint))
	}
	return text.Join("",
		text.Section("What changed", TellChanges(changes)),
		text.Section("Why", text.Quote(p.Why)),
		text.Section("How the pages look", pictures),
		text.Section("Evidence", text.Join("\n\n", narrate.TellDoubted(p.Record.Doubts), TellProof(p.Proof), narrate.TellRecord(p.Record))),
		text.Section("Doubts", text.Quote(p.Doubts)),
		text.Section("Read first", ReadFirst(changes)),
		text.Section("Judged before, file by file", text.Quote(before)),
		text.Section("What Forge asks", text.Quote(TellFacts(p.Facts))),
		text.Section("How to answer", answer),
	)
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

// TellChanges lists the files that changed.
func TellChanges(changes []work.FileChange) text.Markdown {
	all := []text.Markdown{text.Format("%s:\n\n", text.Number(len(changes), "file"))}
	for i, c := range changes {
		if i == MostListed {
			all = append(all, text.Item(text.Format("and %d more", len(changes)-i)))
			break
		}
		all = append(all, text.Item(text.Format("%s (%s)", text.Code(c.Path), changedHow(c.Status))))
	}
	return text.Join("", all...)
}

// TellProof lists the commands that proved the change.
func TellProof(commands []string) text.Markdown {
	if len(commands) == 0 {
		return text.Own("Nothing proved it but the agent's word.")
	}
	return text.Format("Forge ran these in a fresh folder, and they passed:\n\n%s", text.CodeBlock(strings.Join(commands, "\n")))
}

// TellFacts are the facts of a question, without the signals in what was said.
func TellFacts(facts string) string {
	lines := strings.Split(work.WithoutSignals(facts), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimRight(line, " "), " It said:")
	}
	return strings.Join(lines, "\n")
}

// ReadFirst are three files that tell most: sources, then tests, then documents
// and what is gone or generated, each as git lists them.
func ReadFirst(changes []work.FileChange) text.Markdown {
	var ranks [3][]text.Markdown
	for _, c := range changes {
		path, rank := strings.ToLower(c.Path), 0
		switch {
		case strings.HasPrefix(c.Path, work.JobDir+"/"): // a plan is no mere document
		case c.Status == "D", strings.Contains(path, ".lock"), strings.HasSuffix(path, ".md"):
			rank = 2
		case strings.Contains(path, "test"):
			rank = 1
		}
		ranks[rank] = append(ranks[rank], text.Item(text.Code(c.Path)))
	}
	all := slices.Concat(ranks[:]...)
	return text.Join("", all[:min(len(all), 3)]...)
}
