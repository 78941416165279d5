package llm

import (
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// dialect is what a service was found to accept for a model. It only moves
// down, so that trying ends.
type dialect struct {
	format format
	limit  limitWord
	parts  parts
}

// format is how an answer is bound to its schema, the tightest first.
type format int

const (
	formatSchema format = iota // response_format json_schema
	formatObject               // response_format json_object, the schema in the instructions
	formatText                 // the schema in the instructions alone
)

// limitWord is the field that bounds an answer's length.
type limitWord int

const (
	limitTokens     limitWord = iota // max_tokens
	limitCompletion                  // max_completion_tokens, which newer models want
	limitNone
)

// parts is how an answer is asked for in parts.
type parts int

const (
	partsCounted parts = iota // stream, with what it consumed at its end
	partsPlain                // stream, and nothing is said of what it consumed
	partsNone                 // the answer comes in one
)

// lower is the dialect to try after the service refused one, going by its
// words; ok is false when they say nothing of it.
func (d dialect) lower(words string) (_ dialect, ok bool) {
	words = strings.ToLower(words)
	mentions := func(list ...string) bool {
		for _, w := range list {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	switch {
	case d.limit < limitNone && mentions("max_tokens", "max_completion_tokens", "maxcompletiontokens"):
		d.limit++
	case d.parts == partsCounted && mentions("stream_options", "include_usage"):
		d.parts++
	case d.parts < partsNone && mentions("stream"):
		d.parts = partsNone
	case d.format < formatText && mentions("response_format", "response format", "json_schema", "json_object", "structured output", "schema", "grammar"):
		d.format++
	default:
		return d, false
	}
	return d, true
}

func (c *Client) dialectOf(model string) dialect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialect[model]
}

// remember keeps the lower of two dialects for a model: questions that run
// beside each other find the same out.
func (c *Client) remember(model string, d dialect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.dialect[model]
	c.dialect[model] = dialect{format: max(had.format, d.format), limit: max(had.limit, d.limit), parts: max(had.parts, d.parts)}
}

// request writes a question down in a dialect.
func (c *Client) request(model string, q Question, s *Schema, more []openai.ChatCompletionMessage, d dialect) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: model}
	d.bound(&req, c.cfg.MaxOutputTokens)
	system := q.System
	switch d.format {
	case formatSchema:
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: schemaName(q.Name), Schema: s.wire, Strict: s.strict},
		}
	case formatObject:
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	if d.format != formatSchema {
		system = strings.TrimSpace(system + "\n\n" + bySchema(q.Schema))
	}
	if system != "" {
		req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: c.red.String(system)})
	}
	req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: c.red.String(q.User)})
	req.Messages = append(req.Messages, more...)
	return req
}

// bound limits the length of the answer.
func (d dialect) bound(req *openai.ChatCompletionRequest, tokens int) {
	switch d.limit {
	case limitTokens:
		req.MaxTokens = tokens //nolint:staticcheck // the one field that every service but the newest models of one vendor knows
	case limitCompletion:
		req.MaxCompletionTokens = tokens
	}
}

// bySchema asks for an answer that fits.
func bySchema(schema json.RawMessage) string {
	return "Answer with one JSON object and nothing else: no words before or after it. It must fit this JSON schema:\n" + string(schema)
}

// schemaName keeps what services accept in the name of a schema.
func schemaName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "answer"
	}
	return clean[:min(len(clean), 64)]
}
