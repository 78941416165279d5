package text

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Harmless makes text from elsewhere safe to show on a terminal: what would
// move the cursor, change colours or turn the writing direction is shown as
// text. Line ends and tabs stay.
func Harmless(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(shown(r, text[i:i+n]))
		i += n
	}
	return b.String()
}

func shown(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1, r < ' ' && r != '\n' && r != '\t', r == 0x7f:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\u200d': // joins emoji
	case unicode.IsControl(r) && r >= 0x80, unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}
	return raw
}

// OneLine is harmless text on one line of at most n runes.
func OneLine(text string, n int) string {
	text = strings.Join(strings.Fields(Harmless(text)), " ")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// FirstLine is the first line of text, of at most this many runes and a mark
// that there was more. It is not made harmless.
func FirstLine(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

// HarmlessWriter passes on what is written to it as harmless text. Flush has to
// be called at the end.
type HarmlessWriter struct {
	To   io.Writer // what is harmless is written here
	held []byte
}

// Write holds back at most the start of a character or of a line end.
func (w *HarmlessWriter) Write(p []byte) (int, error) {
	text := append(w.held, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) || text[at] == '\r' {
				whole = at
			}
			break
		}
	}
	w.held = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.To, Harmless(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back.
func (w *HarmlessWriter) Flush() error {
	held := w.held
	w.held = nil
	_, err := io.WriteString(w.To, Harmless(string(held)))
	return err
}
