package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Short is the beginning of a commit or another hash, as people read it.
func Short(id string) string { return id[:min(len(id), 12)] }

// Table lays rows out in columns as wide as their widest cell.
func Table(head []string, rows [][]string) string {
	width := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, r := range all {
		for i, cell := range r {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, r := range all {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", width[i]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Indent sets every line of text four columns in.
func Indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// UpperFirst is text that begins with a capital letter.
func UpperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Fold breaks a line into parts of at most n runes, between words where it can.
func Fold(line string, n int) []string {
	var parts []string
	r := []rune(strings.ReplaceAll(line, "\t", "    "))
	for len(r) > n {
		at := n
		for i := n; i > n/2; i-- {
			if r[i] == ' ' {
				at = i
				break
			}
		}
		parts = append(parts, string(r[:at]))
		for r = r[at:]; len(r) > 0 && r[0] == ' '; {
			r = r[1:]
		}
	}
	return append(parts, string(r))
}
