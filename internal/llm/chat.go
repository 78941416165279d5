package llm

import (
	"context"
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"

	"forge/internal/work"
)

// Roles of a message.
const (
	FromUser  = openai.ChatMessageRoleUser
	FromModel = openai.ChatMessageRoleAssistant
	FromTool  = openai.ChatMessageRoleTool
)

// Message is one of a chat.
type Message struct {
	From  string
	Text  string
	Calls []Call // of the model: the tools that it calls
	Of    string // of a tool: the id of the call that it answers
}

// Call is a call of a tool, as the model wrote it: nothing of it is checked.
type Call struct {
	ID    string
	Tool  string
	Input json.RawMessage
}

// Tool is a tool as the model is told of it.
type Tool struct {
	Name, About string
	Schema      json.RawMessage // of the input, an object
}

// Chat is what a model is to go on with.
type Chat struct {
	Role     string // chooses the model
	System   string
	Messages []Message
	Tools    []Tool // none = it has to answer
	// Hear hears the words as far as they came, while they come; nil = nobody
	// listens. A try that failed begins anew, with fewer words than before.
	Hear func(text string)
}

// Said is what a model said: words, calls of tools, or both.
type Said struct {
	Text  string
	Calls []Call
	Model string
	Usage work.Usage // of all tries together; nil = unknown. Filled in with an error, too
}

// Chat lets a model go on with a chat. The words come in parts where the service
// can. The error is a *Trouble.
func (c *Client) Chat(ctx context.Context, chat Chat) (Said, error) {
	said := Said{Model: c.ModelFor(chat.Role)}
	if trouble := c.ready(said.Model, chat.Role); trouble != nil {
		return said, trouble
	}
	v := &conversation{client: c}
	res, trouble := c.chat(ctx, v, chat, said.Model)
	said.Usage = c.bill(v.spent)
	if trouble != nil {
		return said, trouble
	}
	text, calls, trouble := c.choice(res)
	if trouble != nil {
		return said, trouble
	}
	said.Text = text
	for _, call := range calls {
		said.Calls = append(said.Calls, Call{ID: call.ID, Tool: call.Function.Name, Input: json.RawMessage(c.red.String(call.Function.Arguments))})
	}
	return said, nil
}

// chat sends a chat in the dialect that the service understands.
func (c *Client) chat(ctx context.Context, v *conversation, chat Chat, model string) (openai.ChatCompletionResponse, *Trouble) {
	d := c.dialectOf(model)
	for {
		v.stream = nil
		if chat.Hear != nil && d.parts != partsNone {
			v.stream = func() *stream {
				chat.Hear("")
				return &stream{counted: d.parts == partsCounted, hear: func(text string) { chat.Hear(c.red.String(text)) }}
			}
		}
		res, trouble := v.send(ctx, c.chatRequest(model, chat, d))
		if trouble == nil {
			c.remember(model, d)
			return res, nil
		}
		next, ok := d.lower(trouble.words)
		if trouble.Kind != Rejected || !ok || next.format != d.format {
			return res, trouble
		}
		d = next
	}
}

func (c *Client) chatRequest(model string, chat Chat, d dialect) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: model}
	d.bound(&req, c.cfg.MaxOutputTokens)
	add := func(m openai.ChatCompletionMessage) {
		m.Content = c.red.String(m.Content)
		req.Messages = append(req.Messages, m)
	}
	add(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: chat.System})
	for _, m := range chat.Messages {
		one := openai.ChatCompletionMessage{Role: m.From, Content: m.Text, ToolCallID: m.Of}
		for _, call := range m.Calls {
			one.ToolCalls = append(one.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Tool, Arguments: c.red.String(string(call.Input))}})
		}
		add(one)
	}
	for _, t := range chat.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: t.Name, Description: t.About, Parameters: t.Schema}})
	}
	return req
}
