package triage

import (
	"strings"
	"unicode/utf8"

	"forge/internal/text"
)

func reveal(words string) (string, int) { return text.Reveal(words) }

// plain is text as a person would see it, at most most bytes of it.
func plain(text string, most int) string {
	text, _ = reveal(strings.NewReplacer("\u2028", "\n", "\u2029", "\n").Replace(text))
	return clip(strings.TrimSpace(text), most)
}

// line is plain in one line.
func line(text string, most int) string {
	return plain(strings.Join(strings.Fields(plain(text, most)), " "), most)
}

// clip keeps the beginning of text and says that there was more.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := max(most-len("…"), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// lines are the lines of list that say something, at most most of them.
func lines(list []string, most, each int) []string {
	var out []string
	for _, text := range list {
		if text = line(text, each); text != "" && len(out) < most {
			out = append(out, text)
		}
	}
	return out
}
