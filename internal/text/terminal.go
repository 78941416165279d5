package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Harmless makes text from elsewhere safe to show on a terminal: what nobody
// sees, and what would move the cursor, change colours or turn the writing
// direction, is spelled out as in Go. Line ends, tabs and emoji stay.
func Harmless(text string) string {
	var e inEmoji
	return harmless(text, &e)
}

func harmless(text string, e *inEmoji) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		raw := text[i : i+n]
		i += n
		part := e.has(r)
		switch {
		case r == utf8.RuneError && n == 1, r < ' ' && r != '\n' && r != '\t', r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, raw[0])
		case part || r == '\n' || r == '\t' || !Invisible(r):
			b.WriteString(raw)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Visible spells out what nobody sees in text, parts of an emoji too, in
// brackets that source code does not hold: an invisible character in code is for
// a reviewer to find. Line ends and tabs stay.
func Visible(text string) string { return string(AppendVisible(nil, []byte(text))) }

// AppendVisible appends text as Visible shows it.
func AppendVisible(to, text []byte) []byte {
	for len(text) > 0 {
		seen := bytes.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' })
		if seen < 0 {
			return append(to, text...)
		}
		to, text = append(to, text[:seen]...), text[seen:]

		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			to = fmt.Appendf(to, "⟦0x%02X⟧", text[0])
		case r != '\n' && r != '\t' && Invisible(r):
			to = fmt.Appendf(to, "⟦U+%04X⟧", r)
		default:
			to = append(to, text[:n]...)
		}
		text = text[n:]
	}
	return to
}

// HarmlessLine is harmless text on one line; white space of any length is one
// space.
func HarmlessLine(text string) string { return strings.Join(strings.Fields(Harmless(text)), " ") }

// OneLine is HarmlessLine in at most most characters.
func OneLine(text string, most int) string { return clipRunes(HarmlessLine(text), most) }

// FirstLine is the first line of text, harmless, of at most most characters.
func FirstLine(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clipRunes(Harmless(strings.TrimSpace(line)), most)
}

// HarmlessWriter passes on what is written to it as harmless text. Flush has to
// be called at the end.
type HarmlessWriter struct {
	To   io.Writer // what is harmless is written here
	held []byte
	seen inEmoji
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
	if _, err := io.WriteString(w.To, harmless(string(text[:whole]), &w.seen)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back.
func (w *HarmlessWriter) Flush() error {
	held := w.held
	w.held = nil
	_, err := io.WriteString(w.To, harmless(string(held), &w.seen))
	return err
}
