package agent

import (
	"regexp"
	"strings"
)

// scriptPlaces finds the lines of a script that a problem is about. The TOML
// library knows the places of keys only by name, which many steps share.
type scriptPlaces struct {
	text  string // with strings and comments blanked out
	steps []span
}

type span struct{ from, to int }

func newScriptPlaces(text string) scriptPlaces {
	p := scriptPlaces{text: blank(text)}
	p.steps = p.tables(regexp.MustCompile(`(?m)^[ \t]*\[\[[ \t]*step[ \t]*\]\]`), span{0, len(text)})
	return p
}

// line is the line of a key in an action of a step, or of the smallest thing
// around it that can be found; step and action are -1 outside of them.
func (p scriptPlaces) line(step, action int, key string) int {
	in := span{0, len(p.text)}
	if step >= 0 && step < len(p.steps) {
		in = p.steps[step]
		if action >= 0 {
			if all := p.actions(in); action < len(all) {
				in = all[action]
			}
		}
	}
	at := in.from
	if key != "" {
		find := regexp.MustCompile(`(?:^|[\s{,.\[])` + regexp.QuoteMeta(key) + `[ \t]*(?:=|\])`)
		if m := find.FindStringIndex(p.text[in.from:in.to]); m != nil {
			at = in.from + m[0]
			for at < m[1]+in.from && strings.ContainsRune(" \t\n{,.[", rune(p.text[at])) {
				at++
			}
		}
	}
	return 1 + strings.Count(p.text[:at], "\n")
}

// tables are the parts of in that begin with a header each.
func (p scriptPlaces) tables(header *regexp.Regexp, in span) []span {
	var out []span
	for _, m := range header.FindAllStringIndex(p.text[in.from:in.to], -1) {
		if n := len(out); n > 0 {
			out[n-1].to = in.from + m[0]
		}
		out = append(out, span{in.from + m[0], in.to})
	}
	return out
}

// actions are the parts of a step that hold one action each, written as
// [[step.do]] or as do = [{…}, {…}].
func (p scriptPlaces) actions(in span) []span {
	if out := p.tables(regexp.MustCompile(`(?m)^[ \t]*\[\[[ \t]*step[ \t]*\.[ \t]*do[ \t]*\]\]`), in); len(out) > 0 {
		return out
	}
	m := regexp.MustCompile(`(?m)^[ \t]*do[ \t]*=[ \t]*\[`).FindStringIndex(p.text[in.from:in.to])
	if m == nil {
		return nil
	}
	var out []span
	depth := 0
	for i := in.from + m[1]; i < in.to; i++ {
		switch p.text[i] {
		case '{':
			if depth++; depth == 1 {
				out = append(out, span{i, in.to})
			}
		case '}':
			if depth--; depth == 0 {
				out[len(out)-1].to = i + 1
			}
		case ']':
			if depth <= 0 {
				return out
			}
		}
		if depth < 0 {
			return out
		}
	}
	return out
}

// blank replaces what stands in strings and comments by spaces, so that a
// search finds keys and brackets only. Line ends stay.
func blank(text string) string {
	out := []byte(text)
	wipe := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '#':
			end := i + lineLen(text[i:])
			wipe(i, end)
			i = end
		case '"', '\'':
			quote := string(c)
			if strings.HasPrefix(text[i:], strings.Repeat(quote, 3)) {
				quote = strings.Repeat(quote, 3)
			}
			end := i + len(quote) + stringLen(text[i+len(quote):], quote)
			wipe(i, end)
			i = end
		default:
			i++
		}
	}
	return string(out)
}

func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// stringLen is the length of a string's rest with its closing quote.
func stringLen(s, quote string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		}
	}
	return len(s)
}

// edits counts the insertions, deletions and replacements between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
