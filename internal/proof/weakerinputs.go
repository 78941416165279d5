package proof

import (
	"fmt"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// input is a statement of a test that calls something with literals, and
// asserts nothing by itself: what the test is about.
type input struct {
	form, full string // form is without the literals
	line       int
	assigns    bool // what it returns has a name
}

// exit is where a test may end, or leave a row out, before it asserts.
type exit struct {
	line int
	what string
}

// notInputs begin statements that give a test nothing to judge, as the last
// word before the bracket of a call.
var notInputs = set(`print println Println Printf printf puts log Log Logf info debug warn warning error sleep Sleep setTimeout wait Wait after before
	Helper Parallel Cleanup Setenv setenv chdir Chdir mkdir Mkdir MkdirAll TempDir Run describe context it test subTest parametrize mark fixture use timeout setDefaultTimeout retry jest vi mock
	Name Describe only each require import load define include Skip Skipf skip`)

// begins are words that begin what is no call of its own.
var begins = set(`if elif else unless for while until switch case match when def func fn function class return import from require use with try except catch
	finally rescue ensure raise throw new type struct enum package namespace module pub mod static private public protected it test describe context specify`)

// inputs are the statements with literals between two tokens.
func (s *source) inputs(from, end int, lang string) []input {
	var out []input
	for i := max(from, 0); i < end; i++ {
		if i > 0 && s.tokens[i-1].line == s.tokens[i].line && s.word(i-1) != ";" && s.word(i-1) != "{" {
			continue
		}
		last := s.statement(i, end)
		if one, ok := s.inputAt(i, last, lang); ok {
			out = append(out, one)
			i = last
		}
	}
	return out
}

// statements are the inputs that files hold, in tests or not.
func statements(files map[string][]byte) []input {
	var out []input
	for p, content := range files {
		if lang := language(p); lang != "" && content != nil && len(content) < maxSettings {
			s := lex(lang, content).code()
			out = append(out, s.inputs(0, len(s.tokens), lang)...)
		}
	}
	return out
}

// statement is the last token of the one that begins at token i.
func (s *source) statement(i, end int) int {
	depth := 0
	for j := i; j < end; j++ {
		switch s.word(j) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return j - 1
			}
		case ";":
			if depth == 0 {
				return j
			}
		}
		if depth == 0 && j+1 < end && s.tokens[j+1].line > s.tokens[j].line && s.word(j+1) != "." {
			return j
		}
	}
	return end - 1
}

func (s *source) inputAt(i, last int, lang string) (input, bool) {
	one := input{line: int(s.tokens[i].line)}
	if w := s.word(i); s.isText(i) || !isWordByte0(w) || begins[w] || last-i < 3 || last-i > 60 {
		return one, false
	}
	if s.word(last) == ";" {
		last--
	}
	if s.word(last) != ")" {
		return one, false
	}
	var form, full strings.Builder
	literals := 0
	for j := i; j <= last; j++ {
		w := s.word(j)
		if s.asserts(j, lang) || w == "{" || w == "func" || w == "lambda" || w == "function" || j+1 <= last && w == "=" && s.word(j+1) == ">" {
			return one, false
		}
		if w == "(" && notInputs[s.word(j-1)] {
			return one, false
		}
		if w == "=" && !strings.Contains(form.String(), "(") {
			one.assigns = true
		}
		switch {
		case s.isText(j):
			literals++
			full.WriteString(`"` + s.inner(s.tokens[j]) + `" `)
			form.WriteString("# ")
		case isDigits(w):
			literals++
			full.WriteString(w + " ")
			form.WriteString("# ")
		default:
			full.WriteString(w + " ")
			form.WriteString(w + " ")
		}
	}
	one.form, one.full = strings.ReplaceAll(form.String(), "- #", "#"), strings.TrimSpace(full.String())
	return one, literals > 0
}

// exits are the bare ends under a condition, with an assertion behind them and
// none in the same block before.
func (s *source) exits(from, end int, lang string) []exit {
	var out []exit
	for i := max(from+1, 0); i < end; i++ {
		w := s.word(i)
		if s.isText(i) || w != "return" && w != "continue" && w != "break" && (w != "next" || lang != "ruby") || s.word(i-1) == "." {
			continue
		}
		next := s.word(i + 1)
		bare := next == ";" || next == "}" || next == "end" || i+1 >= end || s.tokens[i+1].line > s.tokens[i].line || lang == "ruby" && sameLine[next]
		guarded := s.guarded(i, from, lang) || lang == "ruby" && sameLine[next]
		if bare && guarded && !s.assertsBefore(i, from, lang) && (s.assertsAfter(i, end, lang) || s.leavesLoop(i, from, end, lang)) {
			out = append(out, exit{int(s.tokens[i].line), w})
		}
	}
	return out
}

// assertsBefore looks for an assertion, or a skip, in the block that token i
// stands in, before it.
func (s *source) assertsBefore(i, from int, lang string) bool {
	depth, at := 0, s.indent(i)
	for j := i - 1; j > from && j >= 0; j-- {
		switch s.word(j) {
		case "}":
			depth++
		case "{":
			if depth--; depth < 0 {
				return false
			}
		}
		if (lang == "python" || lang == "ruby") && s.indent(j) < at {
			return false
		}
		if w := s.word(j); s.asserts(j, lang) || s.skips(j, lang) != "" || w == "panic" || w == "raise" || w == "throw" {
			return true
		}
	}
	return false
}

// assertsAfter looks for an assertion behind token i, in the function that it
// stands in.
func (s *source) assertsAfter(i, end int, lang string) bool {
	depth := 0
	for j := i; j < end; j++ {
		switch s.word(j) {
		case "{":
			depth++
		case "}":
			depth--
			if depth < 0 && s.closesFunction(j) {
				return false
			}
		}
		if s.asserts(j, lang) {
			return true
		}
	}
	return false
}

