package proof

import "strings"

// text reads a string when one begins here.
func (l *lexer) text() bool {
	from := l.at
	switch l.lang {
	case "python":
		return l.pythonText(from)
	case "rust":
		return l.rustText(from)
	case "ruby":
		return l.rubyText(from)
	case "shell":
		return l.shellText(from)
	}
	c := l.src[l.at]
	switch {
	case c == '`' && l.lang == "go":
		l.at++
		l.to("`")
	case c == '`' && l.lang == "script":
		l.at++
		l.template()
	case c == '"' && l.lang == "java" && l.has(`"""`):
		l.at += 3
		l.to(`"""`)
	case c == '"' && l.lang == "java" && l.at > 0 && l.src[l.at-1] == '@':
		l.at++
		l.to(`"`)
	case c == 'R' && l.lang == "c" && l.peek(1) == '"':
		l.at += 2
		n := strings.IndexByte(string(l.src[l.at:min(len(l.src), l.at+20)]), '(')
		if n < 0 {
			l.at = from
			return false
		}
		l.to(")" + string(l.src[l.at:l.at+n]) + `"`)
	case c == '<' && l.lang == "php" && l.has("<<<"):
		return l.phpHeredoc(from)
	case c == '"' || c == '\'':
		if c == '\'' && l.lang == "c" && l.at > 0 && isWordByte(l.src[l.at-1]) && l.src[l.at-1] <= '9' {
			return false // a digit separator
		}
		l.at++
		l.quoted(c, l.lang == "php")
	case c == '/' && l.lang == "script" && l.regexBegins():
		l.at++
		l.regex()
	default:
		return false
	}
	l.add(text, from)
	return true
}

// quoted reads up to the closing quote. Most strings end with their line.
func (l *lexer) quoted(quote byte, lines bool) {
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == '\\':
			l.at += 2
		case c == quote:
			l.at++
			return
		case c == '\n' && !lines:
			l.broken = true
			return
		default:
			l.at++
		}
	}
	l.at = len(l.src)
	l.broken = true
}

// template reads a JavaScript template, with the code in it.
func (l *lexer) template() {
	for l.at < len(l.src) {
		switch {
		case l.src[l.at] == '\\':
			l.at += 2
		case l.src[l.at] == '`':
			l.at++
			return
		case l.has("${"):
			l.at += 2
			l.hole('`')
		default:
			l.at++
		}
	}
	l.at = len(l.src)
	l.broken = true
}

// hole skips the code in a string, strings in it among it.
func (l *lexer) hole(nested byte) {
	for depth := 1; l.at < len(l.src); {
		c := l.src[l.at]
		l.at++
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return
			}
		case '"', '\'':
			l.quoted(c, false)
		case nested:
			l.template()
		}
	}
}

// regexBegins tells a regular expression from a division by what stands before.
func (l *lexer) regexBegins() bool {
	for i := len(l.tokens) - 1; i >= 0; i-- {
		t := l.tokens[i]
		switch t.kind {
		case comment:
			continue
		case text:
			return false
		case word:
			switch string(l.src[t.from:t.to]) {
			case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "await", "yield", "if", "and", "or", "when", "unless", "while":
				return true
			}
			return false
		}
		c := l.src[t.from]
		return c != ')' && c != ']' && c != '}'
	}
	return true
}

func (l *lexer) regex() {
	for class := false; l.at < len(l.src); {
		c := l.src[l.at]
		l.at++
		switch {
		case c == '\\':
			l.at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n':
			l.at--
			l.broken = true
			return
		case c == '/' && !class:
			for l.at < len(l.src) && isWordByte(l.src[l.at]) {
				l.at++
			}
			return
		}
	}
	l.at = min(l.at, len(l.src))
}

func (l *lexer) pythonText(from int) bool {
	i := l.at
	for n := 0; n < 3 && i < len(l.src) && strings.IndexByte("rRbBuUfFtT", l.src[i]) >= 0; n++ {
		i++
	}
	if i >= len(l.src) || l.src[i] != '"' && l.src[i] != '\'' || i > l.at && l.at > 0 && isWordByte(l.src[l.at-1]) {
		return false
	}
	quote := l.src[i]
	l.at = i
	if triple := strings.Repeat(string(quote), 3); l.has(triple) {
		l.at += 3
		l.escapedTo(triple)
	} else {
		l.at++
		l.quoted(quote, false)
	}
	l.add(text, from)
	return true
}

// escapedTo goes behind an end that no backslash stands before.
func (l *lexer) escapedTo(end string) {
	for l.at < len(l.src) {
		switch {
		case l.src[l.at] == '\\':
			l.at += 2
		case l.has(end):
			l.at += len(end)
			return
		default:
			l.at++
		}
	}
	l.at = len(l.src)
	l.broken = true
}

