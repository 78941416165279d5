package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// mostOfIssue is how much of an issue's text its pull request repeats, in bytes.
const mostOfIssue = 4 << 10

func resultTitle(i work.Issue) string {
	return host.Inert(fmt.Sprintf("Issue %d: %s", i.ID, i.Title))
}

// paper is the text of the pull request of an issue's result.
func (h *resultHost) resultPaper(ctx context.Context, r result) (string, error) {
	changes, err := h.repo.Changes(ctx, r.Spec.Base.Commit, r.commit)
	if err != nil {
		return "", err
	}
	pr := r.Promotion()
	var s sheet
	s.section("What changed", tellChanges(changes))
	s.section("Why", quoted(host.Inert(cutTo(strings.TrimSpace(r.issue.Title+"\n\n"+r.issue.Description), mostOfIssue))))
	var proof []string
	if r.Issue != nil {
		proof = r.Issue.Passed
	}
	s.section("Evidence", host.Inert(tellProof(proof)+"\n\n"+tellStates(pr.Criteria)))
	doubts := ""
	for _, h := range pr.Hold {
		doubts += fmt.Sprintf("- held by `%s`: %s\n", h, whyHeld(h))
	}
	for _, n := range r.Order {
		if let := r.Phases[n].Review.Let; let != "" {
			doubts += fmt.Sprintf("- in phase %s findings were let pass by %s\n", n, let)
		}
	}
	if !r.Specialists() {
		doubts += "- no reviewer of Forge's looked at it\n"
	}
	s.section("Doubts", host.Inert(doubts))
	s.section("Read first", readFirst(changes))
	answer := "Forge was free to finish this by itself: it merges as soon as the host lets it. Request changes, and it does not."
	if cp := r.Open[pr.Checkpoint]; cp != nil {
		s.section("What Forge asks", host.Inert(cp.Question+"\n\n"+cp.Facts))
		answer = fmt.Sprintf("Approve it and Forge merges it; request changes, with comments on lines, and the agent works on them here. "+
			"Commits that you push become part of it once they are approved here. A comment alone answers nothing. The same question is checkpoint `%s`: `forge approve %s`.", cp.ID, cp.ID)
	}
	s.section("How to answer", answer)
	return s.String(), nil
}

// whyHeld says in words why a result waits for a person.
func whyHeld(h review.HoldReason) string {
	switch h {
	case review.HoldAutonomy:
		return "the policy lets nothing land without a person"
	case review.HoldAutoPromote, review.HoldOnClean:
		return "the configuration (autonomy.auto_promote) lets nothing land without a person"
	case review.HoldWarnings:
		return "a review said something else than pass, or gave no answer"
	case review.HoldProceeded:
		return "the arbiter let findings stand"
	case review.HoldFixed:
		return "reviews asked for a fix on the way"
	case review.HoldUnverified:
		return "something of it has no proof but the agent's word, protected files were changed, or a criterion has no evidence"
	}
	return "see docs/board.md"
}

// tellStates is what is on record for each criterion.
func tellStates(all []orchestrator.CriterionState) string {
	var b strings.Builder
	for _, c := range all {
		how := "no evidence"
		if c.Met {
			how = "met"
		}
		fmt.Fprintf(&b, "- %s, %s: %s\n", c.ID, how, c.Text)
		for _, e := range c.Evidence {
			no := ""
			if !e.Met {
				no = "NOT met, "
			}
			fmt.Fprintf(&b, "  - %ssays %s: %s\n", no, cmp.Or(e.Who, string(e.By)), oneLine(e.What, 300))
		}
	}
	return b.String()
}
