package pullrequest

import (
	"context"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// mostNotes is how many findings are said at their lines.
const mostNotes = 30

// Note says at their lines what reviewers found and was let stand, where [host]
// names an account for that. It decides nothing and stands in the text of the
// pull request as well, so a host that does not take it holds nothing.
func (h *Port) Note(ctx context.Context, number int64, key, commit string, found []orchestrator.Found) {
	if !h.Notes || len(found) == 0 {
		return
	}
	n := work.PullNotes{Number: number, Key: key + " notes " + commit, Commit: commit}
	err := h.place(ctx, &n, found)
	if err == nil {
		err = h.Again(ctx, func() error { return h.Host.Note(ctx, n) })
	}
	if err != nil {
		h.Warn("what reviewers found is not said on the pull request", "pull", number, "err", err)
	}
}

// place puts findings at their lines: those in files that are shown as the
// reviewer saw them.
func (h *Port) place(ctx context.Context, n *work.PullNotes, found []orchestrator.Found) error {
	since := map[string][]work.FileChange{}
	var rest []text.Markdown
	for _, f := range found {
		changes, known := since[f.Commit]
		if !known {
			var err error
			if changes, err = h.Repo.Changes(ctx, f.Commit, n.Commit); err != nil {
				return err
			}
			since[f.Commit] = changes
		}
		moved := slices.ContainsFunc(changes, func(c work.FileChange) bool { return c.Path == f.File })
		if f.File == "" || f.Line < 1 || moved || len(n.Lines) == mostNotes {
			rest = append(rest, text.Item(text.Format("%s: %s", text.Code(f.File), text.OneLine(f.Issue, 300))))
			continue
		}
		n.Lines = append(n.Lines, work.PullNote{Path: f.File, Line: f.Line, Body: TellNote(f.Finding)})
	}
	n.Body = text.Join("\n\n",
		text.Format("Forge's reviewers found what was let stand: %s. This decides nothing.", text.Number(len(found), "finding")),
		text.Join("", rest[:min(len(rest), mostNotes)]...))
	return nil
}

// TellNote is one finding, for people.
func TellNote(f work.Finding) text.Markdown {
	all := []text.Markdown{text.Format("**%s** (%s):", string(f.Severity), f.By()), text.Quote(work.WithoutSignals(f.Issue))}
	if f.Failure != "" {
		all = append(all, text.Own("It leads to:"), text.Quote(work.WithoutSignals(f.Failure)))
	}
	if f.Suggestion != "" {
		all = append(all, text.Own("Suggestion:"), text.Quote(work.WithoutSignals(f.Suggestion)))
	}
	return text.Join("\n\n", all...)
}

// TellAnswer says on a pull request who approved it where, when that was not
// there: its page is a door that shows what the others heard. Like notes, it
// holds nothing.
func (h *Port) TellAnswer(ctx context.Context, number int64, id string) {
	if id == "" {
		return
	}
	cp, err := h.Answer(ctx, id)
	if err == nil && (cp.Status != work.CheckpointApproved || cp.Door == Channel) {
		return
	}
	if err == nil {
		said := text.Join("\n\n",
			text.Format("Approved by %s (%s), as checkpoint %s.", OrUnknown(cp.AnsweredBy), cp.Door, text.Code(cp.ID)),
			text.Quote(work.WithoutSignals(cp.Comment)))
		err = h.Again(ctx, func() error { return h.Host.Comment(ctx, number, "answer "+cp.ID, said) })
	}
	if err != nil {
		h.Warn("who approved is not said on the pull request", "pull", number, "err", err)
	}
}