func (l *lexer) rustText(from int) bool {
	c := l.src[l.at]
	i := l.at
	if c == 'b' || c == 'c' {
		i++
	}
	if i < len(l.src) && l.src[i] == 'r' {
		hashes := i + 1
		for hashes < len(l.src) && l.src[hashes] == '#' {
			hashes++
		}
		if hashes < len(l.src) && l.src[hashes] == '"' {
			l.at = hashes + 1
			l.to(`"` + strings.Repeat("#", hashes-i-1))
			l.add(text, from)
			return true
		}
	}
	switch {
	case i < len(l.src) && l.src[i] == '"':
		l.at = i + 1
		l.quoted('"', true)
	case i < len(l.src) && l.src[i] == '\'' && l.charAt(i):
		l.at = i + 1
		l.quoted('\'', false)
	case c == '\'': // a lifetime
		l.at++
		for l.at < len(l.src) && isWordByte(l.src[l.at]) {
			l.at++
		}
		l.add(word, from)
		return true
	default:
		return false
	}
	l.add(text, from)
	return true
}

// charAt tells a character from a lifetime.
func (l *lexer) charAt(i int) bool {
	if i+2 >= len(l.src) {
		return false
	}
	if l.src[i+1] == '\\' {
		return true
	}
	for n := 2; n <= 5 && i+n < len(l.src); n++ {
		if l.src[i+n] == '\'' {
			return n == 2 || l.src[i+1] >= 0x80
		}
	}
	return false
}

func (l *lexer) rubyText(from int) bool {
	c := l.src[l.at]
	switch {
	case c == '"' || c == '\'' || c == '`':
		l.at++
		l.quoted(c, true)
	case c == '%' && l.percent():
	case c == '<' && l.has("<<") && l.rubyHeredoc():
	case c == '/' && l.regexBegins() && l.peek(1) != ' ':
		l.at++
		l.regex()
	default:
		return false
	}
	l.add(text, from)
	return true
}

// percent reads Ruby's %w[…] and its kin.
func (l *lexer) percent() bool {
	i := 1
	if strings.IndexByte("qQwWiIrsx", l.peek(1)) >= 0 {
		i++
	} else if !l.regexBegins() {
		return false
	}
	open := l.peek(i)
	closing := map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>', '|': '|', '!': '!'}[open]
	if closing == 0 || i == 1 && open == '<' {
		return false
	}
	l.at += i + 1
	for depth := 1; l.at < len(l.src); {
		c := l.src[l.at]
		l.at++
		switch {
		case c == '\\':
			l.at++
		case c == closing:
			if depth--; depth == 0 {
				return true
			}
		case c == open:
			depth++
		}
	}
	l.at = len(l.src)
	l.broken = true
	return true
}

func (l *lexer) rubyHeredoc() bool {
	i := 2
	indent := l.peek(i) == '~' || l.peek(i) == '-'
	if indent {
		i++
	}
	quote := l.peek(i)
	if quote == '\'' || quote == '"' {
		i++
	} else if quote < 'A' || quote > 'Z' {
		return false
	}
	return l.heredoc(i, indent)
}

// heredoc notes the end that begins n bytes on.
func (l *lexer) heredoc(n int, indent bool) bool {
	start := l.at + n
	end := start
	for end < len(l.src) && isWordByte(l.src[end]) {
		end++
	}
	if end == start {
		return false
	}
	l.heredocs = append(l.heredocs, heredoc{string(l.src[start:end]), indent})
	if end < len(l.src) && (l.src[end] == '\'' || l.src[end] == '"') {
		end++
	}
	l.at = end
	return true
}

func (l *lexer) phpHeredoc(from int) bool {
	n := 3
	for l.peek(n) == ' ' {
		n++
	}
	if c := l.peek(n); c == '\'' || c == '"' {
		n++
	}
	if !l.heredoc(n, true) {
		return false
	}
	l.add(text, from)
	return true
}

func (l *lexer) shellText(from int) bool {
	c := l.src[l.at]
	switch {
	case c == '\\' && l.peek(1) != 0:
		l.at += 2
	case c == '\'':
		l.at++
		l.to("'")
	case c == '"':
		l.at++
		l.quoted('"', true)
	case c == '<' && l.has("<<") && !l.has("<<<"):
		n := 2
		indent := l.peek(n) == '-'
		if indent {
			n++
		}
		for l.peek(n) == ' ' || l.peek(n) == '\'' || l.peek(n) == '"' || l.peek(n) == '\\' {
			n++
		}
		if !l.heredoc(n, indent) {
			return false
		}
	default:
		return false
	}
	l.at = min(l.at, len(l.src))
	l.add(text, from)
	return true
}

// bytes of a token.
func (s *source) bytes(t token) []byte { return s.src[t.from:min(int(t.to), len(s.src))] }

// word is the text of token i, "" when there is none or it is no word or punct.
func (s *source) word(i int) string {
	if i < 0 || i >= len(s.tokens) || s.tokens[i].kind == text || s.tokens[i].kind == comment {
		return ""
	}
	return string(s.bytes(s.tokens[i]))
}

// inner is what a string token holds, escapes as they are written.
func (s *source) inner(t token) string {
	raw := string(s.bytes(t))
	raw = strings.TrimLeft(raw, "rRbBuUfFtTcL#$@%")
	for _, quote := range []string{`"""`, "'''", `"`, "'", "`", "/"} {
		if rest, ok := strings.CutPrefix(raw, quote); ok {
			return strings.TrimSuffix(strings.TrimRight(rest, "#"), quote)
		}
	}
	return raw
}

// code drops comments.
func (s source) code() source {
	kept := make([]token, 0, len(s.tokens))
	for _, t := range s.tokens {
		if t.kind != comment {
			kept = append(kept, t)
		}
	}
	s.tokens = kept
	return s
}
