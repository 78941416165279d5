//go:build real

package e2e

import (
	"encoding/json"
	"strings"

	"forge/internal/fakemodel"
)

// asked is what one request of an agent's main conversation says.
type asked struct {
	prompt string // the user's words since the model spoke last
	before string // everything said before them
}

// said is a part of a conversation.
type said struct {
	by     string // user, model, or "" for what is neither's words
	words  string
	result bool // of a tool
}

// prompts are the requests of the agent that brought a new prompt, oldest
// first; one that was repeated counts once.
func (c *withAgent) prompts() []asked { return c.promptsOf(c.player) }

func (c *withAgent) promptsOf(p player) []asked {
	c.t.Helper()
	var out []asked
	for _, r := range c.server.Requests(p.name) {
		if r.Side {
			continue
		}
		talk, err := conversation(r)
		if err != nil {
			c.t.Fatal(err)
		}
		var a asked
		results := false
		for _, s := range talk {
			switch s.by {
			case "model":
				a.before += a.prompt + s.words + "\n"
				a.prompt, results = "", false
			case "user":
				if !added(s.words) {
					a.prompt += s.words
				}
			}
			results = results || s.result
		}
		if !results && (len(out) == 0 || out[len(out)-1] != a) {
			out = append(out, a)
		}
	}
	return out
}

// added says that words are not the user's: agents tell the model of the
// machine, of the folder and of themselves.
func added(words string) bool {
	for _, tag := range []string{"<system-reminder>", "<environment_context>", "<session_context>", "<permissions", "<user_instructions>"} {
		if strings.HasPrefix(strings.TrimSpace(words), tag) {
			return true
		}
	}
	return false
}

// message is one of a conversation on any of the four wires.
type message struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   []part          `json:"parts"`
}

type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Response json.RawMessage `json:"functionResponse"`
}

// conversation reads a request on the wire that it came by.
func conversation(r fakemodel.Request) ([]said, error) {
	var body struct {
		Messages []message `json:"messages"`
		Input    []message `json:"input"`
		Contents []message `json:"contents"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, err
	}
	var out []said
	for _, m := range append(append(body.Messages, body.Input...), body.Contents...) {
		by := map[string]string{"user": "user", "assistant": "model", "model": "model"}[m.Role]
		switch {
		case strings.HasSuffix(m.Type, "_output") || m.Role == "tool":
			out = append(out, said{result: true})
			continue
		case strings.HasSuffix(m.Type, "_call"):
			by = "model"
		}
		parts := m.Parts
		var words string
		if json.Unmarshal(m.Content, &words) == nil {
			parts = append(parts, part{Text: words})
		} else if len(m.Content) > 0 {
			if err := json.Unmarshal(m.Content, &parts); err != nil {
				return nil, err
			}
		}
		if len(parts) == 0 {
			out = append(out, said{by: by})
		}
		for _, p := range parts {
			out = append(out, said{by: by, words: p.Text, result: p.Type == "tool_result" || p.Response != nil})
		}
	}
	return out, nil
}
