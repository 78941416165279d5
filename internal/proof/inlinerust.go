package proof

import (
	"errors"
	"fmt"
	"strings"
)

// rustFile walks over the items of a Rust file.
type rustFile struct {
	source // comments among the tokens: examples stand in them
	out    *split
	err    error
}

// splitRust finds what is for tests alone (cfg(test), test functions) among
// the items of a file, and the examples in its documentation.
func splitRust(src []byte) (*split, error) {
	s := lex("rust", src)
	if s.broken {
		return nil, errors.New("a string or comment in it does not end")
	}
	r := &rustFile{source: s, out: &split{src: src, ends: map[string]int{"": len(src)}}}
	r.out.kept = func(n int, body string) string {
		return strings.ReplaceAll(body, "//!", "///") + fmt.Sprintf("#[allow(dead_code)]\nstruct KeptExamples%d;\n", n)
	}
	if end := r.items(0, len(r.tokens), ""); r.err == nil && end != len(r.tokens) {
		r.err = errors.New("its brackets do not match")
	}
	r.out.number()
	return r.out, r.err
}

// items reads those from token i, up to the bracket that closes their scope.
func (r *rustFile) items(i, end int, scope string) int {
	for i < end && r.err == nil {
		if r.word(i) == "}" {
			return i
		}
		i = r.item(i, end, scope)
	}
	return i
}

// rustItem is what stands before an item's first word.
type rustItem struct {
	first  int // token
	docs   []int
	isTest bool
}

// item reads one with its attributes and documentation.
func (r *rustFile) item(i, end int, scope string) int {
	head := rustItem{first: i}
	var inner []int
	for i < end {
		t := r.tokens[i]
		switch {
		case t.kind == comment:
			c := string(r.bytes(t))
			switch {
			case strings.HasPrefix(c, "//!") || strings.HasPrefix(c, "/*!"):
				inner = append(inner, i)
				head.first = i + 1
			case isRustDoc(c):
				head.docs = append(head.docs, i)
			case i == head.first:
				head.first++
			}
			i++
			continue
		case r.word(i) == "#":
			open := i + 1
			isInner := r.word(open) == "!"
			if isInner {
				open++
			}
			closing := r.closing(open, end)
			if closing < 0 {
				r.err = errors.New("an attribute in it does not end")
				return end
			}
			r.attribute(open, closing, isInner, &head)
			if i = closing + 1; isInner {
				head.first = i
			}
			continue
		}
		break
	}
	r.innerDocs(inner, scope)
	if i >= end || r.word(i) == "}" {
		return i
	}
	if r.word(i) == ";" || r.word(i) == "," {
		return i + 1
	}
	last, key, body := r.extent(i, end)
	if last < 0 {
		r.err = errors.New("an item in it does not end")
		return end
	}
	full := scope + " " + key
	if head.isTest {
		from, to := wholeLines(r.src, int(r.tokens[head.first].from), int(r.tokens[last].to))
		r.out.pieces = append(r.out.pieces, piece{from: from, to: to, key: strings.TrimSpace(full), scope: scope})
		return last + 1
	}
	at := int(r.tokens[head.first].from)
	if len(head.docs) > 0 {
		at = int(r.tokens[head.docs[len(head.docs)-1]].to) + 1
	}
	from, _ := wholeLines(r.src, min(at, len(r.src)), min(at, len(r.src)))
	r.end(full+" docs", from)
	r.examples(head.docs, full)
	if body >= 0 {
		r.end(full, r.lineOf(last))
		if got := r.items(body+1, last, full); r.err == nil && got != last {
			r.err = errors.New("its brackets do not match")
		}
	}
	return last + 1
}

// lineOf is where a line begins that a closing bracket stands on alone.
func (r *rustFile) lineOf(i int) int {
	at := int(r.tokens[i].from)
	for at > 0 && (r.src[at-1] == ' ' || r.src[at-1] == '\t') {
		at--
	}
	return at
}

func (r *rustFile) end(scope string, at int) {
	if _, twice := r.out.ends[scope]; !twice {
		r.out.ends[scope] = at
	}
}

func isRustDoc(c string) bool {
	return strings.HasPrefix(c, "///") && !strings.HasPrefix(c, "////") || strings.HasPrefix(c, "/**") && !strings.HasPrefix(c, "/***") && c != "/**/"
}

// closing finds the bracket that closes the one at token i.
func (r *rustFile) closing(i, end int) int {
	depth := 0
	for ; i < end; i++ {
		switch r.word(i) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
			if depth < 0 {
				return -1
			}
		}
	}
	return -1
}

// attribute reads the one whose brackets are open and closing.
func (r *rustFile) attribute(open, closing int, inner bool, head *rustItem) {
	name := ""
	for i := open + 1; i < closing; i++ {
		w := r.word(i)
		if w == "(" || w == "=" || w == "" {
			break
		}
		if isWordByte(w[0]) {
			name = w
		}
	}
	isTest := r.cfgTest(open, closing)
	switch name {
	case "test", "bench", "rstest", "test_case", "test_matrix", "quickcheck", "wasm_bindgen_test", "should_panic", "fixture", "proptest", "case", "apply_test":
		isTest = true
	case "doc":
		for i := open; i < closing; i++ {
			if r.tokens[i].kind == text && strings.Contains(string(r.bytes(r.tokens[i])), "```") {
				r.err = errors.New("examples stand in an attribute")
			}
		}
	}
	switch {
	case isTest && inner:
		r.err = errors.New("all of it is for tests")
	case isTest:
		head.isTest = true
	}
}

