package symphony

import (
	"fmt"
	"strings"
)

// A template is a text with {{ values }} and {% tags %}, in the part of Liquid that
// prompts use: if, elsif, else, unless, case, for, assign, comment and raw. It is
// strict: a variable, a filter or a tag that is not known is an error, never
// nothing.

// TemplateError is what is wrong with a template.
type TemplateError struct {
	Class Class // TemplateParse or TemplateRender
	Line  int
	What  string
}

// Error is class, line and what is wrong.
func (e *TemplateError) Error() string {
	return fmt.Sprintf("%s: line %d: %s", e.Class, e.Line, e.What)
}

// Template is one that can be parsed.
type Template struct{ body []node }

// node is a part of a template.
type node struct {
	kind nodeKind
	line int
	text string // of nodeText; the name of nodeFor and nodeAssign
	expr filtered
	// arms are those of if, unless and case; body and other those of for.
	arms  []arm
	body  []node
	other []node
	most  *operand // limit of a for, nil = none
	back  bool     // a for goes backwards
}

type nodeKind int

const (
	nodeText nodeKind = iota
	nodeValue
	nodeIf
	nodeCase
	nodeFor
	nodeAssign
)

// arm is what stands behind one condition; without any it is taken always.
type arm struct {
	line int
	when *condition
	not  bool
	body []node
	is   []operand // of a case
}

// Bounds of a template.
const (
	maxNesting = 40
	maxNodes   = 20_000
)

// piece is a part between delimiters.
type piece struct {
	kind byte // 0 = text, '{' = value, '%' = tag
	text string
	line int
}

