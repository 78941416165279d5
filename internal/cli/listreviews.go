package cli

import (
	"fmt"
	"strings"

	"forge/internal/runs"
	"forge/internal/work"
)

// listedReviewer is one reviewer of a phase.
type listedReviewer struct {
	Name   string `json:"name"`
	Gating bool   `json:"gating"`
}

// listedReviewers are the reviewers of a phase.
func listedReviewers(set work.PhaseSettings) []listedReviewer {
	var out []listedReviewer
	for _, s := range set.Reviewers {
		out = append(out, listedReviewer{s.Name, s.Gating})
	}
	return out
}

// reviewText says who reviews which phases; nothing where none is reviewed. A
// star marks reviewers that gate.
func reviewText(phases []listedPhase, set work.ReviewSettings) string {
	numbers := map[string][]string{} // by the reviewers' names
	var order []string
	for _, ph := range phases {
		if !ph.Reviews {
			continue
		}
		var names []string
		for _, r := range ph.Reviewers {
			if r.Gating {
				r.Name += "*"
			}
			names = append(names, r.Name)
		}
		all := strings.Join(names, ", ")
		if numbers[all] == nil {
			order = append(order, all)
		}
		numbers[all] = append(numbers[all], ph.Number)
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nReviewed by %s (* holds the phase):\n", runs.ReviewedBy(set))
	for _, all := range order {
		fmt.Fprintf(&b, "  %s: %s\n", strings.Join(numbers[all], ", "), all)
	}
	return b.String()
}
