package agent

import (
	"slices"

	"forge/internal/redact"
	"forge/internal/work"
)

// Some programs have a tool by which their model asks the person in front of them.
// Nobody is there. What it asks is a question as if it had been said in words: it
// waits for whoever the policy names, and the answer comes with the next prompt.

// writtenDown is what a model is told that asked so.
const writtenDown = "This question is written down, and a person will be asked. Nobody answers at once: do not choose for them. End your message now; the answer comes with your next prompt."

// ownQuestions are what the model asked by its own tool, once each.
type ownQuestions struct {
	asked []work.Question
	wrong []string // what could not be asked, for the model
}

// add takes one; one that cannot be asked is told to the model as every signal is
// that cannot be read.
func (o *ownQuestions) add(question, why string, choices []string, red *redact.Redactor) {
	q, err := work.OwnQuestion(question, why, choices)
	if err != nil {
		o.wrong = capped(o.wrong, []string{"your question by a tool: " + err.Error()})
		return
	}
	if q = redactedQuestion(q, red); !hasQuestion(o.asked, q) {
		o.asked = capped(o.asked, []work.Question{q})
	}
}

// report adds them to what was said in words.
func (o *ownQuestions) report(r *work.IterationReport) {
	r.Signals.Questions = askedOnce(o.asked, r.Signals.Questions)
	r.Signals.Problems = capped(r.Signals.Problems, o.wrong)
}

// askedOnce puts what was asked by a tool before what was said in words. Where both
// are the same, it is one question, as the tool has it.
func askedOnce(byTool, inWords []work.Question) []work.Question {
	out := slices.Clone(byTool)
	for _, q := range inWords {
		if !hasQuestion(byTool, q) {
			out = capped(out, []work.Question{q})
		}
	}
	return out
}

func hasQuestion(all []work.Question, q work.Question) bool {
	return slices.ContainsFunc(all, func(one work.Question) bool { return one.Text == q.Text })
}
