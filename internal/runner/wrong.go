package runner

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	texts "forge/internal/text"
)

// Wrong is one expectation of a test and what makes it wrong: the bytes From to
// To of the file at Path are replaced by Text. Where the expectation held, the
// test fails.
type Wrong struct {
	Path string    `json:"path"`
	Test string    `json:"test"` // the line that begins the test around it
	Nth  int       `json:"nth"`  // among the expectations of Test
	Said string    `json:"said"` // the source line that it stands in, without the space around it
	Same int       `json:"same"` // among those of Test whose line says the same
	Line int       `json:"line"`
	From int       `json:"from"`
	To   int       `json:"to"`
	Text string    `json:"text"`
	Sort WrongSort `json:"sort"`
}

// WrongSort says how an expectation is made wrong. A lower one says more: a
// result that equals everything passes where a value is another, and is red
// where a comparison was turned round.
type WrongSort int

// Values of assertions, other numbers of a test, and comparisons turned round.
const (
	WrongValue WrongSort = iota
	WrongNumber
	WrongTurned
)

// Key names the expectation also where the file around it differs.
func (w Wrong) Key() string { return w.Test + "\x00" + strconv.Itoa(w.Nth) + "\x00" + w.Text }

// LineKey names the expectation by what its line says, also where others came
// before it.
func (w Wrong) LineKey() string {
	return w.Test + "\x00" + w.Said + "\x00" + strconv.Itoa(w.Same) + "\x00" + w.Text
}

// Expectations returns what can be made wrong in a test file, in its order.
func Expectations(file string, src []byte) []Wrong {
	l, ok := languageOf(file)
	if !ok {
		return nil
	}
	var found []Wrong
	if l.name == "go" {
		found = goExpectations(src)
	} else {
		found = l.expectations(src)
	}
	slices.SortStableFunc(found, func(a, b Wrong) int { return a.From - b.From })
	nth, same := map[string]int{}, map[[2]string]int{}
	var all []Wrong
	for _, w := range found {
		w.Path, w.Line, w.Said = file, lineOf(src, w.From), lineAt(src, w.From)
		w.Nth, w.Same = nth[w.Test], same[[2]string{w.Test, w.Said}]
		nth[w.Test]++
		same[[2]string{w.Test, w.Said}]++
		all = append(all, w)
	}
	return all
}

// lineAt is the line around a byte, without the space around it.
func lineAt(src []byte, at int) string {
	from := bytes.LastIndexByte(src[:at], '\n') + 1
	to := len(src)
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		to = at + i
	}
	return string(bytes.TrimSpace(src[from:to]))
}

// MakeWrong returns src with the expectations of it made wrong.
func MakeWrong(src []byte, all []Wrong) []byte {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Wrong) int { return a.From - b.From })
	var out []byte
	at := 0
	for _, w := range sorted {
		if w.From < at || w.To > len(src) {
			continue
		}
		out = append(out, src[at:w.From]...)
		out = append(out, w.Text...)
		at = w.To
	}
	return append(out, src[at:]...)
}

// judgement is one way in which a language says what it expects.
type judgement struct {
	// find is matched against the masked source. Its group 1 is what is
	// replaced.
	find *regexp.Regexp
	// turn returns what makes it wrong; "" = this one cannot be.
	turn func(found string) string
	// argument says that not the match but the first argument of the call that
	// the match opens is what turn gets.
	argument bool
}

// opposites turns a word into its opposite, both ways.
func opposites(pairs ...string) func(string) string {
	other := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		other[pairs[i]], other[pairs[i+1]] = pairs[i+1], pairs[i]
	}
	return func(word string) string { return other[word] }
}

func instead(text string) func(string) string { return func(string) string { return text } }

func negated(before, after string) func(string) string {
	return func(found string) string {
		if strings.TrimSpace(found) == "" {
			return ""
		}
		return before + found + after
	}
}

// operators turns a comparison into its opposite.
var operators = opposites("==", "!=", "===", "!==", "<", ">=", ">", "<=", "is", "is not", "in", "not in", "-eq", "-ne", "-lt", "-ge", "-gt", "-le")

var pythonWords = opposites("assertEqual", "assertNotEqual", "assertTrue", "assertFalse", "assertIs", "assertIsNot",
	"assertIsNone", "assertIsNotNone", "assertIn", "assertNotIn", "assertIsInstance", "assertNotIsInstance",
	"assertAlmostEqual", "assertNotAlmostEqual", "assertGreater", "assertLessEqual", "assertLess", "assertGreaterEqual",
	"assertRegex", "assertNotRegex")

