package jira

import (
	"encoding/json"
	"strings"

	"forge/factory/tracker"
	"forge/internal/text"
)

// words are a text of an issue: a string, or a document of the format that Jira Cloud
// keeps texts in.
type words string

// UnmarshalJSON reads either; null is none.
func (w *words) UnmarshalJSON(data []byte) error {
	var plain *string
	if json.Unmarshal(data, &plain) == nil {
		if plain != nil {
			*w = words(*plain)
		}
		return nil
	}
	var doc node
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	var b strings.Builder
	doc.write(&b, "")
	*w = words(strings.TrimSpace(b.String()))
	return nil
}

// node is a part of a document.
type node struct {
	Type    string         `json:"type"`
	Text    string         `json:"text,omitempty"`
	Attrs   map[string]any `json:"attrs,omitempty"`
	Content []node         `json:"content,omitempty"`
	Marks   []node         `json:"marks,omitempty"`
	Version int            `json:"version,omitempty"`
}

// write writes a document as text that reads like what people see, with the marks of
// Markdown for what is more than a paragraph. What no agent needs leaves its words.
func (n node) write(b *strings.Builder, indent string) {
	attr := func(name string) string { s, _ := n.Attrs[name].(string); return s }
	inside := func(indent string) {
		for _, c := range n.Content {
			c.write(b, indent)
		}
	}
	switch n.Type {
	case "text":
		b.WriteString(strings.ReplaceAll(n.Text, "\n", "\n"+indent))
		for _, m := range n.Marks {
			if to, _ := m.Attrs["href"].(string); m.Type == "link" && to != n.Text {
				b.WriteString(" (" + to + ")")
			}
		}
	case "hardBreak":
		b.WriteString("\n" + indent)
	case "mention", "emoji", "status", "date", "placeholder":
		for _, name := range []string{"text", "shortName", "timestamp"} {
			if attr(name) != "" {
				b.WriteString(attr(name))
				break
			}
		}
	case "inlineCard", "blockCard", "embedCard":
		b.WriteString(attr("url"))
	case "paragraph":
		inside(indent)
		b.WriteString("\n\n" + indent)
	case "heading":
		level, _ := n.Attrs["level"].(float64)
		b.WriteString(strings.Repeat("#", min(max(int(level), 1), 6)) + " ")
		inside(indent)
		b.WriteString("\n\n" + indent)
	case "codeBlock":
		b.WriteString("```" + attr("language") + "\n" + indent)
		inside(indent)
		b.WriteString("\n" + indent + "```\n\n" + indent)
	case "rule":
		b.WriteString("---\n\n" + indent)
	case "listItem", "taskItem", "decisionItem":
		var item strings.Builder
		for _, c := range n.Content {
			c.write(&item, indent+"  ")
		}
		b.WriteString("- " + strings.TrimSpace(item.String()) + "\n" + indent)
	case "bulletList", "orderedList", "taskList", "decisionList":
		inside(indent)
		b.WriteString("\n" + indent)
	case "tableCell", "tableHeader":
		var cell strings.Builder
		for _, c := range n.Content {
			c.write(&cell, indent)
		}
		b.WriteString("| " + strings.Join(strings.Fields(cell.String()), " ") + " ")
	case "tableRow":
		inside(indent)
		b.WriteString("|\n" + indent)
	default:
		inside(indent)
		if n.Type == "table" {
			b.WriteString("\n" + indent)
		}
	}
}

var escaped = text.Lazy(`\\([!-/:-@\[-` + "`" + `{-~])`)

// Text is a report as people read it in Jira, which knows no Markdown.
func Text(r tracker.Report) string {
	return strings.TrimSpace(escaped().ReplaceAllString(r.Post(), "$1"))
}

// document is a text as Jira Cloud takes it: nothing in it acts.
func document(plain string) node {
	doc := node{Type: "doc", Version: 1}
	for part := range strings.SplitSeq(plain, "\n\n") {
		var p node
		for n, line := range strings.Split(part, "\n") {
			if n > 0 {
				p.Content = append(p.Content, node{Type: "hardBreak"})
			}
			if line != "" {
				p.Content = append(p.Content, node{Type: "text", Text: line})
			}
		}
		p.Type = "paragraph"
		doc.Content = append(doc.Content, p)
	}
	return doc
}

// endOfBlock is what would end the block in which a text does not act.
var endOfBlock = text.Lazy(`(?i)\{noformat`)

// block is a text as a server of one's own takes it: nothing in it acts.
func block(plain string) string {
	return "{noformat}\n" + endOfBlock().ReplaceAllString(plain, "{ noformat") + "\n{noformat}"
}
