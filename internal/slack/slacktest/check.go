package slacktest

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type     string          `json:"type"`
	ActionID string          `json:"action_id"`
	Value    string          `json:"value"`
	Style    string          `json:"style"`
	URL      string          `json:"url"`
	Text     json.RawMessage `json:"text"`
	Elements []element       `json:"elements"`
}

type block struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	Text     *textObject       `json:"text"`
	Label    *textObject       `json:"label"`
	Elements []json.RawMessage `json:"elements"`
	Element  *element          `json:"element"`
}

// checkMessage is what Slack would say against a message, "" = nothing.
func checkMessage(p map[string]string) string {
	if p["text"] == "" {
		return "a message without a text is not read out"
	}
	if n := utf8.RuneCountInString(p["text"]); n > 4000 {
		return fmt.Sprintf("the text has %d characters, more than 4000", n)
	}
	return checkBlocks(p["blocks"], 50)
}

func checkBlocks(raw string, most int) string {
	if raw == "" {
		return ""
	}
	var blocks []block
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		return "blocks: " + err.Error()
	}
	if len(blocks) > most {
		return fmt.Sprintf("%d blocks, more than %d", len(blocks), most)
	}
	ids, actions := map[string]bool{}, map[string]bool{}
	for n, b := range blocks {
		if b.BlockID != "" && ids[b.BlockID] {
			return "two blocks with the id " + b.BlockID
		}
		ids[b.BlockID] = true
		if len(b.BlockID) > 255 {
			return "a block's id has more than 255 characters"
		}
		if why := b.check(actions); why != "" {
			return fmt.Sprintf("block %d, %s: %s", n, b.Type, why)
		}
	}
	return ""
}

func (b block) check(actions map[string]bool) string {
	switch b.Type {
	case "header":
		return checkText(b.Text, 150, true)
	case "section":
		return checkText(b.Text, 3000, false)
	case "context":
		if len(b.Elements) < 1 || len(b.Elements) > 10 {
			return fmt.Sprintf("%d elements", len(b.Elements))
		}
		for _, raw := range b.Elements {
			var t textObject
			_ = json.Unmarshal(raw, &t)
			if why := checkText(&t, 3000, false); why != "" {
				return why
			}
		}
	case "actions":
		if len(b.Elements) < 1 || len(b.Elements) > 25 {
			return fmt.Sprintf("%d elements", len(b.Elements))
		}
		for _, raw := range b.Elements {
			var e element
			_ = json.Unmarshal(raw, &e)
			if why := e.check(actions); why != "" {
				return why
			}
		}
	case "rich_text":
		if len(b.Elements) == 0 {
			return "no elements"
		}
	case "input":
		if b.Element == nil || b.Element.Type != "plain_text_input" || b.Element.ActionID == "" {
			return "no field to write into"
		}
		return checkText(b.Label, 2000, true)
	default:
		return "unknown type"
	}
	return ""
}

func (e element) check(actions map[string]bool) string {
	var t textObject
	_ = json.Unmarshal(e.Text, &t)
	switch {
	case e.Type != "button":
		return "an element of type " + e.Type
	case e.ActionID == "" || len(e.ActionID) > 255 || actions[e.ActionID]:
		return "the action id " + e.ActionID + " is empty, too long or there twice"
	case len(e.Value) > 2000:
		return "a value of more than 2000 characters"
	case len(e.URL) > 3000:
		return "an address of more than 3000 characters"
	case e.Style != "" && e.Style != "primary" && e.Style != "danger":
		return "the style " + e.Style
	}
	actions[e.ActionID] = true
	return checkText(&t, 75, true)
}

func checkText(t *textObject, most int, plain bool) string {
	switch {
	case t == nil || t.Text == "":
		return "no text"
	case t.Type != "plain_text" && (plain || t.Type != "mrkdwn"):
		return "a text of type " + t.Type
	case utf8.RuneCountInString(t.Text) > most:
		return fmt.Sprintf("a text of %d characters, more than %d", utf8.RuneCountInString(t.Text), most)
	}
	return ""
}

// checkView is what Slack would say against a form.
func checkView(raw string) string {
	var v struct {
		Type    string          `json:"type"`
		Title   *textObject     `json:"title"`
		Submit  *textObject     `json:"submit"`
		Close   *textObject     `json:"close"`
		Private string          `json:"private_metadata"`
		Blocks  json.RawMessage `json:"blocks"`
	}
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		return err.Error()
	}
	if v.Type != "modal" || len(v.Private) > 3000 {
		return "it is no modal, or its private_metadata is too long"
	}
	for _, t := range []*textObject{v.Title, v.Submit, v.Close} {
		if why := checkText(t, 24, true); why != "" {
			return why
		}
	}
	return checkBlocks(string(v.Blocks), 100)
}
