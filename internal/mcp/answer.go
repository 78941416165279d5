package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"forge/internal/text"
)

const (
	// mostBytes is how much of what others wrote one answer holds, in bytes.
	mostBytes = 24 << 10
	// mostLabel is how much of a name from outside is said back.
	mostLabel = 80
)

// answer is what a tool says: first Forge's own words, then what others wrote, as
// data.
type answer struct {
	head  string
	title string
	data  string
	next  string // how to go on; "" = that was all
}

// String is the answer as a client gets it.
func (a answer) String() string {
	var b strings.Builder
	b.WriteString(a.head)
	if a.data != "" {
		text.Fence(&b, a.title, a.data)
	}
	if a.next != "" {
		b.WriteString("\nThere is more: " + a.next + "\n")
	}
	return b.String()
}

// label is a name from outside as Forge's own words may hold it.
func label(name string) string { return text.Label(text.OneLine(name, mostLabel)) }

// paged is the part of a text from offset on that fits into one answer.
func paged(head, title, data string, offset int) answer {
	data = text.Visible(strings.ToValidUTF8(data, "\uFFFD"))
	a := answer{head: head, title: title}
	rest := text.End(data, len(data)-min(max(offset, 0), len(data)))
	from := len(data) - len(rest)
	a.data = text.Cut(rest, mostBytes)
	if at := strings.LastIndexByte(a.data, '\n'); len(a.data) < len(rest) && at > mostBytes/2 {
		a.data = text.Cut(a.data, at+1)
	}
	end := from + len(a.data)
	if from > 0 || end < len(data) {
		a.head = strings.TrimRight(head, "\n") + fmt.Sprintf(" Bytes %d to %d of %d.\n", from, end, len(data))
	}
	if end < len(data) {
		a.next = fmt.Sprintf("offset=%d", end)
	}
	return a
}

// list is lines that fit into one answer; next says how to go on after the n-th.
type list struct {
	b     strings.Builder
	count int
	full  bool
}

// add takes a line in, unless the answer is full: then nothing more is taken.
func (l *list) add(line string) bool {
	line = text.Visible(strings.ToValidUTF8(line, "\uFFFD"))
	if l.full || l.b.Len() > 0 && l.b.Len()+len(line) > mostBytes {
		l.full = true
		return false
	}
	l.b.WriteString(text.Clip(line, mostBytes))
	l.b.WriteByte('\n')
	l.count++
	return true
}

// asJSON is a value as text.
func asJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // a command reads as it was written
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("write an answer: %w", err)
	}
	return b.String(), nil
}
