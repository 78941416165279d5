package text

import (
	"fmt"
	"regexp"
	"strings"
)

// gap is a zero-width space: it parts what a host would take for a whole, and
// changes nothing for who reads it.
const gap = "\u200b"

// What hosts act on within a line. Each is broken by a gap behind its first
// part.
var (
	// A word that closes or links an issue, before anything that may name one.
	closing = Lazy(`(?i)\b(c|f|r|i|d|b)(los(?:e|es|ed|ing)|ix(?:es|ed|ing)?|esolv(?:e|es|ed|ing)|mplement(?:s|ed|ing)?|eopen(?:s|ed|ing)?|epends on|lock(?:s|ed by)|elate[sd]? to)([:\s]+[\w./-]*(?:[#!&@]|\w+:|[a-z]\w*-\d))`)
	schemes = Lazy(`:(//)`)
	// A mention, an issue, a merge request, an epic, a label, a milestone.
	references = Lazy(`([@#!&%~^])([\pL\pN_\[{"])`)
	tickets    = Lazy(`(?i)\b([a-z][a-z0-9_]*)-(\d)`)
	hashes     = Lazy(`(?i)[0-9a-f]{7,}`)
	wwwNames   = Lazy(`(?i)\b(www)\.`)
	// What follows the line may be a colon.
	emoji      = Lazy(`:([\w+-]+)(:|$)`)
	leadNumber = Lazy(`^(\d+)([.)])`)
)

// part breaks what hosts act on in a line that holds no gap.
func part(line string) string {
	line = closing().ReplaceAllString(line, "${1}"+gap+"${2}${3}")
	line = twice(line, emoji(), ":"+gap+"${1}${2}")
	line = schemes().ReplaceAllString(line, ":"+gap+"${1}")
	line = wwwNames().ReplaceAllString(line, "${1}"+gap+".")
	line = twice(line, references(), "${1}"+gap+"${2}")
	line = twice(line, tickets(), "${1}-"+gap+"${2}")
	return hashes().ReplaceAllStringFunc(line, apart)
}

// apart breaks what may be the name of a commit into pieces that are too short
// for one.
func apart(hash string) string {
	var b strings.Builder
	for len(hash) > 6 {
		b.WriteString(hash[:6] + gap)
		hash = hash[6:]
	}
	return b.String() + hash
}

// twice replaces what begins with the end of what was replaced as well.
func twice(line string, what *regexp.Regexp, by string) string {
	return what.ReplaceAllString(what.ReplaceAllString(line, by), by)
}

// Inline is words of others in one line of Markdown: it reads the same, and
// mentions nobody, closes nothing, links nowhere, commands nothing and is no
// markup.
func Inline(words string) Markdown {
	line := part(PlainLine(words))
	var b strings.Builder
	for _, r := range line {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]|~$!#^", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	out := leadNumber().ReplaceAllString(b.String(), `${1}\${2}`)
	return Markdown{atStart(out)}
}

// atStart parts what would be a list, a rule, a heading or a command at the
// beginning of a line.
func atStart(line string) string {
	if line != "" && strings.ContainsAny(line[:1], "/-+=:#") {
		return gap + line
	}
	return line
}

// Title is words of others where a host shows a line as it is: the title of a
// pull request, the first line of a commit. Only Titled makes one.
type Title struct{ s string }

// String is the title to post.
func (t Title) String() string { return t.s }

// Titled is a title: the program's own words with those of others in them.
func Titled(words own, args ...any) Title { return Title{Line(fmt.Sprintf(string(words), args...))} }

var lone = Lazy(`(^|[^\pL\pN])_|_($|[^\pL\pN])`)

// Line is words of others in one line for whoever shows it as it is, or renders
// it in a way that nobody here knows: nothing in it acts, and no sign stands in
// it that was not there but gaps and look-alikes.
func Line(words string) string {
	line := part(PlainLine(words))
	line = strings.NewReplacer("<", "‹", ">", "›", "`", "'", "*", "∗", "~", "∼", "[", "［", "]", "］", "|", "¦", "\\", "＼").Replace(line)
	line = twice(line, lone(), "${1}＿${2}")
	line = leadNumber().ReplaceAllString(line, "${1}"+gap+"${2}")
	return atStart(line)
}