// extent finds the last token of the item at i, its name, and the bracket of a
// body that holds items; -1 is none.
func (r *rustFile) extent(i, end int) (last int, key string, body int) {
	start := i
	kindOf, toSemicolon := "", false
	for j := i; j < end && kindOf == ""; j++ {
		switch w := r.word(j); w {
		case "mod", "impl", "trait", "fn", "struct", "enum", "union", "macro_rules":
			kindOf = w
		case "use", "static", "type", "let":
			kindOf, toSemicolon = w, true
		case "const":
			if next := r.word(j + 1); next != "fn" && next != "unsafe" && next != "async" && next != "extern" {
				kindOf, toSemicolon = w, true
			}
		case "extern":
			if r.word(j+1) == "crate" {
				kindOf, toSemicolon = w, true
			}
		case "{", "(", ";", "!", "=":
			if w == "(" && r.word(j-1) == "pub" {
				j = r.closing(j, end)
				if j < 0 {
					return -1, "", -1
				}
				continue
			}
			kindOf = "other"
		}
	}
	depth := 0
	for ; i < end; i++ {
		switch r.word(i) {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case "{":
			closing := r.closing(i, end)
			if closing < 0 {
				return -1, "", -1
			}
			if depth > 0 || toSemicolon {
				i = closing
				continue
			}
			body = -1
			if kindOf == "mod" || kindOf == "impl" || kindOf == "trait" {
				body = i
			}
			return closing, r.header(start, i), body
		case "}":
			return -1, "", -1
		case ";":
			if depth == 0 {
				return i, r.header(start, i), -1
			}
		}
		if depth < 0 {
			return -1, "", -1
		}
	}
	return -1, "", -1
}

// header names an item by its words: up to the arguments of a function, all of
// what an impl is for.
func (r *rustFile) header(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		w := r.word(i)
		if (w == "(" || w == "<") && strings.Contains(" "+b.String(), " fn ") || w == "=" {
			break
		}
		if w == "pub" || w == "async" || w == "unsafe" || w == "" {
			continue
		}
		if b.Len() > 0 && isWordByte(w[0]) && isWordByte(b.String()[b.Len()-1]) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		if w == "fn" {
			b.WriteByte(' ')
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "fn  ", "fn ")
}

func (r *rustFile) innerDocs(docs []int, scope string) {
	if len(docs) == 0 {
		if scope == "" {
			r.end(" inner docs", 0)
		}
		return
	}
	at := min(int(r.tokens[docs[len(docs)-1]].to)+1, len(r.src))
	r.out.ends[scope+" inner docs"] = at
	r.examplesIn(docs, scope+" inner docs")
}

func (r *rustFile) examples(docs []int, item string) { r.examplesIn(docs, item+" docs") }

// examplesIn finds the code in a run of documentation.
func (r *rustFile) examplesIn(docs []int, scope string) {
	open, prose := -1, true
	fenced := false
	add := func(first, last int) {
		from, to := wholeLines(r.src, int(r.tokens[first].from), int(r.tokens[last].to))
		r.out.pieces = append(r.out.pieces, piece{from: from, to: to, key: strings.TrimSpace(scope + " example"), scope: scope, example: true})
	}
	indented := -1
	for n, i := range docs {
		c := string(r.bytes(r.tokens[i]))
		if strings.HasPrefix(c, "/*") {
			if strings.Contains(c, "```") || strings.Contains(c, "\n     ") {
				add(i, i)
			}
			continue
		}
		line := strings.TrimRight(c[3:], " \t\r")
		trimmed := strings.TrimSpace(line)
		isFence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		switch {
		case fenced && isFence:
			if fenced = false; open >= 0 {
				add(open, i)
			}
			open = -1
		case isFence:
			if fenced = true; rustExample(strings.Trim(trimmed, "`~")) {
				open = i
			}
		case fenced:
		case strings.HasPrefix(line, "     ") && (prose || indented >= 0):
			if indented < 0 {
				indented = i
			}
			if n+1 == len(docs) {
				add(indented, i)
				indented = -1
			}
			continue
		}
		if indented >= 0 && trimmed != "" || indented >= 0 && n+1 == len(docs) {
			last := docs[n-1]
			add(indented, last)
			indented = -1
		}
		prose = trimmed == ""
	}
	if open >= 0 {
		r.err = errors.New("an example in it does not end")
	}
}

// rustExample is true for the words behind a fence that rustdoc takes for Rust.
func rustExample(info string) bool {
	for _, w := range strings.FieldsFunc(info, func(c rune) bool { return c == ',' || c == ' ' }) {
		switch {
		case w == "rust" || w == "should_panic" || w == "no_run" || w == "compile_fail" || w == "standalone" || w == "test_harness" || strings.HasPrefix(w, "ignore") || strings.HasPrefix(w, "edition") || strings.HasPrefix(w, "E0"):
		default:
			return false
		}
	}
	return true
}
