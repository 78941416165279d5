package runner

import (
	"regexp"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// Function is one function of a source file.
type Function struct {
	Path string
	Name string
	// Line and End are its first and last line.
	Line, End int
	// From and To are the inside of its body.
	From, To int
	// Form is the function without comments and layout: two of the same form
	// do the same.
	Form string
	// ends[i] is what stands before the body at the i-th try, so that the body
	// is never reached; %s is a word that shows in a failure. The body stays:
	// without it names would be unused, and the file would not build.
	ends []string
}

// Ways is how many ways there are to take the body out.
func (f Function) Ways() int { return len(f.ends) }

// Without returns src with the body of f out of reach, in its way-th way. word shows in
// what a test reports that depends on it.
func (f Function) Without(src []byte, way int, word string) []byte {
	out := append([]byte{}, src[:f.From]...)
	out = append(out, strings.ReplaceAll(f.ends[way], "%s", word)...)
	return append(out, src[f.From:]...)
}

// Starts says that a program begins with the function, in the languages that have
// one for that and in those where people call it so.
func (f Function) Starts() bool { return f.Name == "main" }

// Functions returns the functions of a source file, outer ones before those
// inside them, and whether there is a reader for its language.
func Functions(file string, src []byte) ([]Function, bool) {
	l, ok := languageOf(file)
	if !ok {
		return nil, false
	}
	var all []Function
	switch l.name {
	case "go":
		all, ok = goFunctions(src)
	case "python":
		all = l.indented(src)
	case "ruby":
		all = l.ended(src)
	case "shell", "perl":
		return nil, false
	default:
		all = l.braced(src)
	}
	for i := range all {
		all[i].Path = file
	}
	slices.SortStableFunc(all, func(a, b Function) int { return a.From - b.From })
	return all, ok
}

// Unreadable says whether a file is source in which no reader here finds
// functions.
func Unreadable(file string) bool {
	l, ok := languageOf(file)
	return ok && (l.name == "shell" || l.name == "perl")
}

// Emptied is such a file without what it holds; it still loads.
func Emptied(file string, src []byte) []byte {
	if l, _ := languageOf(file); l.name == "perl" {
		return []byte("1;\n")
	}
	if first := src[:lineLength(src)]; strings.HasPrefix(string(first), "#!") {
		return append([]byte{}, string(first)+"\n"...)
	}
	return []byte{}
}

// WithoutAny returns src with the bodies of all its functions out of reach, each
// with its word; false where it has none that a reader here finds.
func WithoutAny(file string, src []byte, word func(Function) string) ([]byte, bool) {
	if Unreadable(file) {
		return Emptied(file, src), true
	}
	all, _ := Functions(file, src)
	outer := 0 // the end of the last one that stands in no other
	var cut []Function
	for _, f := range all {
		if f.From >= outer {
			cut, outer = append(cut, f), f.To
		}
	}
	out := src
	for _, f := range slices.Backward(cut) { // so that offsets stay true
		out = f.Without(out, 0, word(f))
	}
	return out, len(cut) > 0
}

// throws is what ends a function at once, by language.
var throws = map[string][]string{
	"js":   {` throw new Error("%s"); `},
	"rust": {` panic!("%s"); `, ` if std::env::args().count() > 0 { panic!("%s"); } `},
	"php":  {` throw new \RuntimeException("%s"); `},
	"java": {` if (true) throw new RuntimeException("%s"); `},
	"c":    {` __builtin_trap(); `},
}

var headers = map[string][]func() *regexp.Regexp{
	"js": {
		texts.Lazy(`\bfunction\s*\*?\s*([\w$]*)\s*(?:<[^(){}]*>)?\s*(\()`),
		texts.Lazy(`([\w$]+)\s*(?::[^=\n]+)?[=:]\s*(?:async\s*)?(\()`),
		texts.Lazy(`(?m)^[ \t]*(?:(?:public|private|protected|static|async|override|get|set|readonly)\s+)*\*?(#?[\w$]+)\s*(?:<[^(){}]*>)?(\()`),
	},
	"rust": {texts.Lazy(`\bfn\s+(\w+)\s*(?:<[^(){}]*>)?\s*(\()`)},
	"php":  {texts.Lazy(`\bfunction\s+&?\s*(\w+)\s*(\()`)},
	"java": {texts.Lazy(`(?m)^[ \t]*(?:@\w+\s+)*(?:[\w<>\[\],.?]+\s+)+(\w+)\s*(\()`)},
	"c":    {texts.Lazy(`(?m)^(?:[A-Za-z_][\w:<>,*& \t]*[\s*&])?([A-Za-z_~][\w:~]*)\s*(\()`)},
}

// no function is called like these.
var keywords = []string{"if", "for", "while", "switch", "catch", "return", "function", "do", "else", "with", "new", "sizeof", "synchronized", "super", "throw", "await", "typeof"}

// braced finds functions whose body stands in braces.
func (l language) braced(src []byte) []Function {
	masked := l.masked(src)
	var all []Function
	seen := map[int]bool{}
	for _, header := range headers[l.name] {
		for _, m := range header().FindAllStringSubmatchIndex(masked, -1) {
			name := masked[m[2]:m[3]]
			if slices.Contains(keywords, name) {
				continue
			}
			from, to := l.bodyAfter(masked, m[4])
			if from < 0 || seen[from] || strings.TrimSpace(string(src[from:to])) == "" {
				continue
			}
			seen[from] = true
			all = append(all, l.function(src, name, m[0], from, to, to+1, throws[l.name]))
		}
	}
	return all
}

func (l language) function(src []byte, name string, begin, from, to, end int, ends []string) Function {
	for begin < from && strings.IndexByte(" \t\n", src[begin]) >= 0 {
		begin++
	}
	end = min(end, len(src))
	form := string(src[begin:end])
	if l.name == "python" {
		form = l.depths(form)
	}
	return Function{
		Name: name, Line: lineOf(src, begin), End: lineOf(src, max(end-1, begin)),
		From: from, To: to, Form: l.plain([]byte(form)), ends: ends,
	}
}

var afterParameters = map[string]func() *regexp.Regexp{
	"js":   texts.Lazy(`^\s*(?::[^={};]*)?(?:=>)?\s*\{`),
	"rust": texts.Lazy(`^\s*(?:->[^{};]*)?(?:\s*where[^{};]*)?\{`),
	"php":  texts.Lazy(`^\s*(?::[^{};]*)?\{`),
	"java": texts.Lazy(`^\s*(?:throws[^{};]*)?\{`),
	"c":    texts.Lazy(`^\s*(?:const|noexcept|override|final|\s)*(?::[^{};]*)?\{`),
}

// bodyAfter returns the inside of the body after the parameters that open at
// open; -1 when there is none.
func (l language) bodyAfter(masked string, open int) (int, int) {
	end := closing(masked, open)
	if end < 0 {
		return -1, -1
	}
	m := afterParameters[l.name]().FindStringIndex(masked[end+1:])
	if m == nil {
		return -1, -1
	}
	brace := end + m[1]
	last := closing(masked, brace)
	if last < 0 {
		return -1, -1
	}
	return brace + 1, last
}

var pythonHeader = texts.Lazy(`(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*(\()`)

// indented finds the functions of Python.
func (l language) indented(src []byte) []Function {
	masked := l.masked(src)
	var all []Function
	for _, m := range pythonHeader().FindAllStringSubmatchIndex(masked, -1) {
		indent, name := masked[m[2]:m[3]], masked[m[4]:m[5]]
		last := closing(masked, m[6])
		if last < 0 {
			continue
		}
		colon := strings.IndexByte(masked[last:], ':')
		if colon < 0 {
			continue
		}
		from := last + colon + 1
		to := endOfIndent(masked, from, len(indent))
		body := strings.TrimSpace(l.plain(src[from:to]))
		if isNothing(body) {
			continue
		}
		all = append(all, l.function(src, name, m[0], from, to, to, []string{pythonRaise(masked[from:to])}))
	}
	return all
}

// pythonRaise is what goes before the body, at its own indentation or in its
// line.
func pythonRaise(body string) string {
	first := body[:lineLength([]byte(body))]
	if strings.TrimSpace(first) != "" {
		return ` raise RuntimeError("%s"); `
	}
	for line := range strings.Lines(body) {
		if bare := strings.TrimLeft(line, " \t"); strings.TrimSpace(bare) != "" {
			return "\n" + line[:len(line)-len(bare)] + `raise RuntimeError("%s")`
		}
	}
	return "\n    raise RuntimeError(\"%s\")"
}

// endOfIndent returns where the block that begins after from ends: before the
// first line that is not indented deeper.
func endOfIndent(masked string, from, indent int) int {
	end := from + lineLength([]byte(masked[from:]))
	for at := end + 1; at < len(masked); {
		n := lineLength([]byte(masked[at:]))
		line := masked[at : at+n]
		bare := strings.TrimLeft(line, " \t")
		if bare != "" {
			if len(line)-len(bare) <= indent && !strings.HasPrefix(bare, ")") {
				return end + 1
			}
			end = at + n
		}
		at += n + 1
	}
	return min(end+1, len(masked))
}

// isNothing says whether a body of Python does nothing that could be missed.
func isNothing(body string) bool {
	if body == "" || body == "pass" || body == "..." {
		return true
	}
	for _, q := range []string{`"""`, `'''`} {
		if strings.HasPrefix(body, q) && strings.HasSuffix(body, q) && strings.Count(body, q) == 2 {
			return true
		}
	}
	return false
}

var rubyHeader = texts.Lazy(`(?m)^([ \t]*)def[ \t]+([\w.]+[?!=]?)[ \t]*(\([^\n]*\))?[^\n]*$`)

// ended finds the functions of Ruby: from def to the end at its indentation.
func (l language) ended(src []byte) []Function {
	masked := l.masked(src)
	var all []Function
	for _, m := range rubyHeader().FindAllStringSubmatchIndex(masked, -1) {
		if rest := masked[m[5]:m[1]]; strings.Contains(strings.TrimLeft(rest, "( "), ") =") || strings.HasPrefix(strings.TrimSpace(rest), "=") {
			continue // a definition without end
		}
		end := regexp.MustCompile(`(?m)^` + masked[m[2]:m[3]] + `end\b`).FindStringIndex(masked[m[1]:])
		if end == nil {
			continue
		}
		from, to := m[1], m[1]+end[0]
		if strings.TrimSpace(string(src[from:to])) == "" {
			continue
		}
		all = append(all, l.function(src, masked[m[4]:m[5]], m[0], from, to, m[1]+end[1], []string{"\nraise \"%s\"\n"}))
	}
	return all
}

// Changed returns the functions of now that do not stand in was in the same
// form: what was moved, laid out anew or documented is not changed. Of
// functions inside each other the innermost is named.
func Changed(was, now map[string][]byte) []Function {
	forms := map[string]bool{}
	for file, src := range was {
		all, _ := Functions(file, src)
		for _, f := range all {
			forms[f.Form] = true
		}
	}
	var changed []Function
	for _, file := range sortedKeys(now) {
		all, _ := Functions(file, now[file])
		all = slices.DeleteFunc(all, func(f Function) bool { return forms[f.Form] })
		for i, f := range all {
			inner := slices.ContainsFunc(all[i+1:], func(g Function) bool { return g.From >= f.From && g.To <= f.To })
			if !inner {
				changed = append(changed, f)
			}
		}
	}
	return changed
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
