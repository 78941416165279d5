package proof

import (
	"errors"
	"fmt"
	"strings"
)

// splitScript finds the blocks of in-source tests: if (import.meta.vitest) { … }
// at the top of a module. The same words elsewhere cannot be taken apart.
func splitScript(src []byte) (*split, error) {
	s := lex("script", src).code()
	out := &split{src: src, ends: map[string]int{"": len(src)}}
	if !strings.Contains(string(src), "vitest") {
		return out, nil
	}
	if s.broken {
		return nil, errors.New("a string or comment in it does not end")
	}
	depth := 0
	for i := 0; i < len(s.tokens); i++ {
		switch s.word(i) {
		case "{", "(", "[":
			depth++
		case "}", ")", "]":
			depth--
		case "vitest":
			if s.word(i-2) == "meta" {
				return nil, errors.New("import.meta.vitest stands elsewhere than around tests")
			}
		case "if":
			last := s.testBlock(i)
			if last < 0 {
				continue
			}
			if depth != 0 || s.word(last+1) == "else" {
				return nil, errors.New("import.meta.vitest stands elsewhere than around tests")
			}
			from, to := wholeLines(src, int(s.tokens[i].from), int(s.tokens[last].to))
			out.pieces = append(out.pieces, piece{from: from, to: to, key: "import.meta.vitest"})
			i = last
		}
	}
	if depth != 0 {
		return nil, errors.New("its brackets do not match")
	}
	out.number()
	return out, nil
}

// testBlock is the last token of if (import.meta.vitest) { … } at token i, -1
// where it is none.
func (s *source) testBlock(i int) int {
	for n, w := range []string{"if", "(", "import", ".", "meta", ".", "vitest", ")", "{"} {
		if s.word(i+n) != w {
			return -1
		}
	}
	depth := 0
	for i += 8; i < len(s.tokens); i++ {
		switch s.word(i) {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitPython finds the examples in docstrings.
func splitPython(src []byte) (*split, error) {
	all := lex("python", src)
	if all.broken {
		return nil, errors.New("a string in it does not end")
	}
	s := all.code()
	out := &split{src: src, ends: map[string]int{}}
	out.kept = func(n int, body string) string {
		return fmt.Sprintf("\n\ndef _kept_examples_%d():\n    \"\"\"\n%s    \"\"\"\n", n, body)
	}
	type level struct {
		indent int
		name   string
	}
	var stack []level
	for i, t := range s.tokens {
		if i > 0 && s.tokens[i-1].line == t.line && s.word(i-1) != "async" {
			continue
		}
		indent := 0
		for at := int(t.from) - 1; at >= 0 && src[at] != '\n'; at-- {
			indent++
		}
		if t.kind == word && (s.word(i) == "def" || s.word(i) == "class") {
			for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
				stack = stack[:len(stack)-1]
			}
			stack = append(stack, level{indent, s.word(i + 1)})
		}
		if t.kind != text || i > 0 && s.word(i-1) != ":" {
			continue
		}
		names := []string{"module"}
		for _, l := range stack {
			if i > 0 && l.indent < indent {
				names = append(names, l.name)
			}
		}
		out.docstring(s.bytes(t), int(t.from), strings.Join(names, "."))
	}
	out.number()
	return out, nil
}

// docstring finds the examples of one: from >>> to the next empty line.
func (s *split) docstring(raw []byte, at int, scope string) {
	body := string(raw)
	quote := strings.IndexAny(body, `"'`)
	width := 1
	if strings.HasPrefix(body[quote:], `"""`) || strings.HasPrefix(body[quote:], "'''") {
		width = 3
	}
	if len(body) < quote+2*width {
		return
	}
	from, end := quote+width, len(body)-width
	// Before the line of the closing quotes, where that holds nothing else.
	last := end
	for last > from && (body[last-1] == ' ' || body[last-1] == '\t') {
		last--
	}
	if last > from && body[last-1] != '\n' {
		last = end
	}
	s.ends[scope] = at + last
	begun := -1
	for start := from; start < end; {
		stop := end
		if n := strings.IndexByte(body[start:end], '\n'); n >= 0 {
			stop = start + n + 1
		}
		line := strings.TrimSpace(body[start:stop])
		switch {
		case begun < 0 && strings.HasPrefix(line, ">>>"):
			begun = start
		case begun >= 0 && line == "":
			s.pieces = append(s.pieces, piece{from: at + begun, to: at + start, key: scope + " example", scope: scope, example: true})
			begun = -1
		}
		start = stop
	}
	if begun >= 0 {
		s.pieces = append(s.pieces, piece{from: at + begun, to: at + last, key: scope + " example", scope: scope, example: true})
	}
}
