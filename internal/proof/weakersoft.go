package proof

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// markedBefore names the mark above a test that skips it.
func (s *source) markedBefore(i int, lang string) string {
	line := s.tokens[i].line
	for j := i - 1; j >= 0 && j > i-80; j-- {
		w := s.word(j)
		t := s.tokens[j]
		if lang == "python" {
			// Decorators: lines that begin with @ right above.
			if s.tokens[j].line == line {
				continue
			}
			start := j
			for start > 0 && s.tokens[start-1].line == t.line {
				start--
			}
			if s.word(start) != "@" && s.word(start) != ")" && s.indent(start) <= s.indent(i) {
				return ""
			}
			if strings.HasPrefix(strings.ToLower(w), "skip") || w == "xfail" || w == "expectedFailure" {
				return "@" + w
			}
			continue
		}
		switch {
		case w == "}" || w == ";" || w == "{" && lang != "c":
			return ""
		case lang == "rust" && (w == "ignore" || w == "should_panic") && s.word(j-1) == "[", lang == "java" && (w == "Disabled" || w == "Ignore" || w == "Skip" || strings.HasPrefix(w, "DisabledIf") || strings.HasPrefix(w, "EnabledIf")):
			return w
		}
	}
	return ""
}

// readCases notes the rows of tables in a test, and of the parameters above it:
// each list, tuple or struct that holds literals alone.
func (s *source) readCases(t *test, from, end int) {
	start := max(from, 0)
	// Parameters stand above: up to the end of what comes before.
	for j := start - 1; j >= 0 && start-j < 400; j-- {
		if w := s.word(j); w == "def" || w == "func" || w == "fn" || w == "function" || w == "class" || w == "}" && s.lang != "rust" && s.lang != "java" {
			break
		}
		if w := s.word(j); w == "@" || w == "#" {
			start = j
		}
	}
	for i := start; i < end; i++ {
		w := s.word(i)
		if w != "[" && w != "(" && w != "{" {
			continue
		}
		last, row := s.row(i, end)
		if last > 0 && row != "" {
			t.cases = append(t.cases, row)
			i = last
		}
	}
}

// row is a bracket that holds two literals or more, and nothing but literals,
// names of fields and the like of them.
func (s *source) row(i, end int) (last int, body string) {
	before := s.word(i - 1)
	if s.word(i) == "(" && isWordByte0(before) && before != "in" && before != "return" || assertWord(before) {
		return 0, ""
	}
	last = s.closes(i)
	if last < 0 || last >= end || last-i > 60 || last-i < 3 {
		return 0, ""
	}
	literals := 0
	var b strings.Builder
	for j := i + 1; j < last; j++ {
		w := s.word(j)
		switch {
		case s.isText(j):
			literals++
			w = `"` + s.inner(s.tokens[j]) + `"`
		case w != "" && w[0] >= '0' && w[0] <= '9', w == "true", w == "false", w == "True", w == "False", w == "None", w == "nil", w == "null":
			literals++
		case w == "," || w == ":" || w == "-" || w == "." || w == "=" || w == ">":
		case isWordByte0(w) && (s.word(j+1) == ":" || s.word(j+1) == "="):
		default:
			return 0, ""
		}
		if w != "," {
			b.WriteString(w + " ")
		} else {
			b.WriteString(", ")
		}
	}
	if literals < 2 {
		return 0, ""
	}
	return last, strings.Trim(b.String(), ", ")
}

// tolerances are words whose number says how far off is near enough.
var tolerances = set("rel abs atol rtol delta places epsilon eps tolerance tol toBeCloseTo closeTo approximately InDelta InEpsilon approx rel_tol abs_tol precision Delta")

// softerCode compares what is not bound to one test: what swallows failures,
// tolerances, and folders of tests that are left out.
func softerCode(p string, was, now []byte) []Weakness {
	lang := language(p)
	a, b := lex(lang, was).code(), lex(lang, now).code()
	var out []Weakness
	old := a.swallows()
	for line, what := range b.swallows() {
		if !slices.Contains(valuesOf(old), what) {
			out = append(out, Weakness{KindSwallowed, p, line, what})
		}
	}
	before, after := a.tolerances(), b.tolerances()
	for key, list := range after {
		for n, now := range list {
			if n >= len(before[key]) {
				break
			}
			was := before[key][n]
			wider := now.value > was.value
			if key == "places" || key == "toBeCloseTo" || key == "precision" {
				wider = now.value < was.value
			}
			if wider && len(list) == len(before[key]) {
				out = append(out, Weakness{KindTolerance, p, now.line, fmt.Sprintf("%s was %v and is %v", key, was.value, now.value)})
			}
		}
	}
	out = append(out, newConstraints(p, was, now)...)
	if isTestName(path.Base(p)) || IsTestFile(p) {
		out = append(out, newHooks(p, a, b)...)
	}
	return out
}

