package agent

import "encoding/json"

// codexAsks is the request by which codex's server passes such questions on.
const codexAsks = "item/tool/requestUserInput"

// codexAnswers is what is answered to it, by the ids of the questions.
type codexAnswers struct {
	Answers map[string]codexChosen `json:"answers"`
}

type codexChosen struct {
	Answers []string `json:"answers"`
}

// takeQuestions keeps what codex's model asks. One that asks for a secret is not
// passed on: an answer stands in the journal.
func (c *codexApp) takeQuestions(params json.RawMessage) codexAnswers {
	var ask struct {
		Questions []struct {
			ID       string `json:"id"`
			Header   string `json:"header"`
			Question string `json:"question"`
			Secret   bool   `json:"isSecret"`
			Options  []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	_ = json.Unmarshal(params, &ask) // of another form: nothing is asked
	out := codexAnswers{Answers: map[string]codexChosen{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range ask.Questions {
		if q.Secret {
			out.Answers[q.ID] = codexChosen{[]string{"Secrets are not asked for here: say what is missing as a <blocker> that needs a credential."}}
			continue
		}
		var choices []string
		for _, o := range q.Options {
			choices = append(choices, o.Label)
		}
		c.asked.add(q.Question, q.Header, choices, c.red)
		out.Answers[q.ID] = codexChosen{[]string{writtenDown}}
	}
	return out
}