// closesFunction says that the bracket at token i ends a function within a test.
func (s *source) closesFunction(i int) bool {
	depth := 0
	for j := i; j >= 0; j-- {
		switch s.word(j) {
		case "}":
			depth++
		case "{":
			if depth--; depth > 0 {
				continue
			}
			for k := j - 1; k >= 0 && s.tokens[k].line == s.tokens[j].line; k-- {
				if w := s.word(k); w == "func" || w == "function" || w == ">" && s.word(k-1) == "=" {
					return true
				}
			}
			return false
		}
	}
	return false
}

// chooses are words that take some of many.
var chooses = set("filter islice takewhile dropwhile slice select reject take limit first head sample drop skip find_all Where Take Skip")

// narrowed are what a test goes over, where that chooses among what there is.
func (s *source) narrowed(from, end int, lang string) map[string]int {
	out := map[string]int{}
	start := max(from, 0)
	for j := start - 1; j >= 0 && start-j < 400; j-- { // parameters stand above
		if w := s.word(j); w == "def" || w == "class" || w == "func" || w == "function" || w == "}" {
			break
		}
		if s.word(j) == "@" {
			start = j
		}
	}
	for i := start; i < end; i++ {
		head := -1
		switch w := s.word(i); {
		case s.isText(i):
		case (w == "range" || w == "of") && s.word(i+1) != "(", w == "in" && s.onLineWord(i, "for"):
			head = i + 1
		case (w == "parametrize" || w == "each" || w == "expand") && s.word(i+1) == "(", w == "foreach" && s.word(i+1) == "(":
			head = i + 2
		}
		if head < 0 {
			continue
		}
		last := s.headEnd(head, end)
		if s.choosesIn(head, last) {
			out[s.joined(head, last)] = int(s.tokens[i].line)
		}
		i = max(i, last-1)
	}
	return out
}

func (s *source) onLineWord(i int, w string) bool {
	for j := i; j >= 0 && s.tokens[j].line == s.tokens[i].line; j-- {
		if s.word(j) == w {
			return true
		}
	}
	return false
}

// headEnd is the token behind what is gone over.
func (s *source) headEnd(i, end int) int {
	depth := 0
	for j := i; j < end; j++ {
		switch s.word(j) {
		case "{":
			if depth == 0 {
				return j
			}
			depth++
		case "(", "[":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return j
			}
		case ":":
			if depth == 0 {
				return j
			}
		}
	}
	return end
}

func (s *source) choosesIn(from, end int) bool {
	for j := from; j < end; j++ {
		w := s.word(j)
		if s.isText(j) {
			continue
		}
		if chooses[w] && s.word(j+1) == "(" || w == "if" || w == ":" && s.inBrackets(j, from) {
			return true
		}
	}
	return false
}

// inBrackets says that token i stands right in square brackets behind a name:
// rows[1:3].
func (s *source) inBrackets(i, from int) bool {
	depth := 0
	for j := i - 1; j >= from; j-- {
		switch s.word(j) {
		case ")", "]", "}":
			depth++
		case "(", "{":
			if depth--; depth < 0 {
				return false
			}
		case "[":
			if depth--; depth < 0 {
				return isWordByte0(s.word(j-1)) && !s.isText(j-1)
			}
		}
	}
	return false
}

func (s *source) joined(from, end int) string {
	var b strings.Builder
	for j := from; j < end; j++ {
		b.Write(s.bytes(s.tokens[j]))
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// easier compares what a test is about, where it may end, and what it goes over.
// elsewhere are the statements of all evidence as it is.
func easier(a, b test, elsewhere []input) []Weakness {
	out := lostInputs(a, b, elsewhere)
	if more := len(b.exits) - len(a.exits); more > 0 {
		for _, e := range b.exits[len(b.exits)-more:] {
			out = append(out, Weakness{KindAssertion, b.path, e.line, fmt.Sprintf("test %s may leave by %s before it asserts", b.name, e.what)})
		}
	}
	for head, line := range b.narrow {
		if _, known := a.narrow[head]; !known && len(b.narrow) > len(a.narrow) {
			out = append(out, Weakness{KindCase, b.path, line, fmt.Sprintf("test %s goes over %q only", b.name, texts.OneLine(head, mostQuoted))})
		}
	}
	return out
}

func lostInputs(a, b test, elsewhere []input) []Weakness {
	fresh := slices.Clone(b.inputs)
	var lost []input
	for _, one := range a.inputs {
		if at := slices.IndexFunc(fresh, func(f input) bool { return f.full == one.full }); at >= 0 {
			fresh = slices.Delete(fresh, at, at+1)
		} else if !slices.ContainsFunc(elsewhere, func(f input) bool { return f.full == one.full }) {
			lost = append(lost, one)
		}
	}
	var out []Weakness
	for _, one := range lost {
		at := slices.IndexFunc(fresh, func(f input) bool { return f.form == one.form })
		switch {
		case at >= 0:
			out = append(out, Weakness{KindExpectation, b.path, fresh[at].line, fmt.Sprintf("test %s had %q and now has %q", b.name, texts.OneLine(one.full, mostQuoted), texts.OneLine(fresh[at].full, mostQuoted))})
			fresh = slices.Delete(fresh, at, at+1)
		case !one.assigns && len(b.inputs) < len(a.inputs):
			out = append(out, Weakness{KindCase, b.path, b.line, fmt.Sprintf("test %s no longer has %q", b.name, texts.OneLine(one.full, mostQuoted))})
		}
	}
	return out
}