func valuesOf(m map[int]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// swallows finds handlers that take a failed assertion and say nothing.
func (s *source) swallows() map[int]string {
	out := map[int]string{}
	for i := range s.tokens {
		w, line := s.word(i), int(s.tokens[i].line)
		switch s.lang {
		case "python":
			if w == "except" {
				j := i
				for j < len(s.tokens) && s.word(j) != ":" {
					j++
				}
				if s.word(j+1) == "pass" || s.word(j+1) == "return" || s.word(j+1) == "." {
					out[line] = "a failure is caught and nothing is made of it"
				}
			}
			if w == "suppress" && strings.Contains(s.word(i+2), "Exception") || w == "suppress" && s.word(i+2) == "AssertionError" {
				out[line] = "failures are suppressed"
			}
		case "script", "java", "php":
			if w == "catch" {
				j := i + 1
				if s.word(j) == "(" {
					if j = s.closes(j) + 1; j <= 0 {
						continue
					}
				}
				if s.word(j) == "{" && s.word(j+1) == "}" {
					out[line] = "a failure is caught and nothing is made of it"
				}
			}
		case "go":
			if w == "recover" && s.word(i+1) == "(" {
				out[line] = "a panic is recovered from"
			}
		case "ruby":
			if w == "rescue" && (s.word(i+1) == "end" || s.word(i+2) == "end" || s.word(i+1) == "nil") {
				out[line] = "a failure is rescued and nothing is made of it"
			}
		case "shell":
			if w == "|" && s.word(i+1) == "|" && (s.word(i+2) == "true" || s.word(i+2) == ":") {
				out[line] = "a failure is let pass with || true"
			}
			if w == "set" && s.word(i+1) == "+" && s.word(i+2) == "e" {
				out[line] = "failures no longer end the script (set +e)"
			}
		}
	}
	return out
}

type tolerance struct {
	value float64
	line  int
}

func (s *source) tolerances() map[string][]tolerance {
	out := map[string][]tolerance{}
	for i := range s.tokens {
		w := s.word(i)
		if !tolerances[w] {
			continue
		}
		j := i + 1
		if s.word(j) == "(" { // the last number of the call
			end := s.closes(j)
			for k := end - 1; k > j; k-- {
				if v, ok := s.number(k); ok {
					out[w] = append(out[w], tolerance{v, int(s.tokens[i].line)})
					break
				}
			}
			continue
		}
		for j < len(s.tokens) && (s.word(j) == "=" || s.word(j) == ":") {
			j++
		}
		if v, ok := s.number(j); ok && j > i+1 {
			out[w] = append(out[w], tolerance{v, int(s.tokens[i].line)})
		}
	}
	return out
}

// number reads one that the reader may have cut at its point or sign.
func (s *source) number(i int) (float64, bool) {
	w := s.word(i)
	if w == "" || w[0] < '0' || w[0] > '9' || s.word(i-1) == "." && i > 1 && s.tokens[i-1].to == s.tokens[i].from && isDigits(s.word(i-2)) {
		if s.word(i-1) == "." && isDigits(w) {
			return s.number(i - 2)
		}
		return 0, false
	}
	raw := w
	for j := i + 1; j < len(s.tokens) && s.tokens[j].from == s.tokens[j-1].to; j++ {
		next := s.word(j)
		if next != "." && next != "-" && next != "+" && !isWordByte0(next) || (next == "-" || next == "+") && !strings.HasSuffix(strings.ToLower(raw), "e") {
			break
		}
		raw += next
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(raw, "fFlL"), "_", ""), 64)
	return v, err == nil
}

func isDigits(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

var buildConstraint = expr(`(?m)^(//go:build .*|// \+build .*|#!\[cfg\(.*\)\]|pytestmark\s*=.*skip.*|collect_ignore(_glob)?\s*=.*|__test__\s*=\s*False|#\s*requires .*)$`)

// newConstraints finds what takes a whole file out of the run.
func newConstraints(p string, was, now []byte) []Weakness {
	var out []Weakness
	old := buildConstraint().FindAllString(string(was), -1)
	for _, at := range buildConstraint().FindAllStringIndex(string(now), -1) {
		if line := string(now[at[0]:at[1]]); !slices.Contains(old, line) {
			out = append(out, Weakness{KindSkipped, p, lineAt(now, at[0]), "the file is run only where this holds: " + line})
		}
	}
	return out
}

func lineAt(src []byte, at int) int { return 1 + strings.Count(string(src[:at]), "\n") }

// hooks are what runs before or around all tests of a package.
var hooks = set("TestMain pytest_collection_modifyitems pytest_runtest_makereport pytest_runtest_call pytest_pyfunc_call pytest_ignore_collect pytest_sessionfinish pytest_assertrepr_compare pytest_configure pytest_runtest_protocol load_tests")

// newHooks finds hooks of the runner, and ends of the process, among tests.
func newHooks(p string, a, b source) []Weakness {
	find := func(s source) map[string]int {
		out := map[string]int{}
		for i := range s.tokens {
			w := s.word(i)
			switch {
			case hooks[w] && (s.word(i-1) == "def" || s.word(i-1) == "func"):
				out[w+" changes how all tests run"] = int(s.tokens[i].line)
			case s.lang == "go" && w == "init" && s.word(i-1) == "func":
				out["init runs before all tests"] = int(s.tokens[i].line)
			case (w == "Exit" || w == "_exit" || w == "exit") && s.word(i-1) == "." && s.word(i+1) == "(" && (s.word(i-2) == "os" || s.word(i-2) == "sys" || s.word(i-2) == "process"):
				out[s.word(i-2)+"."+w+" ends the run"] = int(s.tokens[i].line)
			}
		}
		return out
	}
	old := find(a)
	var out []Weakness
	for what, line := range find(b) {
		if _, known := old[what]; !known {
			out = append(out, Weakness{KindSwallowed, p, line, what})
		}
	}
	return out
}

// disarming looks at evidence that is new: alone it adds, but it may reach into
// what was there.
func disarming(p string, now []byte) []Weakness {
	if lang := language(p); lang != "" {
		empty, b := lex(lang, nil), lex(lang, now).code()
		return newHooks(p, empty, b)
	}
	return nil
}
