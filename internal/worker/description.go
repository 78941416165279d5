package worker

import (
	"cmp"
	"context"
	"strings"

	"forge/factory"
	"forge/internal/narrate"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// mostOfIssue is how much of an issue's text its pull request repeats, in bytes.
const mostOfIssue = 4 << 10

// Title is the title of the pull request of an issue's result.
func Title(i work.Issue) text.Title {
	return text.Titled("Issue %d: %s", i.ID, i.Title)
}

// resultPaper is the text of the pull request of an issue's result.
func (h *resultHost) resultPaper(ctx context.Context, r result, pictures text.Markdown) (text.Markdown, error) {
	changes, err := h.Repo.Changes(ctx, r.Spec.Base.Commit, r.commit)
	if err != nil {
		return text.Markdown{}, err
	}
	pr := r.Promotion()
	var proof []string
	if r.Issue != nil {
		proof = r.Issue.Passed
	}
	asks := text.Markdown{}
	answer := text.Own("Forge was free to finish this by itself: it merges as soon as the host lets it. Request changes, and it does not.")
	if cp := r.Open[pr.Checkpoint]; cp != nil {
		asks = text.Quote(cp.Question + "\n\n" + cp.Facts)
		answer = text.Format("Approve it and Forge merges it; request changes, with comments on lines, and the agent works on them here. "+
			"Commits that you push become part of it once they are approved here. A comment alone answers nothing. The same question is checkpoint %s: %s.", text.Code(cp.ID), text.Code("forge approve "+cp.ID))
	}
	return text.Join("",
		text.Section("What changed", pullrequest.TellChanges(changes)),
		text.Section("Why", text.Quote(pullrequest.CutTo(strings.TrimSpace(r.issue.Title+"\n\n"+r.issue.Description), mostOfIssue))),
		text.Section("How the pages look", pictures),
		text.Section("Evidence", text.Join("\n\n", narrate.TellDoubted(r.Doubts), pullrequest.TellProof(proof), TellRecords(r.State), TellCriteria(pr.Criteria))),
		text.Section("Doubts", TellHold(r.State, pr.Hold)),
		text.Section("Read first", pullrequest.ReadFirst(changes)),
		text.Section("What Forge asks", asks),
		text.Section("How to answer", answer),
	), nil
}

// lastPages are the pages as the last phase that landed shows them: as they are with
// the result.
func lastPages(s *orchestrator.State) []work.PageShown {
	if p := s.View(s.LastMerged); p != nil {
		return p.Record.Pages
	}
	return nil
}

// TellRecords are the proofs of the phases that a result is made of.
func TellRecords(s *orchestrator.State) text.Markdown {
	var all []text.Markdown
	for _, n := range s.Order {
		if record := s.View(n).Record; record.Known() && s.View(n).Landed {
			all = append(all, text.Format("Phase %s. %s", n, narrate.TellRecord(record)))
		}
	}
	return text.Join("\n\n", all[max(len(all)-narrate.MostProofs, 0):]...)
}

// TellHold is what speaks against landing a result unseen.
func TellHold(s *orchestrator.State, hold []review.HoldReason) text.Markdown {
	var all []text.Markdown
	for _, h := range hold {
		all = append(all, text.Item(text.Format("it waits for a person: %s (%s)", factory.HeldWords(string(h)), text.Code(string(h)))))
	}
	for _, a := range s.Assumed {
		all = append(all, text.Item(text.Format("%s", a.String())))
	}
	for _, f := range s.FollowUps {
		all = append(all, text.Item(text.Format("left for later: %s", f.String())))
	}
	for _, n := range s.Order {
		if let := s.View(n).Review.Let; let != "" {
			all = append(all, text.Item(text.Format("in phase %s findings were let pass by %s", n, let)))
		}
	}
	if !s.Specialists() {
		all = append(all, text.Item(text.Own("no reviewer of Forge's looked at it")))
	}
	return text.Join("", all...)
}

// TellCriteria is what is on record for each criterion.
func TellCriteria(all []orchestrator.CriterionState) text.Markdown {
	var out []text.Markdown
	for _, c := range all {
		how := "no evidence"
		if c.Met {
			how = "met"
		}
		out = append(out, text.Item(text.Format("%s, %s: %s", c.ID, how, c.Text)))
		for _, e := range c.Evidence {
			no := ""
			if !e.Met {
				no = "NOT met, "
			}
			out = append(out, text.Format("  - %ssays %s: %s\n", no, cmp.Or(e.Who, string(e.By)), text.OneLine(e.What, 300)))
		}
	}
	return text.Join("", out...)
}
