package pullrequest

import (
	"strings"
	"unicode/utf8"

	"forge/internal/text"
)

// paperWidth is how wide a document is set on a terminal.
const paperWidth = 92

var (
	paperHeading = text.Lazy(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	paperItem    = text.Lazy(`^(\s*)(?:[-*+]|(\d{1,4}[.)]))\s+(.*)$`)
	paperRule    = text.Lazy(`^\s{0,3}([-*_])(?:\s*([-*_]))(?:\s*([-*_]))[-*_\s]*$`)
	paperStrong  = text.Lazy(`(\*\*|__)(\S(?:.*?\S)?)(\*\*|__)`)
	paperLink    = text.Lazy(`!?\[([^\[\]]*)\]\(([^()\s]+)\)`)
)

// PaperText sets a Markdown document for reading on a terminal: headings stand
// out, paragraphs and items are wrapped, code and tables stay as they are. Its
// words are all shown, also what a page would hide.
func PaperText(text string) string {
	p := &setter{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		p.line(strings.ReplaceAll(line, "\t", "    "))
	}
	p.flush()
	return strings.Trim(p.out.String(), "\n")
}

// setter is a document that is being set.
type setter struct {
	out   strings.Builder
	words []string // of the paragraph or item that is going on
	lead  string   // before its first line
	under string   // before its further lines
	fence string   // that ends the code which is going on
	blank bool     // an empty line came last
}

func (p *setter) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case p.fence != "":
		if strings.HasPrefix(trimmed, p.fence) {
			p.fence = ""
			return
		}
		p.put("    " + line)
		return
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.flush()
		p.fence = trimmed[:3]
		return
	case trimmed == "":
		p.flush()
		if !p.blank {
			p.put("")
		}
		return
	case strings.HasPrefix(trimmed, "|"), paperRule().MatchString(line), len(p.words) == 0 && strings.HasPrefix(line, "    ") && !paperItem().MatchString(line):
		p.flush()
		p.put(strings.TrimRight(line, " "))
		return
	}
	if m := paperHeading().FindStringSubmatch(trimmed); m != nil {
		p.flush()
		p.heading(len(m[1]), inline(m[2]))
		return
	}
	if m := paperItem().FindStringSubmatch(line); m != nil {
		p.flush()
		mark := "-"
		if m[2] != "" {
			mark = m[2]
		}
		p.lead = m[1] + mark + " "
		p.under = strings.Repeat(" ", utf8.RuneCountInString(p.lead))
		p.words = []string{m[3]}
		return
	}
	if quote, ok := strings.CutPrefix(trimmed, ">"); ok {
		if p.lead != "> " {
			p.flush()
			p.lead, p.under = "> ", "> "
		}
		trimmed = strings.TrimSpace(quote)
	}
	p.words = append(p.words, trimmed)
}

func (p *setter) heading(level int, text string) {
	if p.out.Len() > 0 && !p.blank {
		p.put("")
	}
	p.put(text)
	if rule := map[int]string{1: "=", 2: "-"}[level]; rule != "" {
		p.put(strings.Repeat(rule, min(utf8.RuneCountInString(text), paperWidth)))
	}
}

// flush sets the paragraph or item that is going on.
func (p *setter) flush() {
	lead := p.lead
	if len(p.words) > 0 {
		for _, part := range text.Fold(inline(strings.Join(p.words, " ")), paperWidth-utf8.RuneCountInString(lead)) {
			p.put(lead + part)
			lead = p.under
		}
	}
	p.words, p.lead, p.under = nil, "", ""
}

func (p *setter) put(line string) {
	p.blank = line == ""
	p.out.WriteString(line + "\n")
}

// inline takes the marks of Markdown off a line, but no word of it.
func inline(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 { // what stands between two backticks is code
		parts[i] = paperStrong().ReplaceAllString(parts[i], "$2")
		parts[i] = paperLink().ReplaceAllString(parts[i], "$1 ($2)")
	}
	return strings.Join(parts, "`")
}
