package proof

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// assigned is what a test gives a name.
type assigned struct {
	value   string
	literal bool
	line    int
}

// assigns are the statements between two tokens that give a name a value. A
// member counts by its own name: row.want is want.
func (s *source) assigns(from, end int) map[string][]assigned {
	out := map[string][]assigned{}
	for i := max(from, 0); i < end; i++ {
		w := s.word(i)
		if s.isText(i) || !isWordByte0(w) || begins[w] {
			continue
		}
		at := i + 1
		if s.word(at) == ":" {
			at++
		}
		if s.word(at) != "=" || s.word(at+1) == "=" || s.word(at+1) == ">" || s.tokens[at].line != s.tokens[i].line || !s.startsTarget(i) {
			continue
		}
		last := s.statement(at+1, end)
		if last < at+1 || last-at > 80 {
			continue
		}
		if s.word(last) == ";" {
			last--
		}
		out[w] = append(out[w], assigned{s.joined(at+1, last+1), s.literals(at+1, last), int(s.tokens[i].line)})
	}
	return out
}

// startsTarget says that the name at token i, with what it is a member of, begins
// its statement.
func (s *source) startsTarget(i int) bool {
	for s.word(i-1) == "." && i > 1 && isWordByte0(s.word(i-2)) {
		i -= 2
	}
	return s.startsStatement(i)
}

// literals says that there is nothing but literals, and what groups them.
func (s *source) literals(from, last int) bool {
	found := false
	for j := from; j <= last; j++ {
		switch w := s.word(j); {
		case s.isText(j), isDigits(w), w == "true", w == "false", w == "True", w == "False":
			found = true
		case strings.Contains("[](){},-.:", w):
		default:
			return false
		}
	}
	return found
}

// otherNames compares what a test gives the names that its assertions are about.
// A name that gets one value more, or another one where it had a literal, makes
// an assertion say something else with the same words.
func otherNames(a, b test) []Weakness {
	var out []Weakness
	for _, name := range slices.Sorted(maps.Keys(b.assigned)) {
		before, after := about(a.claims, name), about(b.claims, name)
		if before == 0 || after > before {
			continue
		}
		was, now := a.assigned[name], b.assigned[name]
		last := now[len(now)-1]
		if len(now) > max(len(was), 1) || len(was) == 0 && !last.literal && b.parts[name] {
			out = append(out, Weakness{KindAssertion, b.path, last.line, fmt.Sprintf("test %s makes %s %q before it asks about it", b.name, name, texts.OneLine(last.value, mostQuoted))})
			continue
		}
		for i, one := range was {
			if one.literal && i < len(now) && now[i].value != one.value {
				out = append(out, Weakness{KindExpectation, b.path, now[i].line, fmt.Sprintf("test %s had %s = %s and now %s", b.name, name, texts.OneLine(one.value, mostQuoted), texts.OneLine(now[i].value, mostQuoted))})
				break
			}
		}
	}
	return out
}

// about counts the assertions that name something.
func about(claims []claim, name string) int {
	n := 0
	for _, c := range claims {
		if slices.Contains(strings.Fields(c.full), name) {
			n++
		}
	}
	return n
}

// parts are the names by which assertions ask for parts of something.
func parts(claims []claim) map[string]bool {
	out := map[string]bool{}
	for _, c := range claims {
		words := strings.Fields(c.full)
		for i, w := range words {
			if w == "." && i+1 < len(words) {
				out[words[i+1]] = true
			}
		}
	}
	return out
}

// defines are the names that a file gives a meaning outside of its tests.
func defines(p string, content []byte) map[string]int {
	lang := language(p)
	if lang == "" || content == nil || len(content) >= maxSettings {
		return nil
	}
	s := lex(lang, content).code()
	out := map[string]int{}
	for i := 0; i < len(s.tokens); i++ {
		if _, _, ok := s.declares(i, lang); ok {
			i = max(i, s.bodyEnd(i, lang)-1)
			continue
		}
		w := s.word(i)
		if s.isText(i) || !isWordByte0(w) || s.indent(i) > 0 && lang != "java" && lang != "php" {
			continue
		}
		switch s.word(i - 1) {
		case "def", "func", "function", "fn", "define", "class", "struct":
			out[w] = int(s.tokens[i].line)
			continue
		}
		defined := (lang == "c" || lang == "shell" || lang == "java") && s.word(i+1) == "(" && s.word(s.closes(i+1)+1) == "{"
		assigned := s.word(i+1) == "=" && s.word(i+2) != "=" && s.startsStatement(i) && !s.passesOn(i)
		if defined || assigned {
			out[w] = int(s.tokens[i].line)
		}
	}
	return out
}

// passesOn says that the name at token i gets what something else has by that name.
func (s *source) passesOn(i int) bool {
	last := s.statement(i+2, len(s.tokens))
	if s.word(last) == ";" {
		last--
	}
	return last > i+2 && s.word(last) == s.word(i) && s.word(last-1) == "."
}

// ownMeanings are names that the tests of a file called, and that the file gives a
// meaning of its own now, which no evidence had before.
func ownMeanings(p string, now []byte, before []test, all map[string][]byte) []Weakness {
	if !isTestName(path.Base(p)) && !IsTestFile(p) {
		return nil
	}
	old := map[string]int{}
	for other, content := range all {
		maps.Copy(old, defines(other, content))
	}
	var out []Weakness
	for name, line := range defines(p, now) {
		if _, known := old[name]; known {
			continue
		}
		if slices.ContainsFunc(before, func(t test) bool { return t.path == p && t.calls[name] }) {
			out = append(out, Weakness{KindAssertion, p, line, fmt.Sprintf("the file gives %s, which its tests call, a meaning of its own", name)})
		}
	}
	return out
}

// callsIn are the names that are called between two tokens.
func (s *source) callsIn(from, end int) map[string]bool {
	out := map[string]bool{}
	for i := max(from, 0); i < end; i++ {
		if w := s.word(i); isWordByte0(w) && !s.isText(i) && !begins[w] && (s.word(i+1) == "(" || s.lang == "shell" && s.startsStatement(i)) && s.word(i-1) != "." {
			out[w] = true
		}
	}
	return out
}