// pythonTurn also knows words that have no opposite of their own.
func pythonTurn(word string) string {
	switch word {
	case "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual", "assertMultiLineEqual", "assertSequenceEqual":
		return "assertNotEqual"
	}
	return pythonWords(word)
}

var jsWords = opposites("equal", "notEqual", "strictEqual", "notStrictEqual", "deepEqual", "notDeepEqual",
	"deepStrictEqual", "notDeepStrictEqual", "match", "doesNotMatch")

var rubyWords = opposites("assert_equal", "refute_equal", "assert", "refute", "assert_nil", "refute_nil", "assert_includes", "refute_includes",
	"assert_empty", "refute_empty", "assert_match", "refute_match", "assert_same", "refute_same", "assert_in_delta", "refute_in_delta",
	"assert_kind_of", "refute_kind_of", "assert_instance_of", "refute_instance_of", "assert_predicate", "refute_predicate", "assert_operator", "refute_operator")

var phpWords = opposites("assertSame", "assertNotSame", "assertEquals", "assertNotEquals", "assertTrue", "assertFalse", "assertNull", "assertNotNull",
	"assertCount", "assertNotCount", "assertInstanceOf", "assertNotInstanceOf", "assertContains", "assertNotContains", "assertEmpty", "assertNotEmpty",
	"assertStringContainsString", "assertStringNotContainsString", "assertArrayHasKey", "assertArrayNotHasKey")

func shellTurn(found string) string {
	switch found {
	case "=", "==":
		return "!="
	case "!=":
		return "="
	}
	return operators(found)
}

func judgements(l language) []judgement {
	word := func(pattern string, turn func(string) string) judgement {
		return judgement{find: regexp.MustCompile(pattern), turn: turn}
	}
	argument := func(pattern string, turn func(string) string) judgement {
		return judgement{find: regexp.MustCompile(pattern), turn: turn, argument: true}
	}
	switch l.name {
	case "python":
		return []judgement{
			word(`(?m)\bself\.(assert\w+)\(`, pythonTurn),
			word(`(?m)^[ \t]*assert[ \t]+[^\n=!<>]*?[^\n=!<>](==|!=|<=|>=|<|>)[^\n]*$`, operators),
			word(`(?m)^[ \t]*assert[ \t]+\w[\w.\[\]()]*[ \t](is not|not in|is|in)[ \t]`, operators),
			word(`(?m)^[ \t]*assert[ \t]+([\w.]+\([^\n]*\)|[\w.]+)[ \t]*$`, negated("not (", ")")),
			word(`(?m)^[ \t]*assert[ \t]+(not)[ \t]+[\w.]+\([^\n]*\)[ \t]*$`, instead("")),
		}
	case "js":
		return []judgement{
			word(`\bassert\.(\w+)\(`, jsWords),
			argument(`\bassert(?:\.ok)?\(`, negated("!(", ")")),
			word(`\)\s*(\.(?:resolves\.|rejects\.)?not\.to)[A-Z.]`, func(found string) string { return strings.Replace(found, ".not", "", 1) }),
			word(`\)\s*(?:\.resolves|\.rejects)?(\.to)(?:[A-Z]\w*\(|\.)`, instead(".not.to")),
			word(`\bt\.(\w+)\(`, opposites("is", "not", "deepEqual", "notDeepEqual", "true", "false", "truthy", "falsy", "equal", "notEqual")),
		}
	case "rust":
		return []judgement{
			word(`\b(assert_eq|assert_ne)!`, opposites("assert_eq", "assert_ne")),
			argument(`\bassert!\s*\(`, negated("!(", ")")),
		}
	case "ruby":
		return []judgement{
			word(`(?m)^[ \t]*(assert\w*|refute\w*)[ (]`, rubyWords),
			word(`[)}\w]\.(to_not|not_to)[ (]`, instead("to")),
			word(`[)}]\.(to)[ (]`, instead("not_to")),
			word(`\.(must_equal|wont_equal|must_be_nil|wont_be_nil|must_include|wont_include)\b`,
				opposites("must_equal", "wont_equal", "must_be_nil", "wont_be_nil", "must_include", "wont_include")),
		}
	case "php":
		return []judgement{word(`(?:->|::)(assert\w+)\(`, phpWords)}
	case "java":
		all := "org.junit.jupiter.api.Assertions."
		return []judgement{
			argument(`(?:^|[^\w.])(?:Assertions\.|Assert\.)?(?:assertTrue|assertFalse)\(`, negated("!(", ")")),
			word(`(?m)^[ \t]*((?:Assertions\.)?assertEquals)\(`, instead(all+"assertNotEquals")),
			word(`(?m)^[ \t]*((?:Assertions\.)?assertNotEquals)\(`, instead(all+"assertEquals")),
			word(`(?m)^[ \t]*((?:Assertions\.)?assertNull)\(`, instead(all+"assertNotNull")),
			word(`(?m)^[ \t]*((?:Assertions\.)?assertNotNull)\(`, instead(all+"assertNull")),
			word(`\)\.(isEqualTo|isNotEqualTo)\(`, opposites("isEqualTo", "isNotEqualTo")),
		}
	case "c":
		return []judgement{
			argument(`\b(?:assert|CHECK|REQUIRE|EXPECT_TRUE|ASSERT_TRUE|EXPECT_FALSE|ASSERT_FALSE|TEST_ASSERT_TRUE|ck_assert)\s*\(`, negated("!(", ")")),
			word(`\b((?:EXPECT|ASSERT)_(?:EQ|NE))\s*\(`, opposites("EXPECT_EQ", "EXPECT_NE", "ASSERT_EQ", "ASSERT_NE")),
			word(`\bif\s*\([^\n{};]*[^=!<>](==|!=)[^=]`, operators),
		}
	case "perl":
		return []judgement{word(`(?m)^\s*(is|isnt|like|unlike)\(`, opposites("is", "isnt", "like", "unlike"))}
	case "shell":
		return []judgement{
			word(`\[[^\n\]]*\s(==|!=|=|-eq|-ne|-lt|-ge|-gt|-le)\s[^\n\]]*\]`, shellTurn),
			word(`(?m)^[ \t]*test\s[^\n]*\s(=|!=|-eq|-ne)\s`, shellTurn),
		}
	}
	return nil
}

