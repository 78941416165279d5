package postgres

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// translated is a query of the journal in Postgres's words. The journal writes
// SQL that both read, but for what stands here.
func (s *Server) translated(query string) string {
	if text, known := s.texts.Load(query); known {
		return text.(string)
	}
	text := numbered(query)
	// SQLite joins in the order that CROSS JOIN says; Postgres knows better.
	text = strings.ReplaceAll(text, "CROSS JOIN", "JOIN")
	text = lists.ReplaceAllString(text, `json_array_elements_text(${1}::text::json) asked(value)`)
	text = fields.ReplaceAllString(text, `${1}.record::json ->>`)
	// SQLite's LIKE takes a letter for the same in either case, of ASCII, as
	// ILIKE does with the collation C.
	text = strings.ReplaceAll(text, " LIKE ", " ILIKE ")
	s.texts.Store(query, text)
	return text
}

var (
	lists  = regexp.MustCompile(`json_each\((\$\d+)\) asked`)
	fields = regexp.MustCompile(`\b(\w+)\.record ->>`)
)

// numbered gives placeholders their numbers: ?3 is $3, and the third ? too.
func numbered(query string) string {
	var b strings.Builder
	next, quoted := 0, false
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c != '?' || quoted:
			b.WriteByte(c)
		case i+1 < len(query) && query[i+1] >= '1' && query[i+1] <= '9':
			b.WriteByte('$')
		default:
			next++
			b.WriteString("$" + strconv.Itoa(next))
		}
	}
	return b.String()
}

// A text of Postgres has no zero byte and is UTF-8. What else a text may hold is
// written as this rune and two digits for each byte; the rune itself as well.
const escape = '␀'

// storable is a text as Postgres takes it; stored turns it back.
func storable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsAny(text, "\x00"+string(escape)) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == 0 || r == escape || r == utf8.RuneError && size == 1 {
			for _, c := range []byte(text[:size]) {
				fmt.Fprintf(&b, "%c%02x", escape, c)
			}
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

func stored(text string) string {
	if !strings.ContainsRune(text, escape) {
		return text
	}
	parts := strings.Split(text, string(escape))
	b := []byte(parts[0])
	for _, part := range parts[1:] {
		n, err := strconv.ParseUint(part[:min(2, len(part))], 16, 8)
		if err != nil || len(part) < 2 {
			return text // nobody stored it so
		}
		b = append(append(b, byte(n)), part[2:]...)
	}
	return string(b)
}
