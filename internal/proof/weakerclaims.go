package proof

import (
	"strings"
)

var assertWords = set(`assert expect should must require verify ensure check fail Fail Fatal Fatalf Error Errorf FailNow EXPECT CHECK REQUIRE ASSERT CHECK_EQ raises warns XCTAssert
	toBe toEqual toThrow equal deepEqual strictEqual notEqual throws rejects ok match is like must_equal wont_equal must_raise refute flunk expectException verifyComplete assertThat assertThrows TestTrue run diff cmp`)

// ownAsserts are Node's assertions, imported by their own names.
var ownAsserts = set("strictEqual deepStrictEqual notStrictEqual notDeepStrictEqual deepEqual notDeepEqual notEqual doesNotThrow doesNotReject doesNotMatch partialDeepStrictEqual")

// assertWord is true for a word that asserts something.
func assertWord(w string) bool {
	if assertWords[w] {
		return true
	}
	for _, start := range []string{"assert", "Assert", "EXPECT_", "ASSERT_", "CHECK_", "REQUIRE_", "BOOST_", "refute", "must_", "wont_", "should", "expect", "prop_assert", "debug_assert", "ck_assert", "cr_assert", "TEST_ASSERT", "XCTAssert", "verify"} {
		if strings.HasPrefix(w, start) {
			return true
		}
	}
	return false
}

// readBody reads the assertions, skips and cases of a test.
func (s *source) readBody(t *test, from, end int, lang string) {
	end = min(end, len(s.tokens))
	for i := from + 1; i < end; i++ {
		w := s.word(i)
		if w == "" || !isWordByte(w[0]) {
			if w == "[" && lang == "shell" || w == "[" && lang == "c" && false {
				i = s.claim(t, i, end, lang)
			}
			continue
		}
		if mark := s.skips(i, lang); mark != "" && t.skip == "" {
			t.skip, t.skipLine = mark, int(s.tokens[i].line)
		}
		if s.asserts(i, lang) {
			i = s.claim(t, i, end, lang)
		}
	}
	s.readCases(t, from, end)
	t.inputs, t.exits, t.narrow = s.inputs(from+1, end, lang), s.exits(from, end, lang), s.narrowed(from, end, lang)
	t.assigned, t.parts, t.calls = s.assigns(from+1, end), parts(t.claims), s.callsIn(from+1, end)
	t.standIns, t.loops = s.standsIn(from, end, lang, t.claims), s.loops(from, end)
}

// asserts is true where an assertion begins at token i.
func (s *source) asserts(i int, lang string) bool {
	w, next, before := s.word(i), s.word(i+1), s.word(i-1)
	switch lang {
	case "python":
		if w == "assert" {
			return true
		}
		return next == "(" && (strings.HasPrefix(w, "assert") || w == "raises" || w == "fail" || w == "warns")
	case "go":
		if before == "." {
			switch w {
			case "Fatal", "Fatalf", "Error", "Errorf", "Fail", "FailNow":
				return next == "(" && (s.word(i-2) == "t" || s.word(i-2) == "b" || s.word(i-2) == "f" || s.word(i-2) == "tb" || len(s.word(i-2)) == 1)
			}
		}
		return (w == "require" || w == "assert" || w == "is" || w == "must") && (next == "." || next == "(") && before != "."
	case "script":
		return before != "." && (next == "(" || next == ".") && (w == "expect" || w == "assert" || w == "should" || strings.HasPrefix(w, "assert")) || before == "." && w == "should" || (before == "." && (s.word(i-2) == "t" || s.word(i-2) == "assert") && next == "(" && assertWords[w]) || before != "." && next == "(" && ownAsserts[w]
	case "rust":
		return next == "!" && strings.Contains(w, "assert") || w == "panic" && next == "!"
	case "ruby":
		return strings.HasPrefix(w, "assert") || strings.HasPrefix(w, "refute") || w == "expect" && (next == "(" || next == "{") || before == "." && (strings.HasPrefix(w, "must_") || strings.HasPrefix(w, "wont_") || w == "should")
	case "php":
		return next == "(" && (strings.HasPrefix(w, "assert") || w == "expect" || w == "fail" || strings.HasPrefix(w, "expectException"))
	case "shell":
		return w == "assert" || strings.HasPrefix(w, "assert_") || w == "diff" || w == "cmp" || w == "refute" || w == "test" && s.word(i-1) != "@" && !s.isText(i-1) && next != "(" || w == "grep"
	}
	return next == "(" && assertWord(w) && w != "run" && w != "match" && w != "is" && w != "equal"
}

