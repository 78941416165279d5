package proof

import (
	"path"
	"slices"
	"strings"
)

// readTests finds the tests that a file declares, with what each asserts. A
// test reaches to the next one that is not inside of it.
func readTests(p, lang string, content []byte) []test {
	s := lex(lang, content).code()
	var out []test
	for i := range s.tokens {
		name, skip, ok := s.declares(i, lang)
		if !ok {
			continue
		}
		end := s.bodyEnd(i, lang)
		t := test{path: p, name: name, line: int(s.tokens[i].line), from: i}
		if skip == "" {
			skip = s.markedBefore(i, lang)
		}
		t.skip, t.skipLine = skip, t.line
		out = append(out, t)
		s.readBody(&out[len(out)-1], i, end, lang)
	}
	if len(out) == 0 && (lang == "shell" || lang == "c") || len(out) == 0 && isTestName(path.Base(p)) {
		// A program that asserts as a whole.
		t := test{path: p, name: path.Base(p), line: 1, from: -1}
		s.readBody(&t, -1, len(s.tokens), lang)
		if len(t.claims) > 0 {
			out = append(out, t)
		}
		return out
	}
	if t, ok := s.outside(p, lang, out); ok {
		out = append(out, t)
	}
	return out
}

var (
	scriptTests = set("it test specify bench fit xit xtest ftest")
	scriptSkips = set("xit xtest xdescribe xcontext xspecify")
	scriptOnly  = set("fit fdescribe ftest")
	goTests     = expr(`^(Test|Fuzz|Benchmark|Example)([A-Z_].*)?$`)
	cTests      = expr(`^(TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO|SECTION|BOOST_AUTO_TEST_CASE|START_TEST|Test|CTEST|UTEST)$`)
)

// declares says whether a test begins at token i, and the mark that skips it
// right there.
func (s *source) declares(i int, lang string) (name, skip string, ok bool) {
	w := s.word(i)
	if w == "" || !isWordByte(w[0]) {
		return "", "", false
	}
	next := s.word(i + 1)
	switch lang {
	case "go":
		if w == "func" && goTests().MatchString(next) && s.word(i+2) == "(" {
			return next, "", true
		}
		if w == "Run" && next == "(" && s.isText(i+2) {
			return "sub " + s.inner(s.tokens[i+2]), "", true
		}
	case "python":
		if w == "def" && (strings.HasPrefix(next, "test") || strings.HasPrefix(next, "check_")) {
			return next, "", true
		}
	case "script":
		base := w
		open := i + 1
		for s.word(open) == "." && isWordByte0(s.word(open+1)) {
			base += "." + s.word(open+1)
			open += 2
		}
		if s.word(i-1) == "." || !scriptTests[w] && !scriptSkips[w] && w != "describe" && w != "context" && !scriptOnly[w] {
			return "", "", false
		}
		if s.word(open) == "(" && strings.Contains(base, ".each") || s.isText(open) {
			if open = s.closes(open); open < 0 {
				return "", "", false
			}
			open++
		}
		if s.word(open) != "(" || !s.isText(open+1) {
			return "", "", false
		}
		switch {
		case scriptSkips[w], strings.Contains(base, ".skip"), strings.Contains(base, ".todo"), strings.Contains(base, ".fails"), strings.Contains(base, ".fixme"), scriptOnly[w], strings.Contains(base, ".only"):
			skip = base
		}
		return s.inner(s.tokens[open+1]), skip, true
	case "rust":
		if w == "fn" && s.rustTestBefore(i) {
			return next, "", true
		}
	case "ruby":
		if w == "def" && strings.HasPrefix(next, "test_") {
			return next, "", true
		}
		if (w == "it" || w == "specify" || w == "test" || w == "xit" || w == "fit" || w == "pending" || w == "xspecify" || w == "example" || w == "scenario") && s.isText(i+1) {
			if w[0] == 'x' || w == "pending" || w == "fit" {
				skip = w
			}
			return s.inner(s.tokens[i+1]), skip, true
		}
	case "php":
		if w == "function" && strings.HasPrefix(next, "test") {
			return next, "", true
		}
		if (w == "it" || w == "test") && next == "(" && s.isText(i+2) {
			return s.inner(s.tokens[i+2]), "", true
		}
	case "java":
		if isWordByte0(next) && s.word(i+2) == "(" && s.annotated(i, "Test", "ParameterizedTest", "RepeatedTest", "Fact", "Theory", "TestMethod", "TestCase") {
			return next, "", true
		}
		if (w == "func" || w == "fun" || w == "void") && strings.HasPrefix(next, "test") && s.word(i+2) == "(" {
			return next, "", true
		}
	case "c":
		if cTests().MatchString(w) && next == "(" {
			if end := s.closes(i + 1); end > 0 {
				return string(s.src[s.tokens[i+2].from:s.tokens[end].from]), "", true
			}
		}
		if strings.HasPrefix(w, "test_") && next == "(" && s.word(s.closes(i+1)+1) == "{" {
			return w, "", true
		}
	case "shell":
		if w == "test" && s.word(i-1) == "@" && s.isText(i+1) {
			return s.inner(s.tokens[i+1]), "", true
		}
		if strings.HasPrefix(w, "test") && next == "(" && s.word(i+2) == ")" {
			return w, "", true
		}
	}
	return "", "", false
}

