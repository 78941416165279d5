package triage

import (
	"strings"

	"forge/internal/text"
)

// plain is words as a person would see them, at most most bytes of them.
func plain(words string, most int) string {
	seen, _ := text.Reveal(words)
	return text.Clip(strings.TrimSpace(seen), most)
}

// line is plain in one line.
func line(words string, most int) string {
	seen, _ := text.Reveal(words)
	return text.Clip(text.PlainLine(seen), most)
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
