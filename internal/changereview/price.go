package changereview

import (
	"fmt"

	"forge/internal/runs"
	"forge/internal/text"
	"forge/review"
)

// sayPrice says what a review is about to take, before anybody is asked: one is
// what one reviewer is asked, and all are asked alike. Answers, requests for more
// lines and second asks come on top.
func (r *ongoing) sayPrice(reviewers int, one *asked, model bool) {
	if reviewers == 0 || one.questions == 0 {
		return
	}
	if !model {
		r.Log.Info("what is asked", "reviewers", reviewers, "agent", runs.ReviewAgent(r.set.Reviews.By), "cost", "unknown: an agent reads what it wants")
		return
	}
	questions, tokens := reviewers*one.questions, reviewers*review.Tokens(one.bytes)
	cost := "unknown, without prices in [llm]"
	if in := r.Config.File.LLM.USDPerMTokIn; in != nil {
		cost = text.USD(float64(tokens)/1e6**in) + ", answers not counted"
	}
	pairs := []any{"questions", questions, "tokens", fmt.Sprintf("about %d", tokens), "cost", cost}
	if most := least(r.set.Cost.RunUSD, r.options.MaxUSD); most != nil {
		pairs = append(pairs, "cap", text.USD(*most))
	}
	r.Log.Info("what is asked", pairs...)
}

// least is the lower one of a cap and another one; 0 = there is no other.
func least(most *float64, other float64) *float64 {
	if other > 0 && (most == nil || other < *most) {
		return &other
	}
	return most
}
