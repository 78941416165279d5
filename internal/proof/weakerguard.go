package proof

import (
	"fmt"

	texts "forge/internal/text"
)

// guardedNow names the assertions of a test that stood by themselves and are
// reached, or fail it, only under a condition now.
func guardedNow(a, b test) []Weakness {
	free, freeNow := map[string]int{}, map[string]int{}
	for _, c := range a.claims {
		if !c.guarded {
			free[c.full]++
		}
	}
	for _, c := range b.claims {
		if !c.guarded {
			freeNow[c.full]++
		}
	}
	var out []Weakness
	for _, c := range b.claims {
		if c.guarded && freeNow[c.full] < free[c.full] {
			free[c.full]--
			out = append(out, Weakness{KindAssertion, b.path, c.line, fmt.Sprintf("test %s says %q under a condition only", b.name, texts.OneLine(c.full, mostQuoted))})
		}
	}
	return out
}

var (
	conditions = set("if elif else unless try except rescue catch while switch case match when")
	// sameLine are the conditions that stand before a statement on its line.
	sameLine = set("if unless while and or")
)

// guarded says that the statement at token i stands under a condition within
// its test, which begins at token from.
func (s *source) guarded(i, from int, lang string) bool {
	if i < 0 || i >= len(s.tokens) {
		return false
	}
	for j := i - 1; j > from && j >= 0 && s.tokens[j].line == s.tokens[i].line; j-- {
		if w := s.word(j); sameLine[w] || lang != "shell" && (w == "&" || w == "|") && s.word(j-1) == w {
			return true
		}
		if s.word(j) == ";" || s.word(j) == "{" || s.word(j) == "}" {
			break
		}
	}
	if lang == "python" || lang == "ruby" {
		return s.guardedByIndent(i, from)
	}
	return s.guardedByBraces(i, from)
}

func (s *source) guardedByIndent(i, from int) bool {
	at := s.indent(i)
	for j := i - 1; j > from && j >= 0; j-- {
		if j > 0 && s.tokens[j-1].line == s.tokens[j].line {
			continue // not the first of its line
		}
		if in := s.indent(j); in < at {
			if at = in; conditions[s.word(j)] {
				return true
			}
		}
	}
	return false
}

func (s *source) guardedByBraces(i, from int) bool {
	if s.word(i-1) == ")" && s.before(i-1, from) {
		return true // if (…) statement
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
			case conditions[s.word(j-1)]:
				return true
			case s.word(j-1) == ")" && s.before(j-1, from):
				return true
			case s.onLine(j, from):
				return true // Go's and Rust's have no brackets
			}
		}
	}
	return false
}

// before says that the bracket which token i closes follows a condition.
func (s *source) before(i, from int) bool {
	depth := 0
	for j := i; j > from && j >= 0; j-- {
		switch s.word(j) {
		case ")":
			depth++
		case "(":
			if depth--; depth == 0 {
				return conditions[s.word(j-1)]
			}
		}
	}
	return false
}

// onLine says that a condition begins the line that token i ends.
func (s *source) onLine(i, from int) bool {
	first := i
	for first > from+1 && first > 0 && s.tokens[first-1].line == s.tokens[i].line {
		first--
	}
	return s.word(first) == "if" || s.word(first) == "match" || s.word(first) == "}" && s.word(first+1) == "else"
}