// pieces cuts a source at its delimiters.
func pieces(source string) ([]piece, error) {
	var out []piece
	line := 1
	trim := false // what follows begins without white space
	for source != "" {
		at := strings.Index(source, "{{")
		if tag := strings.Index(source, "{%"); at < 0 || tag >= 0 && tag < at {
			at = tag
		}
		plain := source
		if at >= 0 {
			plain = source[:at]
		}
		begun := line
		line += strings.Count(plain, "\n")
		if trim {
			plain, trim = strings.TrimLeft(plain, " \t\r\n"), false
		}
		if at < 0 {
			return append(out, piece{0, plain, begun}), nil
		}
		kind := source[at+1]
		end, inner := map[byte]string{'{': "}}", '%': "%}"}[kind], source[at+2:]
		if strings.HasPrefix(inner, "-") {
			plain, inner = strings.TrimRight(plain, " \t\r\n"), inner[1:]
		}
		if plain != "" {
			out = append(out, piece{0, plain, begun})
		}
		stop := closing(inner, end)
		if stop < 0 {
			return nil, &TemplateError{TemplateParse, line, "a " + source[at:at+2] + " has no " + end}
		}
		body := inner[:stop]
		source = inner[stop+2:]
		opened := line
		line += strings.Count(body, "\n")
		if cut, ok := strings.CutSuffix(body, "-"); ok {
			body, trim = cut, true
		}
		p := piece{kind, strings.TrimSpace(body), opened}
		if kind == '%' && p.text == "raw" {
			stop, after := endOf(source, "endraw")
			if stop < 0 {
				return nil, &TemplateError{TemplateParse, opened, "raw has no endraw"}
			}
			out = append(out, piece{0, source[:stop], line})
			line += strings.Count(source[:after], "\n")
			source = source[after:]
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

// closing is where a delimiter ends that is not within quotes; -1 = nowhere.
func closing(inner, end string) int {
	var quote byte
	for i := 0; i+1 < len(inner); i++ {
		switch c := inner[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case inner[i:i+2] == end:
			return i
		}
	}
	return -1
}

// endOf finds a tag of one word: where it begins, and where it is over.
func endOf(source, word string) (at, after int) {
	for from := 0; ; {
		n := strings.Index(source[from:], "{%")
		if n < 0 {
			return -1, -1
		}
		at = from + n
		end := strings.Index(source[at+2:], "%}")
		if end < 0 {
			return -1, -1
		}
		if strings.Trim(source[at+2:at+2+end], "- \t\r\n") == word {
			return at, at + 2 + end + 2
		}
		from = at + 2
	}
}

// templateParser reads pieces into nodes.
type templateParser struct {
	all   []piece
	at    int
	nodes int
}

// ParseTemplate reads a template. The error is a *TemplateError.
func ParseTemplate(source string) (*Template, error) {
	all, err := pieces(source)
	if err != nil {
		return nil, err
	}
	p := &templateParser{all: all}
	body, stop, err := p.block(0)
	if err != nil {
		return nil, err
	}
	if stop != nil {
		return nil, wrong(stop.line, "%s stands where nothing is open", stop.text)
	}
	return &Template{body}, nil
}

func wrong(line int, format string, args ...any) error {
	return &TemplateError{TemplateParse, line, fmt.Sprintf(format, args...)}
}

// block reads up to a tag that ends it or begins another arm, which is returned.
func (p *templateParser) block(depth int) (body []node, stop *piece, err error) {
	for p.at < len(p.all) {
		now := p.all[p.at]
		p.at++
		if p.nodes++; p.nodes > maxNodes || depth > maxNesting {
			return nil, nil, wrong(now.line, "the template is too large")
		}
		switch now.kind {
		case 0:
			body = append(body, node{kind: nodeText, line: now.line, text: now.text})
		case '{':
			e, err := parseFiltered(now.text, now.line)
			if err != nil {
				return nil, nil, err
			}
			body = append(body, node{kind: nodeValue, line: now.line, expr: e})
		default:
			word, rest, _ := strings.Cut(now.text, " ")
			switch word {
			case "elsif", "else", "endif", "endunless", "when", "endcase", "endfor":
				return body, &now, nil
			}
			n, skip, err := p.tag(word, strings.TrimSpace(rest), now.line, depth+1)
			if err != nil {
				return nil, nil, err
			}
			if !skip {
				body = append(body, n)
			}
		}
	}
	return body, nil, nil
}

// tag reads one that begins something; skip says that nothing is left of it.
func (p *templateParser) tag(word, rest string, line, depth int) (n node, skip bool, err error) {
	n.line = line
	switch word {
	case "comment":
		return n, true, p.comment(line)
	case "assign":
		name, value, ok := strings.Cut(rest, "=")
		if n.text = strings.TrimSpace(name); !ok || !isName(n.text) {
			return n, false, wrong(line, "write assign name = value")
		}
		n.kind = nodeAssign
		n.expr, err = parseFiltered(strings.TrimSpace(value), line)
		return n, false, err
	case "if", "unless":
		n.kind = nodeIf
		return n, false, p.ifTag(&n, word, rest, depth)
	case "case":
		n.kind = nodeCase
		if n.expr, err = parseFiltered(rest, line); err != nil {
			return n, false, err
		}
		return n, false, p.caseTag(&n, depth)
	case "for":
		n.kind = nodeFor
		return n, false, p.forTag(&n, rest, depth)
	}
	return n, false, wrong(line, "the tag %s is not known", quoted(word))
}

func (p *templateParser) comment(line int) error {
	for depth := 1; p.at < len(p.all); {
		now := p.all[p.at]
		p.at++
		switch {
		case now.kind == '%' && now.text == "comment":
			depth++
		case now.kind == '%' && now.text == "endcomment":
			if depth--; depth == 0 {
				return nil
			}
		}
	}
	return wrong(line, "comment has no endcomment")
}

func (p *templateParser) ifTag(n *node, word, rest string, depth int) error {
	when, err := parseCondition(rest, n.line)
	if err != nil {
		return err
	}
	now := arm{line: n.line, when: when, not: word == "unless"}
	for last := false; ; {
		body, stop, err := p.block(depth)
		if err != nil {
			return err
		}
		if stop == nil {
			return wrong(n.line, "%s has no end%s", word, word)
		}
		now.body = body
		n.arms = append(n.arms, now)
		tag, rest, _ := strings.Cut(stop.text, " ")
		switch {
		case tag == "end"+word:
			return nil
		case tag == "elsif" && !last:
			if when, err = parseCondition(strings.TrimSpace(rest), stop.line); err != nil {
				return err
			}
			now = arm{line: stop.line, when: when}
		case tag == "else" && !last:
			now, last = arm{line: stop.line}, true
		default:
			return wrong(stop.line, "%s does not belong to the %s of line %d", tag, word, n.line)
		}
	}
}

func (p *templateParser) caseTag(n *node, depth int) error {
	for begun, last := false, false; ; begun = true {
		body, stop, err := p.block(depth)
		if err != nil {
			return err
		}
		if stop == nil {
			return wrong(n.line, "case has no endcase")
		}
		if begun {
			n.arms[len(n.arms)-1].body = body
		}
		tag, rest, _ := strings.Cut(stop.text, " ")
		switch {
		case tag == "endcase":
			return nil
		case tag == "when" && !last:
			is, err := parseList(strings.TrimSpace(rest), stop.line)
			if err != nil {
				return err
			}
			n.arms = append(n.arms, arm{line: stop.line, is: is})
		case tag == "else" && !last:
			n.arms, last = append(n.arms, arm{line: stop.line}), true
		default:
			return wrong(stop.line, "%s does not belong to the case of line %d", tag, n.line)
		}
	}
}

func (p *templateParser) forTag(n *node, rest string, depth int) error {
	l, err := newLexer(rest, n.line)
	if err != nil {
		return err
	}
	if n.text = l.take(tokenName); n.text == "" || l.take(tokenName) != "in" {
		return wrong(n.line, "write for name in list")
	}
	over, err := l.operand()
	if err != nil {
		return err
	}
	n.expr = filtered{of: over}
	for !l.done() {
		switch word := l.take(tokenName); word {
		case "reversed":
			n.back = true
		case "limit":
			if l.take(tokenMark) != ":" {
				return wrong(n.line, "write limit: number")
			}
			most, err := l.operand()
			if err != nil {
				return err
			}
			n.most = &most
		default:
			return wrong(n.line, "for takes limit and reversed alone")
		}
	}
	body, stop, err := p.block(depth)
	if err != nil {
		return err
	}
	n.body = body
	if stop != nil && stop.text == "else" {
		if n.other, stop, err = p.block(depth); err != nil {
			return err
		}
	}
	if stop == nil || stop.text != "endfor" {
		return wrong(n.line, "for has no endfor")
	}
	return nil
}
