package config

import (
	"strconv"
	"strings"
)

// quoted reads a string of any of TOML's four kinds and returns its text. The
// scanner stands on the opening quote.
func (s *scanner) quoted() string {
	quote := s.text[s.pos]
	triple := strings.Repeat(string(quote), 3)
	if strings.HasPrefix(s.text[s.pos:], triple) {
		return s.multiline(quote, triple)
	}
	s.pos++
	start := s.pos
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == quote:
			raw := s.text[start:s.pos]
			s.pos++
			if quote == '"' {
				return unescape(raw)
			}
			return raw
		case c == '\n':
			s.fail("the string does not end on its line")
			return ""
		case c == '\\' && quote == '"' && s.pos+1 < len(s.text) && s.text[s.pos+1] != '\n':
			s.pos += 2
		default:
			s.pos++
		}
	}
	s.fail("the string does not end")
	return ""
}

// multiline skips a string in triple quotes. Its text is never a key, so it is
// not decoded.
func (s *scanner) multiline(quote byte, triple string) string {
	s.pos += 3
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case strings.HasPrefix(s.text[s.pos:], triple):
			s.pos += 3
			// Up to two quotes may stand directly before the closing three.
			for i := 0; i < 2 && s.peek() == quote; i++ {
				s.pos++
			}
			return ""
		case c == '\n':
			s.newline()
		case c == '\\' && quote == '"' && s.pos+1 < len(s.text) && s.text[s.pos+1] != '\n':
			s.pos += 2
		default:
			s.pos++
		}
	}
	s.fail("the string does not end")
	return ""
}

// unescape decodes the escapes of a basic string; what it does not know stays
// as it is, since the decoder refuses it anyway.
func unescape(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		if at := strings.IndexByte(`btnfre"\`, raw[i]); at >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b\"\\"[at])
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[i]]
		if digits > 0 && i+digits < len(raw) {
			if n, err := strconv.ParseUint(raw[i+1:i+1+digits], 16, 32); err == nil {
				b.WriteRune(rune(n))
				i += digits
				continue
			}
		}
		b.WriteByte('\\')
		b.WriteByte(raw[i])
	}
	return b.String()
}
