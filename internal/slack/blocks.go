package slack

import (
	"encoding/json"
	"strings"

	"forge/internal/door"
	"forge/internal/text"
)

// Slack's bounds. It counts characters, we count bytes, of which there are more.
const (
	mostHeader   = 150
	mostSection  = 2900
	mostFallback = 1500
	mostButton   = 75
)

// idOfCard begins the id of a message's first block: by it a message is found again
// whose ts nobody wrote down.
const idOfCard = "forge "

// plain is a text that Slack shows as it is: no mentions, links or formats.
func plain(words string, most int) map[string]any {
	if words = text.Clip(words, most); text.Blank(words) {
		words = "–"
	}
	return map[string]any{"type": "plain_text", "text": words, "emoji": false}
}

// fixed is a text whose lines stand below each other.
func fixed(words string) map[string]any {
	return map[string]any{"type": "rich_text", "elements": []any{
		map[string]any{"type": "rich_text_preformatted", "elements": []any{map[string]any{"type": "text", "text": text.Clip(words, mostSection)}}},
	}}
}

// blocks are a card as Slack shows it. Everything that others wrote is plain text.
func blocks(c door.Card) []any {
	out := []any{map[string]any{"type": "header", "block_id": idOfCard + c.Subject, "text": plain(c.Title, mostHeader)}}
	if len(c.Title) > mostHeader {
		out = append(out, map[string]any{"type": "section", "text": plain(c.Title, mostSection)})
	}
	var facts []string
	for _, f := range c.Facts {
		facts = append(facts, f[0]+": "+f[1])
	}
	if len(facts) > 0 {
		out = append(out, block("section", strings.Join(facts, "\n")))
	}
	for _, p := range c.Parts {
		out = append(out, block("context", p.Title))
		if p.Fixed {
			out = append(out, fixed(p.Text))
		} else {
			out = append(out, block("section", p.Text))
		}
	}
	if buttons := buttonsOf(c); len(buttons) > 0 {
		out = append(out, map[string]any{"type": "actions", "elements": buttons})
	}
	if c.Foot != "" {
		out = append(out, block("context", c.Foot))
	}
	return out
}

// block is a block with one plain text.
func block(kind, words string) map[string]any {
	if kind == "context" {
		return map[string]any{"type": kind, "elements": []any{plain(words, mostSection)}}
	}
	return map[string]any{"type": kind, "text": plain(words, mostSection)}
}

// The ids of buttons begin so: what answers, and what only leads somewhere.
const (
	actionAnswer = "answer-"
	actionOpen   = "open"
)

func buttonsOf(c door.Card) (out []any) {
	for i, b := range c.Buttons {
		value, err := json.Marshal(b.Press)
		if err != nil || len(value) > 2000 || len(out) == 24 {
			continue // Slack has no room for it; the page has
		}
		e := map[string]any{"type": "button", "action_id": actionAnswer + string(rune('a'+i)), "text": plain(b.Label, mostButton), "value": string(value)}
		if b.Style != "" {
			e["style"] = b.Style
		}
		out = append(out, e)
	}
	if c.Link != "" && len(c.Link) < 3000 {
		out = append(out, map[string]any{"type": "button", "action_id": actionOpen, "text": plain("Open the page", mostButton), "url": c.Link})
	}
	return out
}

// fallback is a card where there is no room for blocks, as in a notice on a phone.
func fallback(c door.Card) string {
	var said []string
	for _, f := range c.Facts {
		said = append(said, f[0]+": "+f[1])
	}
	return escape(text.Clip(c.Title+"\n"+strings.Join(said, "\n"), mostFallback))
}

// escape is a text in which Slack finds no mention and no link.
func escape(words string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(words)
}

// form is what a button asks words by. held is given back with them.
func form(title string, due bool, held string) map[string]any {
	input := map[string]any{
		"type": "input", "block_id": formBlock, "optional": !due, "label": plain("In your words", 100),
		"element": map[string]any{"type": "plain_text_input", "action_id": formBlock, "multiline": true, "max_length": 3000},
	}
	return map[string]any{
		"type": "modal", "callback_id": formBlock, "private_metadata": held, "title": plain("Your answer", 24), "submit": plain("Answer", 24), "close": plain("Back", 24),
		"blocks": []any{map[string]any{"type": "section", "text": plain(title, mostSection)}, input},
	}
}

// formBlock names the field of a form, and the form.
const formBlock = "forge-words"
