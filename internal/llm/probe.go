package llm

import (
	"context"

	openai "github.com/sashabaranov/go-openai"
)

// probeTokens bounds the answer to a probe; fewer are refused by services
// whose models think first.
const probeTokens = 16

// Probe asks each of the models for one word, none named = the one of
// reviewers, to tell a missing key, an unknown model and an address where
// nothing answers apart before work rests on them. It costs a few tokens and
// tries as often as Ask. What the model says does not count. The error is a
// *Trouble.
func (c *Client) Probe(ctx context.Context, models ...string) error {
	if len(models) == 0 {
		models = []string{c.ModelFor(RoleReviewer)}
	}
	for _, model := range models {
		if trouble := c.probe(ctx, model); trouble != nil {
			return trouble
		}
	}
	return nil
}

func (c *Client) probe(ctx context.Context, model string) *Trouble {
	if trouble := c.ready(model, ""); trouble != nil {
		return trouble
	}
	v := &conversation{client: c}
	d := c.dialectOf(model)
	for {
		req := openai.ChatCompletionRequest{Model: model, Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleUser, Content: "Answer with the one word: well"},
		}}
		d.bound(&req, probeTokens)
		_, trouble := v.send(ctx, req)
		if trouble == nil {
			c.remember(model, d)
			return nil
		}
		if trouble.Kind != Rejected {
			return trouble
		}
		next, ok := d.lower(trouble.words)
		if !ok || next.format != d.format {
			return trouble
		}
		d = next
	}
}
