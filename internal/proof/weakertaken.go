package proof

import (
	"bytes"
	"maps"
	"path"
	"strings"
)

// alike writes calls of what tests take from a module alike in both states, where one
// names the module before it and the other does not: calc.add is add. Of Go that is
// the package beside which tests stand in one state and within it in the other. All
// else is as it was.
func (m *Map) alike(was, now map[string][]byte) (before, after map[string][]byte) {
	before, after = maps.Clone(was), maps.Clone(now)
	for p, a := range was {
		b := now[p]
		if a == nil || b == nil {
			continue
		}
		var shortA, shortB []byte
		switch lang := language(p); lang {
		case "go":
			shortA, shortB = m.fromInside(p, a, b), m.fromInside(p, b, a)
		case "python", "script":
			shortA, shortB = shortened(lang, a, b), shortened(lang, b, a)
		}
		if shortA != nil {
			before[p] = shortA
		}
		if shortB != nil {
			after[p] = shortB
		}
	}
	return before, after
}

// taken is what a file takes from modules.
type taken struct {
	names  map[string]map[string]bool // by module, each by its own name
	whole  map[string]string          // modules, by the name that each is given
	bound  map[string]int             // how often a name is given something of a module
	within map[int]bool               // tokens of the statements that take
	all    bool                       // all that a module holds, whatever that is called
}

// shortened is a file without the names of modules before what another state of it
// takes from them by itself, each line where it was; nil where there is none, or a
// name of a module stands for anything else as well.
func shortened(lang string, content, other []byte) []byte {
	s, o := lex(lang, content).code(), lex(lang, other).code()
	here, there := s.takes(), o.takes()
	if here.all || there.all {
		return nil
	}
	var out []byte
	for module, name := range here.whole {
		if names := there.names[module]; len(names) > 0 && there.whole[module] == "" && here.bound[name] == 1 {
			if at := s.members(name, names, here.within); len(at) > 0 {
				if out == nil {
					out = bytes.Clone(content)
				}
				for _, i := range at {
					from, to := s.tokens[i].from, s.tokens[i+2].from
					copy(out[from:to], strings.Repeat(" ", int(to-from)))
				}
			}
		}
	}
	return out
}

// members are the tokens at which a module's name stands before one of names; none
// where it is used for anything but calls of what it holds, which may then be given
// another meaning.
func (s *source) members(module string, names map[string]bool, within map[int]bool) []int {
	var out []int
	for i := range s.tokens {
		if s.word(i) != module || within[i] {
			continue
		}
		member := s.word(i + 2)
		if s.word(i-1) == "=" && s.word(i-2) == member && s.word(i+1) == "." {
			continue // passed on by its own name
		}
		if s.word(i-1) == "." || s.word(i+1) != "." || s.word(i+3) != "(" || strings.HasPrefix(member, "_") {
			return nil
		}
		if names[member] && s.tokens[i].line == s.tokens[i+2].line {
			out = append(out, i)
		}
	}
	return out
}

// takes reads what a file takes from modules. What it gives another name there is
// left out.
func (s *source) takes() taken {
	t := taken{names: map[string]map[string]bool{}, whole: map[string]string{}, bound: map[string]int{}, within: map[int]bool{}}
	for i := 0; i < len(s.tokens); i++ {
		end := i
		switch {
		case s.lang == "python" && s.startsLine(i):
			end = s.takesPython(i, &t)
		case s.lang == "script" && (s.word(i) == "import" || s.word(i) == "const" || s.word(i) == "let" || s.word(i) == "var"):
			end = s.takesScript(i, &t)
		}
		for at := i; at < end; at++ {
			t.within[at] = true
		}
		i = max(i, end-1)
	}
	return t
}

func (s *source) startsLine(i int) bool {
	return i == 0 || s.tokens[i-1].line < s.tokens[i].line
}

// takesPython reads "import a, b as c" and "from a.b import c, d", and returns the
// token behind it.
func (s *source) takesPython(i int, t *taken) int {
	switch s.word(i) {
	case "import":
		for i++; ; i++ {
			module, next := s.dotted(i)
			name := module
			if s.word(next) == "as" {
				name, next = s.word(next+1), next+2
			}
			if module != "" && !strings.Contains(name, ".") {
				t.whole[module] = name
			}
			bound, _, _ := strings.Cut(name, ".")
			t.bound[bound]++
			if i = next; s.word(i) != "," {
				return i
			}
		}
	case "from":
		module, next := s.dotted(i + 1)
		if module == "" || s.word(next) != "import" {
			return i
		}
		return s.list(next+1, t, func(name string) {
			t.take(module, name)
			t.whole[module+"."+name] = name
		})
	}
	return i
}

// takesScript reads "import * as a from 'm'", "import a from 'm'", "import { a } from
// 'm'", and the same of const and require, and returns the token behind it.
func (s *source) takesScript(i int, t *taken) int {
	var names []string
	whole, at := "", i+1
	switch {
	case s.word(at) == "*" && s.word(at+1) == "as":
		whole, at = s.word(at+2), at+3
	case s.word(at) == "{":
		at = s.list(at, t, func(name string) { names = append(names, name) })
	case isWordByte0(s.word(at)):
		whole, at = s.word(at), at+1
	}
	switch {
	case s.word(i) == "import" && s.word(at) == "from" && s.isText(at+1):
		at++
	case s.word(i) != "import" && s.word(at) == "=" && s.word(at+1) == "require" && s.word(at+2) == "(" && s.isText(at+3):
		at += 3
	default:
		return i
	}
	if end := at + 1; s.word(i) != "import" && (s.word(end) != ")" || !s.endsAt(end+1)) {
		return i // a part of it, or one of several
	}
	module := s.inner(s.tokens[at])
	switch ext := path.Ext(module); ext {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		module = strings.TrimSuffix(module, ext)
	}
	if whole != "" {
		t.whole[module] = whole
		t.bound[whole]++
	}
	for _, name := range names {
		t.take(module, name)
	}
	return at + 1
}

func (t *taken) take(module, name string) {
	if t.names[module] == nil {
		t.names[module] = map[string]bool{}
	}
	t.names[module][name] = true
}

// endsAt says that a statement of a script is over before token i.
func (s *source) endsAt(i int) bool {
	return i >= len(s.tokens) || s.word(i) == ";" || s.startsLine(i) && isWordByte0(s.word(i))
}

// list reads names with commas between them, in brackets or on one line, and
// returns the token behind them. One that is given another name is bound, and left
// out.
func (s *source) list(i int, t *taken, name func(string)) int {
	last := i
	open := s.word(i) == "(" || s.word(i) == "{"
	if open {
		last = s.closes(i)
		i++
	} else {
		for last < len(s.tokens) && s.tokens[last].line == s.tokens[i].line && s.word(last) != ";" {
			last++
		}
	}
	for from := i; from < last; from++ {
		to := from
		for to < last && s.word(to) != "," {
			to++
		}
		t.bound[s.word(to-1)]++
		t.all = t.all || s.word(from) == "*"
		if to == from+1 && isWordByte0(s.word(from)) {
			name(s.word(from))
		}
		from = to
	}
	if open && last > 0 {
		last++
	}
	return max(last, i)
}
