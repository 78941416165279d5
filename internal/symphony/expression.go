package symphony

import (
	"strconv"
	"strings"
)

// operand is a value, or where one is found.
type operand struct {
	value any    // where path is empty
	path  []step // of a variable, from its name on
}

// step is one into a value: a name, or a position or name that is looked up.
type step struct {
	name string
	at   *operand // in brackets
}

// filtered is an operand with what is done to it.
type filtered struct {
	of      operand
	filters []filter
}

type filter struct {
	name string
	args []operand
}

// condition is a comparison, or several of them.
type condition struct {
	left  operand
	op    string // "" = left alone
	right operand
	join  string // "and" or "or" what next says; "" = there is no next
	next  *condition
}

type tokenKind int

const (
	tokenName tokenKind = iota
	tokenText
	tokenNumber
	tokenMark // anything else
)

type token struct {
	kind tokenKind
	text string
}

// lexer reads the tokens of an expression.
type lexer struct {
	all   []token
	at    int
	line  int
	depth int
}

func newLexer(source string, line int) (*lexer, error) {
	l := &lexer{line: line}
	for i := 0; i < len(source); {
		c := source[i]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		case c == '"' || c == '\'':
			end := strings.IndexByte(source[i+1:], c)
			if end < 0 {
				return nil, wrong(line, "a quote has no end")
			}
			l.all = append(l.all, token{tokenText, source[i+1 : i+1+end]})
			i += end + 2
		case isDigit(c) || c == '-' && i+1 < len(source) && isDigit(source[i+1]):
			end := i + 1
			for end < len(source) && (isDigit(source[end]) || source[end] == '.' && end+1 < len(source) && isDigit(source[end+1])) {
				end++
			}
			l.all = append(l.all, token{tokenNumber, source[i:end]})
			i = end
		case isLetter(c):
			end := i + 1
			for end < len(source) && (isLetter(source[end]) || isDigit(source[end]) || source[end] == '-') {
				end++
			}
			if end < len(source) && source[end] == '?' {
				end++
			}
			l.all = append(l.all, token{tokenName, source[i:end]})
			i = end
		default:
			size := 1
			if i+1 < len(source) {
				switch source[i : i+2] {
				case "==", "!=", "<>", "<=", ">=":
					size = 2
				}
			}
			l.all = append(l.all, token{tokenMark, source[i : i+size]})
			i += size
		}
	}
	return l, nil
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func isName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func (l *lexer) done() bool { return l.at >= len(l.all) }

func (l *lexer) peek() token {
	if l.done() {
		return token{kind: -1}
	}
	return l.all[l.at]
}

// take is the next token's text where it is of this kind, "" otherwise.
func (l *lexer) take(kind tokenKind) string {
	t := l.peek()
	if t.kind != kind {
		return ""
	}
	l.at++
	return t.text
}

func (l *lexer) mark(text string) bool {
	if t := l.peek(); t.kind == tokenMark && t.text == text {
		l.at++
		return true
	}
	return false
}

func (l *lexer) unexpected() error {
	if l.done() {
		return wrong(l.line, "something is missing at the end")
	}
	return wrong(l.line, "%s is not expected there", quoted(l.peek().text))
}

// operand reads one.
func (l *lexer) operand() (operand, error) {
	if l.depth++; l.depth > maxNesting {
		return operand{}, wrong(l.line, "it lies too deep")
	}
	defer func() { l.depth-- }()
	switch t := l.peek(); t.kind {
	case tokenText:
		l.at++
		return operand{value: t.text}, nil
	case tokenNumber:
		l.at++
		if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return operand{value: n}, nil
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return operand{}, wrong(l.line, "%s is no number", quoted(t.text))
		}
		return operand{value: f}, nil
	case tokenName:
		l.at++
		if v, ok := constant(t.text); ok {
			return operand{value: v}, nil
		}
		return l.path(t.text)
	}
	return operand{}, l.unexpected()
}

// blank is what the words blank and empty are compared with.
type blank struct{}

func constant(name string) (any, bool) {
	switch name {
	case "true":
		return true, true
	case "false":
		return false, true
	case "nil", "null":
		return nil, true
	case "blank", "empty":
		return blank{}, true
	}
	return nil, false
}

// path reads the steps behind a variable's name.
func (l *lexer) path(name string) (operand, error) {
	o := operand{path: []step{{name: name}}}
	for {
		switch {
		case l.mark("."):
			next := l.take(tokenName)
			if next == "" {
				return o, l.unexpected()
			}
			o.path = append(o.path, step{name: next})
		case l.mark("["):
			at, err := l.operand()
			if err != nil {
				return o, err
			}
			if !l.mark("]") {
				return o, l.unexpected()
			}
			o.path = append(o.path, step{at: &at})
		default:
			return o, nil
		}
	}
}

// parseFiltered reads a value with its filters. A filter that is not known is found
// here already.
func parseFiltered(source string, line int) (f filtered, err error) {
	l, err := newLexer(source, line)
	if err != nil {
		return f, err
	}
	if f.of, err = l.operand(); err != nil {
		return f, err
	}
	for l.mark("|") {
		one := filter{name: l.take(tokenName)}
		if one.name == "" {
			return f, l.unexpected()
		}
		if l.mark(":") {
			for more := true; more; more = l.mark(",") {
				arg, err := l.operand()
				if err != nil {
					return f, err
				}
				one.args = append(one.args, arg)
			}
		}
		f.filters = append(f.filters, one)
	}
	if !l.done() {
		return f, l.unexpected()
	}
	return f, nil
}

// parseCondition reads what follows if. As in Liquid, and and or are read from the
// right.
func parseCondition(source string, line int) (*condition, error) {
	l, err := newLexer(source, line)
	if err != nil {
		return nil, err
	}
	first := &condition{}
	for c := first; ; {
		if c.left, err = l.operand(); err != nil {
			return nil, err
		}
		if t := l.peek(); t.kind == tokenMark || t.kind == tokenName && t.text == "contains" {
			switch t.text {
			case "==", "!=", "<>", "<", ">", "<=", ">=", "contains":
			default:
				return nil, l.unexpected()
			}
			l.at++
			c.op = t.text
			if c.right, err = l.operand(); err != nil {
				return nil, err
			}
		}
		if l.done() {
			return first, nil
		}
		if c.join = l.take(tokenName); c.join != "and" && c.join != "or" {
			l.at = min(l.at, len(l.all)-1)
			return nil, wrong(line, "a condition goes on with and, or or not at all")
		}
		c.next = &condition{}
		c = c.next
	}
}

// parseList reads operands between commas or or.
func parseList(source string, line int) (all []operand, err error) {
	l, err := newLexer(source, line)
	if err != nil {
		return nil, err
	}
	for {
		one, err := l.operand()
		if err != nil {
			return nil, err
		}
		if all = append(all, one); l.done() {
			return all, nil
		}
		if !l.mark(",") && l.take(tokenName) != "or" {
			return nil, wrong(line, "write the values of when with commas between them")
		}
	}
}
