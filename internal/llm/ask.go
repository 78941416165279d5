package llm

import (
	"context"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"forge/internal/text"
)

// mostShown bounds how much of a wrong answer goes back with the repair.
const mostShown = 64 << 10

// Ask returns an answer that fits the schema and the question's own check. A
// wrong one is sent back once with its problems. The error is a *Trouble, save
// for a schema that cannot be used.
func (c *Client) Ask(ctx context.Context, q Question) (Reply, error) {
	rep := Reply{Model: q.Model}
	if rep.Model == "" {
		rep.Model = c.ModelFor(q.Role)
	}
	schema, err := ParseSchema(q.Schema)
	if err != nil {
		return rep, err
	}
	v := &conversation{client: c}
	trouble := c.ready(rep.Model, q.Role)
	if trouble == nil {
		trouble = c.converse(ctx, v, q, schema, &rep)
	}
	rep.Tries, rep.Usage = v.tries, c.bill(v.spent)
	if trouble != nil {
		return rep, trouble
	}
	return rep, nil
}

// ready finds what is missing before anything is sent.
func (c *Client) ready(model, role string) *Trouble {
	if model == "" {
		return &Trouble{Kind: UnknownModel, What: "no model is set" + forRole(role), Fix: "set llm.model"}
	}
	if c.cfg.KeyEnv != "" && c.cfg.Key == "" {
		return &Trouble{Kind: Unauthorized, What: "the key is missing: " + c.cfg.KeyEnv + " is not set", Fix: "set " + c.cfg.KeyEnv + " in the environment of Forge"}
	}
	return nil
}

func forRole(role string) string {
	if role == "" {
		return ""
	}
	return " for the role " + role
}

// converse asks, and asks once more after an answer that does not fit.
func (c *Client) converse(ctx context.Context, v *conversation, q Question, s *Schema, rep *Reply) *Trouble {
	content, trouble := c.say(ctx, v, q, s, nil, rep)
	if trouble != nil {
		return trouble
	}
	answer := body(content)
	problems := judge(s, q, answer)
	if len(problems) > 0 {
		rep.Repaired = true
		shown := text.Cut(content, mostShown)
		more := []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleAssistant, Content: shown},
			{Role: openai.ChatMessageRoleUser, Content: c.red.String(repair(problems) + "\n\n" + bySchema(q.Schema))},
		}
		if content, trouble = c.say(ctx, v, q, s, more, rep); trouble != nil {
			return trouble
		}
		answer = body(content)
		if problems = judge(s, q, answer); len(problems) > 0 {
			return badAnswer("the answer does not fit after a repair: %s", c.clean(strings.Join(problems, "; ")))
		}
	}
	rep.JSON = answer
	return nil
}

// judge names what is wrong with an answer: by the schema, and only when that
// fits by the question's own check.
func judge(s *Schema, q Question, answer []byte) []string {
	problems := s.Check(answer)
	if len(problems) == 0 && q.Check != nil {
		problems = q.Check(answer)
	}
	return problems
}

func repair(problems []string) string {
	var b strings.Builder
	b.WriteString("That answer cannot be used:\n")
	for i, p := range problems {
		if i == MaxProblems {
			b.WriteString("- and more\n")
			break
		}
		b.WriteString("- " + foreign(p) + "\n")
	}
	return b.String()
}

// say sends a question in the dialect that the service understands, finding it
// out where it is not known yet, and returns the words of the answer.
func (c *Client) say(ctx context.Context, v *conversation, q Question, s *Schema, more []openai.ChatCompletionMessage, rep *Reply) (string, *Trouble) {
	d := c.dialectOf(rep.Model)
	for {
		res, trouble := v.send(ctx, c.request(rep.Model, q, s, more, d))
		if trouble != nil && (trouble.Status == http.StatusBadRequest || trouble.Status == http.StatusUnprocessableEntity || trouble.Kind == Rejected && trouble.Status == 0) {
			if next, ok := d.lower(trouble.words); ok {
				d = next
				continue
			}
		}
		c.keep(v, rep)
		if trouble != nil {
			return "", trouble
		}
		c.remember(rep.Model, d)
		return c.words(res)
	}
}

// keep adds the last exchange to what the reply shows.
func (c *Client) keep(v *conversation, rep *Reply) {
	if v.last == nil {
		return
	}
	add := func(to *[]byte, text []byte) {
		if len(*to) > 0 {
			*to = append(*to, '\n')
		}
		*to = append(*to, c.red.String(string(text))...)
	}
	add(&rep.Request, v.last.sent)
	add(&rep.Answer, v.last.got)
	v.last = nil
}

// words are what the first choice says, when it is an answer at all.
func (c *Client) words(res openai.ChatCompletionResponse) (string, *Trouble) {
	content, calls, trouble := c.choice(res)
	switch {
	case trouble != nil:
		return "", trouble
	case len(calls) > 0:
		return "", &Trouble{Kind: ToolCall, What: "the model calls a tool instead of answering"}
	}
	return content, nil
}

// choice is what the first choice says and which tools it calls, when it is an
// answer at all.
func (c *Client) choice(res openai.ChatCompletionResponse) (string, []openai.ToolCall, *Trouble) {
	if len(res.Choices) == 0 {
		return "", nil, &Trouble{Kind: Empty, What: "the answer has no choices"}
	}
	choice := res.Choices[0]
	message := choice.Message
	content := message.Content
	for _, part := range message.MultiContent {
		if part.Type == openai.ChatMessagePartTypeText {
			content += part.Text
		}
	}
	content = c.red.String(content)
	calls := message.ToolCalls
	if f := message.FunctionCall; f != nil {
		calls = append(calls, openai.ToolCall{Type: openai.ToolTypeFunction, Function: *f})
	}
	switch reason := string(choice.FinishReason); {
	case reason == "length" || reason == "max_tokens" || reason == "model_length":
		return "", nil, &Trouble{Kind: Truncated, What: "the answer was cut at its longest", Fix: "raise llm.max_output_tokens"}
	case len(calls) > 0:
		return content, calls, nil
	case reason == "tool_calls" || reason == "function_call":
		return "", nil, &Trouble{Kind: ToolCall, What: "the model calls a tool, and says not which"}
	case strings.TrimSpace(message.Refusal) != "":
		return "", nil, &Trouble{Kind: Refused, What: "the model refuses: " + c.clean(message.Refusal)}
	case reason == "content_filter":
		return "", nil, &Trouble{Kind: Refused, What: "a content filter stopped the answer"}
	case reason == "error":
		return "", nil, &Trouble{Kind: Server, What: "the service broke the answer off"}
	case strings.TrimSpace(content) == "":
		return "", nil, &Trouble{Kind: Empty, What: "the answer has no content"}
	}
	return content, nil, nil
}