// beginnings are the lines that begin a test.
var beginnings = map[string]func() *regexp.Regexp{
	"python": texts.Lazy(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[^\n]*$`),
	"js":     texts.Lazy(`(?m)^[^\n]*\b(?:it|test|specify)(?:\.\w+)*\s*\([^\n]*$`),
	"rust":   texts.Lazy(`(?m)^[ \t]*(?:pub\s+)?(?:async\s+)?fn\s+\w+[^\n]*$`),
	"ruby":   texts.Lazy(`(?m)^[ \t]*(?:def[ \t]+test_\w+|(?:it|test|specify|example)\b)[^\n]*$`),
	"php":    texts.Lazy(`(?m)^[^\n]*\bfunction\s+\w+[^\n]*$`),
	"java":   texts.Lazy(`(?m)^[^\n]*\bvoid\s+\w+\s*\([^\n]*$`),
	"c":      texts.Lazy(`(?m)^(?:[A-Za-z][^\n;]*\)\s*\{?|TEST[^\n]*)$`),
	"perl":   texts.Lazy(`(?m)^\s*(?:is|isnt|ok|like|is_deeply|cmp_ok)\b[^\n]*$`),
	"shell":  texts.Lazy(`(?m)^@test[^\n]*$`),
}

// firstCode is the first line of a script that is more than a comment.
var firstCode = texts.Lazy(`(?m)^[ \t]*[^\s#][^\n]*$`)

func (l language) expectations(src []byte) []Wrong {
	masked := l.masked(src)
	tests := beginnings[l.name]().FindAllStringIndex(masked, -1)
	if len(tests) == 0 && l.name == "shell" {
		tests = firstCode().FindAllStringIndex(masked, 1) // a script is one test
	}
	var all []Wrong
	for _, j := range judgements(l) {
		for _, m := range j.find.FindAllStringSubmatchIndex(masked, -1) {
			from, to := m[0], m[1]
			switch {
			case j.argument:
				from, to = firstArgument(masked, m[1]-1)
			case len(m) >= 4:
				from, to = m[2], m[3]
			}
			if from < 0 {
				continue
			}
			turned := j.turn(string(src[from:to]))
			if turned == "" && !(len(m) >= 4 && string(src[from:to]) == "not") {
				continue
			}
			test := around(src, tests, from)
			if test == "" {
				continue // a helper, or no test at all
			}
			all = append(all, Wrong{Test: test, From: from, To: to, Text: turned, Sort: WrongTurned})
		}
	}
	return append(all, l.values(src, masked, tests)...)
}

// around returns the last line before at that begins a test.
func around(src []byte, tests [][]int, at int) string {
	for _, t := range slices.Backward(tests) {
		if t[0] <= at {
			return strings.TrimSpace(string(src[t[0]:t[1]]))
		}
	}
	return ""
}

// firstArgument returns where the first argument of the call begins and ends
// whose bracket opens at open; -1 when there is none.
func firstArgument(masked string, open int) (int, int) {
	end := closing(masked, open)
	if end < 0 {
		return -1, -1
	}
	depth := 0
	for i := open + 1; i < end; i++ {
		switch masked[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return open + 1, i
			}
		}
	}
	return open + 1, end
}
