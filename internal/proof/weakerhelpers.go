package proof

import (
	"fmt"
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// outside is what a test file asserts outside of its tests, in the helpers that
// they call. It stands for one test more, which keeps what it said.
func (s *source) outside(p, lang string, inside []test) (test, bool) {
	t := test{path: p, name: "helpers of " + path.Base(p), line: 1, from: -1}
	if len(inside) == 0 && isTestName(path.Base(p)) || !isTestName(path.Base(p)) && !IsTestFile(p) || lang == "c" {
		return t, false // read as a whole, or no helpers of tests
	}
	for i := 0; i < len(s.tokens); i++ {
		if _, _, ok := s.declares(i, lang); ok {
			i = max(i, s.bodyEnd(i, lang)-1)
			continue
		}
		w, before := s.word(i), s.word(i-1)
		defines := before == "def" || before == "func" || before == "function" || before == "fn"
		if isWordByte0(w) && !s.isText(i) && !defines && !s.onLineWord(i, "import") && !s.onLineWord(i, "use") && s.asserts(i, lang) {
			i = s.claim(&t, i, len(s.tokens), lang)
		}
	}
	return t, len(t.claims) > 0
}

// uncalled says that token i stands in a function within a test that has a name
// by which nothing calls it.
func (s *source) uncalled(i, from, end int, lang string) bool {
	if lang == "python" {
		return s.uncalledByIndent(i, from, end)
	}
	depth := 0
	for j := i - 1; j > from && j >= 0; j-- {
		switch s.word(j) {
		case "}":
			depth++
		case "{":
			if depth--; depth >= 0 {
				continue
			}
			depth = 0
			if name := s.closureName(j, from); name >= 0 && !s.usedElsewhere(name, from, end) {
				return true
			}
		}
	}
	return false
}

func (s *source) uncalledByIndent(i, from, end int) bool {
	at := s.indent(i)
	for j := i - 1; j > from && j >= 0; j-- {
		if j > 0 && s.tokens[j-1].line == s.tokens[j].line || s.indent(j) >= at {
			continue
		}
		at = s.indent(j)
		if s.word(j) == "def" && !s.usedElsewhere(j+1, from, end) && s.word(j-1) != "@" && !s.decorated(j) {
			return true
		}
	}
	return false
}

// decorated says that the line above token i is a decorator, which may call.
func (s *source) decorated(i int) bool {
	for j := i - 1; j >= 0; j-- {
		if j == 0 || s.tokens[j-1].line < s.tokens[j].line {
			return s.word(j) == "@"
		}
	}
	return false
}

// closureName is the token of the name that the function whose body begins at
// the bracket at token open is given; -1 = it has none, or is no function.
func (s *source) closureName(open, from int) int {
	line := s.tokens[open].line
	function, first := false, open
	for j := open - 1; j > from && j >= 0 && s.tokens[j].line == line; j-- {
		w := s.word(j)
		if w == "{" || w == "}" || w == ";" {
			break
		}
		function = function || w == "func" || w == "function" || w == "fn" || w == "|" || w == ">" && s.word(j-1) == "="
		first = j
	}
	if !function {
		return -1
	}
	for j := first; j < open; j++ {
		switch w := s.word(j); {
		case w == "let" || w == "mut" || w == "const" || w == "var" || w == "async":
		case (w == "function" || w == "fn") && isWordByte0(s.word(j+1)):
			return j + 1
		case isWordByte0(w) && (s.word(j+1) == "=" || s.word(j+1) == ":"):
			return j
		default:
			return -1
		}
	}
	return -1
}

func (s *source) usedElsewhere(name, from, end int) bool {
	w := s.word(name)
	for j := max(from, 0); j < min(end, len(s.tokens)); j++ {
		if j != name && s.word(j) == w && w != "_" {
			return true
		}
	}
	return false
}

// standIns are words by which tests put something in the place of what they call.
var standIns = set(`Mock MagicMock AsyncMock patch object setattr monkeypatch mocker stub stub_const spyOn fn mockReturnValue mockImplementation mockReturnValueOnce receive
	createMock createStub when thenReturn replace method replaceGetter stubs expects double`)

// standsIn names what a test calls in its assertions and gives another meaning:
// by a variable or a parameter of its name, or by putting a stand-in there.
func (s *source) standsIn(from, end int, lang string, claims []claim) map[string]int {
	called := map[string]bool{}
	for _, c := range claims {
		words := strings.Fields(c.full)
		for i, w := range words {
			if i+1 < len(words) && words[i+1] == "(" && isWordByte0(w) && !assertWord(w) {
				called[w] = true
			}
		}
	}
	out := map[string]int{}
	for i := max(from, 0); i < end; i++ {
		w := s.word(i)
		if s.isText(i) {
			text := s.inner(s.tokens[i])
			w = text[strings.LastIndexAny(text, ".:/")+1:]
		}
		if !called[w] || s.word(i-1) == "." && !s.isText(i) {
			continue
		}
		next, after := s.word(i+1), s.word(i+2)
		assigned := !s.isText(i) && (next == "=" && after != "=" && after != ">" || next == ":" && after == "=") && s.startsStatement(i)
		if assigned || (s.isText(i) || s.word(i-1) == ":") && s.onLineStandIn(i) {
			out[w] = int(s.tokens[i].line)
		}
	}
	if lang == "python" && from >= 0 && s.word(from) == "def" {
		for i := from + 2; i < s.closes(from+2); i++ {
			if called[s.word(i)] {
				out[s.word(i)] = int(s.tokens[i].line)
			}
		}
	}
	return out
}

// startsStatement says that token i is the first of its statement, but for what
// declares a variable.
func (s *source) startsStatement(i int) bool {
	if i == 0 || s.tokens[i-1].line < s.tokens[i].line {
		return true
	}
	switch s.word(i - 1) {
	case "let", "const", "var", "mut", ";", "{", "}":
		return true
	}
	return false
}

func (s *source) onLineStandIn(i int) bool {
	for j := i; j >= 0 && s.tokens[j].line == s.tokens[i].line; j-- {
		if standIns[s.word(j)] && !s.isText(j) {
			return true
		}
	}
	return false
}

func newStandIns(a, b test) []Weakness {
	var out []Weakness
	for name, line := range b.standIns {
		if _, known := a.standIns[name]; !known {
			out = append(out, Weakness{KindAssertion, b.path, line, fmt.Sprintf("test %s asks a stand-in for %s", b.name, name)})
		}
	}
	return out
}

// loops are the heads of loops whose numbers say how often they run.
func (s *source) loops(from, end int) []input {
	var out []input
	for i := max(from, 0); i < end; i++ {
		w := s.word(i)
		if s.isText(i) || w != "for" && w != "while" && w != "until" {
			continue
		}
		last := s.headEnd(i+1, end)
		if s.word(i+1) == "(" {
			if last = s.closes(i + 1); last < 0 {
				continue
			}
		}
		one := input{line: int(s.tokens[i].line)}
		var form strings.Builder
		for j := i + 1; j < last; j++ {
			if w := s.word(j); isDigits(w) {
				form.WriteString("# ")
			} else {
				form.WriteString(w + " ")
			}
		}
		one.form, one.full = form.String(), s.joined(i+1, last)
		if strings.Contains(one.form, "#") && last-i < 40 {
			out = append(out, one)
		}
	}
	return out
}

// shorterLoops compares them. One that only ends later is not shorter.
func shorterLoops(a, b test) []Weakness {
	fresh := slices.Clone(b.loops)
	var out []Weakness
	for _, one := range a.loops {
		if at := slices.IndexFunc(fresh, func(f input) bool { return f.full == one.full }); at >= 0 {
			fresh = slices.Delete(fresh, at, at+1)
			continue
		}
		at := slices.IndexFunc(fresh, func(f input) bool { return f.form == one.form })
		if at < 0 {
			continue
		}
		if !endsLater(one.full, fresh[at].full) {
			out = append(out, Weakness{KindCase, b.path, fresh[at].line, fmt.Sprintf("test %s went over %q and now over %q", b.name, texts.OneLine(one.full, mostQuoted), texts.OneLine(fresh[at].full, mostQuoted))})
		}
		fresh = slices.Delete(fresh, at, at+1)
	}
	return out
}

// endsLater says that of two heads of one form only the last number is another,
// and a larger one.
func endsLater(was, now string) bool {
	a, b := strings.Fields(was), strings.Fields(now)
	last := -1
	for i, w := range a {
		if isDigits(w) {
			last = i
		}
	}
	if last < 0 || len(a) != len(b) {
		return false
	}
	for i := range a {
		if i != last && a[i] != b[i] {
			return false
		}
	}
	return len(b[last]) > len(a[last]) || len(b[last]) == len(a[last]) && b[last] > a[last]
}

// leavesLoop says that the break or return at token i leaves a loop that asserts
// before it, and so does not ask about the rest.
func (s *source) leavesLoop(i, from, end int, lang string) bool {
	if w := s.word(i); w != "break" && w != "return" {
		return false
	}
	if lang == "python" || lang == "ruby" {
		at := s.indent(i)
		for j := i - 1; j > from && j >= 0; j-- {
			if j > 0 && s.tokens[j-1].line == s.tokens[j].line || s.indent(j) >= at {
				continue
			}
			at = s.indent(j)
			if w := s.word(j); w == "for" || w == "while" || w == "until" {
				return s.assertsIn(j, i, lang)
			}
		}
		return false
	}
	depth := 0
	for j := i - 1; j > from && j >= 0; j-- {
		switch s.word(j) {
		case "}":
			depth++
		case "{":
			if depth--; depth >= 0 {
				continue
			}
			depth = 0
			switch {
			case s.onLineWord(j, "switch"), s.onLineWord(j, "select"), s.onLineWord(j, "match"), s.onLineWord(j, "func"), s.onLineWord(j, "function"):
				return false
			case s.onLineWord(j, "for"), s.onLineWord(j, "while"), s.onLineWord(j, "loop"), s.onLineWord(j, "foreach"):
				return s.assertsIn(j, i, lang)
			}
		}
	}
	return false
}

func (s *source) assertsIn(from, end int, lang string) bool {
	for j := from; j < end; j++ {
		if s.asserts(j, lang) {
			return true
		}
	}
	return false
}

// constants are the names that a test file gives numbers or texts to outside of
// its tests.
func constants(p string, content []byte) map[string]tableRow {
	lang := language(p)
	if lang == "" || content == nil || len(content) >= maxSettings || !isTestName(path.Base(p)) && !IsTestFile(p) {
		return nil
	}
	s := lex(lang, content).code()
	out := map[string]tableRow{}
	for i := 0; i < len(s.tokens); i++ {
		if _, _, ok := s.declares(i, lang); ok {
			i = max(i, s.bodyEnd(i, lang)-1)
			continue
		}
		if s.indent(i) > 0 && s.lang != "java" && s.lang != "php" || !isWordByte0(s.word(i)) || s.isText(i) || s.word(i+1) != "=" || s.word(i+2) == "=" || s.word(i-1) == "." {
			continue
		}
		at := i + 2
		if s.word(at) == "-" {
			at++
		}
		value, number := s.number(at)
		ends := at+1 >= len(s.tokens) || s.tokens[at+1].line > s.tokens[at].line || s.word(at+1) == ";"
		switch {
		case number:
			out[s.word(i)] = tableRow{strings.TrimSpace(s.joined(i+2, at) + fmt.Sprint(value)), int(s.tokens[i].line)}
		case s.isText(at) && ends:
			out[s.word(i)] = tableRow{`"` + s.inner(s.tokens[at]) + `"`, int(s.tokens[i].line)}
		}
	}
	return out
}

// otherConstants names those that have another value now.
func otherConstants(p string, was, now []byte) []Weakness {
	var out []Weakness
	fresh := constants(p, now)
	for name, old := range constants(p, was) {
		if one, ok := fresh[name]; ok && one.row != old.row {
			out = append(out, Weakness{KindExpectation, p, one.line, fmt.Sprintf("%s was %s and is %s", name, texts.OneLine(old.row, mostQuoted), texts.OneLine(one.row, mostQuoted))})
		}
	}
	return out
}