func isWordByte0(w string) bool { return w != "" && isWordByte(w[0]) }

func (s *source) isText(i int) bool { return i >= 0 && i < len(s.tokens) && s.tokens[i].kind == text }

// closes finds the bracket that closes the one at token i, of a tagged
// template the token itself; -1 is none.
func (s *source) closes(i int) int {
	if s.isText(i) {
		return i
	}
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch s.word(i) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth <= 0 {
				return i
			}
		}
	}
	return -1
}

// rustTestBefore looks at the attributes before fn.
func (s *source) rustTestBefore(i int) bool {
	for i--; i >= 0 && (s.word(i) == "pub" || s.word(i) == "async" || s.word(i) == "unsafe"); i-- {
	}
	for i >= 0 && s.word(i) == "]" {
		start := i
		for start >= 0 && s.word(start) != "#" {
			start--
		}
		for j := start; j < i; j++ {
			if w := s.word(j); w == "test" || w == "rstest" || w == "test_case" || w == "quickcheck" || w == "bench" || strings.HasSuffix(w, "_test") {
				return true
			}
		}
		i = start - 1
	}
	return false
}

// annotated looks for an annotation among the words before a method's type.
func (s *source) annotated(i int, names ...string) bool {
	for j := i; j >= 0 && j > i-60; j-- {
		w := s.word(j)
		if w == ";" || w == "}" || w == "{" && j < i {
			return false
		}
		if (s.word(j-1) == "@" || s.word(j-1) == "[" || s.word(j-1) == ",") && slices.Contains(names, w) {
			return true
		}
	}
	return false
}

// bodyEnd is the token behind a test's body.
func (s *source) bodyEnd(i int, lang string) int {
	switch lang {
	case "python", "ruby":
		// By indentation: up to the first line that begins no deeper.
		indent := s.indent(i)
		for j := i + 1; j < len(s.tokens); j++ {
			if s.tokens[j].line > s.tokens[j-1].line && s.indent(j) <= indent && s.word(j) != ")" && s.word(j) != "]" && s.word(j) != "}" {
				return j
			}
		}
		return len(s.tokens)
	case "script":
		for j := i; j < len(s.tokens); j++ {
			if s.word(j) == "(" {
				if end := s.closes(j); end > 0 {
					if s.word(end+1) == "(" {
						end = s.closes(end + 1)
					}
					if end > 0 {
						return end + 1
					}
				}
				return len(s.tokens)
			}
		}
	case "go":
		if s.word(i) == "Run" {
			if end := s.closes(i + 1); end > 0 {
				return end + 1
			}
		}
	}
	for j := i; j < len(s.tokens); j++ {
		if s.word(j) == "(" && lang != "shell" {
			if j = s.closes(j); j < 0 {
				return len(s.tokens)
			}
			continue
		}
		switch s.word(j) {
		case "{":
			if end := s.closes(j); end > 0 {
				return end + 1
			}
			return len(s.tokens)
		case ";":
			return j
		}
	}
	return len(s.tokens)
}

// indent is the column of the line that token i stands on.
func (s *source) indent(i int) int {
	at := int(s.tokens[i].from)
	for at > 0 && s.src[at-1] != '\n' {
		at--
	}
	n := 0
	for at < len(s.src) && (s.src[at] == ' ' || s.src[at] == '\t') {
		at++
		n++
	}
	return n
}
