package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/internal/refusal"
)

// Edit returns a configuration that says value, a TOML literal, for a key; "" takes
// the key out. All other bytes stay as they are, comments included: that of a line
// that goes stays on a line of its own.
func Edit(text string, path []string, value string) (string, error) {
	key := strings.Join(path, ".")
	s := readTOML(text)
	if s.failed != nil {
		return "", refusal.New("mend it first", "line %d of the file cannot be read: %s", s.failed.at.line, s.failed.what)
	}

	var out string
	switch at := s.find(path); {
	case at == nil && value == "":
		return text, nil
	case at == nil:
		whole := s.find(path[:len(path)-1])
		if whole != nil || s.ofArray(path[:len(path)-1]) {
			return "", refusal.New("change it in the file", "%s stands in a table of another form", key)
		}
		out = s.insert(path, value)
	case value != "":
		out = text[:at.value] + value + text[at.end:]
	case at.inline:
		return "", refusal.New("change it in the file", "%s stands within another value", key)
	default:
		out = s.without(at)
	}
	if _, err := toml.Decode(out, new(map[string]any)); err != nil {
		return "", fmt.Errorf("changing %s breaks the file: %w", key, err)
	}
	return out, nil
}

// Said is what a configuration says for a key: the literal as it is written; false
// where it says nothing, or cannot be read.
func Said(text string, path []string) (literal string, ok bool) {
	s := readTOML(text)
	if s.failed != nil {
		return "", false
	}
	at := s.find(path)
	if at == nil {
		return "", false
	}
	return text[at.value:at.end], true
}

// LineIn says whether a line of a configuration, from 1, belongs to a key's value.
func LineIn(text string, path []string, line int) bool {
	s := readTOML(text)
	at := s.find(path)
	if at == nil {
		return false
	}
	first := 1 + strings.Count(text[:at.start], "\n")
	last := first + strings.Count(text[at.start:at.end], "\n")
	return first <= line && line <= last
}

// find is the assignment of a key, nil where there is none.
func (s *scanner) find(path []string) *assigned {
	for n := range s.said {
		if slices.Equal(s.said[n].path, path) {
			return &s.said[n]
		}
	}
	return nil
}

func (s *scanner) ofArray(path []string) bool {
	return slices.ContainsFunc(s.headers, func(h tableHeader) bool {
		return h.array && slices.Equal(h.path[:len(h.path)-1], path)
	})
}

// insert puts a key after what its table says last, or its table at the end.
func (s *scanner) insert(path []string, value string) string {
	table := path[:len(path)-1]
	after, indent, from := -1, "", 0
	for n, h := range s.headers {
		if slices.Equal(h.path, table) && !h.array {
			after, from = h.end, len(table)
			if last := s.lastOf(n); last != nil {
				after, indent = last.end, s.indentAt(last.start)
			}
		}
	}
	if after < 0 { // a table that is there by dotted keys alone
		for _, a := range s.said {
			if !a.inline && len(a.path) > len(table) && slices.Equal(a.path[:len(table)], table) {
				if base := s.base(a.section); len(base) < len(table) {
					after, indent, from = a.end, s.indentAt(a.start), len(base)
				}
			}
		}
	}

	var names []string
	for _, name := range path[max(from, 0):] {
		names = append(names, quoteKey(name))
	}
	end := "\n"
	if strings.Contains(s.text, "\r\n") {
		end = "\r\n"
	}
	if after < 0 {
		var parts []string
		for _, name := range table {
			parts = append(parts, quoteKey(name))
		}
		text := s.text
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += end
		}
		if text != "" {
			text += end
		}
		return text + "[" + strings.Join(parts, ".") + "]" + end + quoteKey(path[len(path)-1]) + " = " + value + end
	}
	line := indent + strings.Join(names, ".") + " = " + value
	if eol := strings.IndexByte(s.text[after:], '\n'); eol >= 0 {
		at := after + eol + 1
		return s.text[:at] + line + end + s.text[at:]
	}
	return s.text + end + line + end
}

// base is the path of the table of a section.
func (s *scanner) base(section int) []string {
	if section < 0 {
		return nil
	}
	return s.headers[section].path
}

// lastOf is the last assignment of a section.
func (s *scanner) lastOf(section int) (last *assigned) {
	for n := range s.said {
		if s.said[n].section == section && !s.said[n].inline {
			last = &s.said[n]
		}
	}
	return last
}

// indentAt is what stands before an offset on its line.
func (s *scanner) indentAt(at int) string {
	return s.text[strings.LastIndexByte(s.text[:at], '\n')+1 : at]
}

// without is the text without the lines of an assignment, but for the comment at
// their end.
func (s *scanner) without(at *assigned) string {
	start, end := strings.LastIndexByte(s.text[:at.start], '\n')+1, len(s.text)
	if eol := strings.IndexByte(s.text[at.end:], '\n'); eol >= 0 {
		end = at.end + eol + 1
	}
	if rest := strings.TrimLeft(s.text[at.end:end], " \t"); strings.HasPrefix(rest, "#") {
		return s.text[:start] + s.indentAt(at.start) + rest + s.text[end:]
	}
	return s.text[:start] + s.text[end:]
}