// claim reads the assertion at token i up to the end of its statement, and
// returns its last token. For Go it begins with the condition around it.
func (s *source) claim(t *test, i, end int, lang string) int {
	first := i
	if lang == "go" && s.word(i-1) == "." {
		first = s.goCondition(i)
	}
	last := i
	depth := 0
	for j := i; j < end; j++ {
		w := s.word(j)
		switch w {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		if depth < 0 {
			break
		}
		if w == ";" && depth == 0 {
			break
		}
		if depth == 0 && j+1 < end && s.tokens[j+1].line > s.tokens[j].line && s.word(j+1) != "." && w != "," && s.word(j+1) != ")" {
			last = j
			break
		}
		last = j
	}
	s.addClaim(t, first, i, last, lang)
	if c := &t.claims[len(t.claims)-1]; !c.guarded && t.from >= 0 {
		c.guarded = s.uncalled(first, t.from, end, lang)
	}
	return max(last, i)
}

func (s *source) addClaim(t *test, first, at, last int, lang string) {
	var form, full strings.Builder
	bracket := -1
	if lang == "python" && s.word(first) == "assert" && s.word(first+1) == "(" && s.closes(first+1) == last {
		bracket = first + 1 // formatters put them there
	}
	nested := 0
	for j := first; j <= last; j++ {
		switch s.word(j) {
		case "(", "[", "{":
			nested++
		case ")", "]", "}":
			nested--
		}
		if lang == "python" && s.word(first) == "assert" && nested == 0 && s.word(j) == "," {
			break // what a failure is told with
		}
		if bracket > 0 && (j == bracket || j == last) {
			continue
		}
		tok := s.tokens[j]
		raw := string(s.bytes(tok))
		switch {
		case lang == "go" && j > at && tok.kind == text:
			// What a failure is told with is no part of what is asserted.
			continue
		case lang == "go" && j > at && s.word(at-1) == ".":
			continue
		}
		isLiteral := tok.kind == text || raw[0] >= '0' && raw[0] <= '9' || raw == "true" || raw == "false" || raw == "True" || raw == "False" || raw == "nil" || raw == "null" || raw == "None"
		if tok.kind == text {
			raw = `"` + s.inner(tok) + `"`
		}
		if raw == ";" || raw == "," && (s.word(j+1) == ")" || s.word(j+1) == "]") {
			continue
		}
		full.WriteString(raw + " ")
		if isLiteral {
			raw = "#"
		}
		form.WriteString(raw + " ")
	}
	t.claims = append(t.claims, claim{
		form: strings.ReplaceAll(form.String(), "- #", "#"), full: strings.TrimSpace(full.String()),
		line: int(s.tokens[min(at, len(s.tokens)-1)].line), guarded: s.guarded(first, t.from, lang),
	})
}

// goCondition finds the if that a t.Fatal stands in.
func (s *source) goCondition(i int) int {
	depth := 0
	for j := i; j >= 0 && j > i-120; j-- {
		switch s.word(j) {
		case "}":
			depth++
		case "{":
			if depth--; depth < 0 {
				for k := j; k >= 0 && s.tokens[k].line == s.tokens[j].line; k-- {
					if s.word(k) == "if" {
						return k
					}
				}
				return i
			}
		case "func":
			return i
		}
	}
	return i
}

// skips names the mark that skips a test from within.
func (s *source) skips(i int, lang string) string {
	w, next := s.word(i), s.word(i+1)
	dotted := s.word(i-2) + "." + w
	switch lang {
	case "go":
		if s.word(i-1) == "." && (w == "Skip" || w == "SkipNow" || w == "Skipf") {
			return dotted
		}
	case "python":
		if (dotted == "pytest.skip" || dotted == "pytest.xfail" || dotted == "self.skipTest") && next == "(" || w == "raise" && strings.Contains(s.word(i+3)+next, "SkipTest") {
			return dotted
		}
	case "script":
		if s.word(i-1) == "." && (w == "skip" || w == "todo") && next == "(" && s.word(i-2) != "describe" && s.word(i-2) != "it" && s.word(i-2) != "test" || w == "skip" && next == ":" || w == "todo" && next == ":" {
			return dotted
		}
	case "ruby":
		if (w == "skip" || w == "pending") && s.word(i-1) != "." {
			return w
		}
	case "php":
		if w == "markTestSkipped" || w == "markTestIncomplete" {
			return w
		}
	case "java":
		if w == "assumeTrue" || w == "assumeFalse" || w == "Ignore" || w == "XCTSkip" {
			return w
		}
	case "c":
		if w == "GTEST_SKIP" || w == "SKIP" || w == "TEST_IGNORE" {
			return w
		}
	case "shell":
		if w == "skip" && (i == 0 || s.tokens[i-1].line < s.tokens[i].line) {
			return w
		}
	}
	// A test that returns before it asserts.
	if w == "return" && (lang == "go" || lang == "python" || lang == "script" || lang == "rust" || lang == "php" || lang == "java" || lang == "c" || lang == "ruby") && s.topReturn(i, lang) {
		return "it returns before its end"
	}
	return ""
}

// topReturn is true for a return on the first level of a test, with more
// statements behind it.
func (s *source) topReturn(i int, lang string) bool {
	next := s.word(i + 1)
	switch lang {
	case "python", "ruby":
		if i == 0 || i+1 >= len(s.tokens) || s.tokens[i+1].line == s.tokens[i].line {
			return false
		}
		return s.indent(i+1) == s.indent(i) && s.word(i-1) != ":" && next != "def" && next != "end" && next != "class" && next != "async" && next != "@"
	}
	before := s.word(i - 1)
	return (before == ";" || before == "}" || before == "{" && s.word(i-2) == ")" && s.word(i-3) != ")") && next == ";" && s.word(i+2) != "}" ||
		lang == "go" && next != "" && i > 0 && s.tokens[i+1].line > s.tokens[i].line && next != "}" && s.indent(i) <= 1
}
