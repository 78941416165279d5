package diff

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"

	texts "forge/internal/text"
)

// Bounds of what is coloured. The expressions of a lexer can be made to take
// their time by who writes the text, so that it also ends by the clock.
const (
	maxColourBytes = 256 << 10
	maxColourTime  = time.Second
)

// piece is a part of a line of one colour.
type piece struct {
	class string
	text  string
}

func join(all []piece) string {
	if len(all) == 1 {
		return all[0].text
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.text)
	}
	return b.String()
}

// colour splits text into coloured lines; false where it is not coloured.
func colour(path string, text []byte) (lines [][]piece, ok bool) {
	if len(text) == 0 || len(text) > maxColourBytes || !utf8.Valid(text) {
		return nil, false
	}
	lexer := lexers().Match(lastName(path))
	if lexer == nil {
		return nil, false
	}
	// A lexer that cannot cope with a text leaves it without colours.
	defer func() {
		if recover() != nil {
			lines, ok = nil, false
		}
	}()
	iterator, err := chroma.Coalesce(lexer).Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, string(text))
	if err != nil {
		return nil, false
	}
	stop := time.Now().Add(maxColourTime)
	at := []piece{}
	for t := iterator(); t != chroma.EOF; t = iterator() {
		if time.Now().After(stop) {
			return nil, false
		}
		class := classOf(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				lines, at = append(lines, at), []piece{}
			}
			if part != "" {
				at = append(at, piece{class, part})
			}
		}
	}
	return append(lines, at), true
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// classOf is one of few classes: the style sheet has a colour for each.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "tc"
	case t.InCategory(chroma.Keyword):
		return "tk"
	case t.InSubCategory(chroma.LiteralString):
		return "ts"
	case t.InSubCategory(chroma.LiteralNumber):
		return "tn"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return "tf"
	case t == chroma.NameBuiltin, t == chroma.NameAttribute, t == chroma.NameDecorator, t == chroma.NameConstant:
		return "tb"
	}
	return ""
}

// markup writes a line as HTML with the bytes from..to marked.
func markup(pieces []piece, from, to int) template.HTML {
	var b strings.Builder
	at := 0
	for _, p := range pieces {
		end := at + len(p.text)
		lo, hi := min(max(from, at), end), min(max(to, at), end)
		if lo >= hi {
			write(&b, p.class, p.text)
		} else {
			write(&b, p.class, p.text[:lo-at])
			b.WriteString("<mark>")
			write(&b, p.class, p.text[lo-at:hi-at])
			b.WriteString("</mark>")
			write(&b, p.class, p.text[hi-at:])
		}
		at = end
	}
	return template.HTML(b.String()) //nolint:gosec // every text went through visible
}

func write(b *strings.Builder, class, text string) {
	switch {
	case text == "":
	case class == "":
		b.WriteString(visible(text))
	default:
		b.WriteString(`<span class="` + class + `">` + visible(text) + `</span>`)
	}
}

// maxLine is how many bytes of one line are shown.
const maxLine = 4000

// visible escapes text and shows what a person would not see: a character that
// turns the direction of writing or has no width can make code read as what it
// is not.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		if i >= maxLine {
			fmt.Fprintf(&b, `<span class="odd-char">and %d bytes more in this line</span>`, len(text)-i)
			break
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				fmt.Fprintf(&b, `<span class="odd-char">\x%02x</span>`, text[i])
				continue
			}
		}
		if r != '\t' && texts.Invisible(r) {
			fmt.Fprintf(&b, `<span class="odd-char" title="a character that is not seen">U+%04X</span>`, r)
			continue
		}
		b.WriteString(html.EscapeString(string(r)))
	}
	return b.String()
}
