package narrate

import (
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// sayOfIssue puts what becomes of an issue's result into words.
func sayOfIssue(e work.Event) (string, facts, error) {
	switch e.Kind {
	case work.CriteriaAnswered:
		return telling(e, func(d orchestrator.CriteriaAnsweredData) (string, facts) {
			f := facts{}
			for _, a := range d.Criteria {
				f = append(f, [2]string{a.ID, metWord(a.Met) + ": " + a.Evidence})
			}
			for _, what := range d.Ignored {
				f = append(f, [2]string{"ignored", what})
			}
			return d.Specialist + " on the issue's criteria", f
		})
	case work.CriterionEvidenced:
		return telling(e, func(d work.Evidence) (string, facts) {
			return fmt.Sprintf("criterion %s %s, by %s", d.Criterion, metWord(d.Met), strings.TrimSpace(string(d.By)+" "+d.Who)), facts{{"evidence", d.What}}
		})
	case work.PromotionDecided:
		return telling(e, func(d orchestrator.PromotionDecidedData) (string, facts) {
			return promotionWords(d) + ", by " + d.By, facts{{"waits for", joined(d.Hold)}, {"no evidence", strings.Join(d.Unmet, ", ")}}
		})
	}
	return "", nil, nil
}

// describeIssue is the line in the log of a run.
func describeIssue(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.PromotionDecidedData) (log.Level, string, []any) {
		pairs := []any{"by", d.By}
		if len(d.Hold) > 0 {
			pairs = append(pairs, "waits for", joined(d.Hold))
		}
		return log.InfoLevel, promotionWords(d), pairs
	})
}

func promotionWords(d orchestrator.PromotionDecidedData) string {
	switch d.Decision {
	case review.ToDone:
		return fmt.Sprintf("issue %d may be done", d.Issue)
	case review.ToInReview:
		return fmt.Sprintf("issue %d waits for a review", d.Issue)
	}
	return fmt.Sprintf("issue %d stays where it is", d.Issue)
}

func metWord(met bool) string {
	if met {
		return "is met"
	}
	return "is NOT met"
}

func joined(hold []review.HoldReason) string {
	words := make([]string, len(hold))
	for i, h := range hold {
		words[i] = strings.ReplaceAll(string(h), "_", " ")
	}
	return strings.Join(words, ", ")
}

// Hashes names issues as people write them: #1, #2.
func Hashes(ids []int64) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf("#%d", id))
	}
	return strings.Join(parts, ", ")
}
