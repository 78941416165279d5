package runner

import (
	"bytes"
	"regexp"
	"strings"

	texts "forge/internal/text"
)

// Hunk is one run of lines that a change replaced.
type Hunk struct {
	Path string
	// Line and End are the first and last line in now; End is Line-1 where
	// lines were only taken out.
	Line, End int
	Was, Now  []string // the lines, each with its end
	// Whole says that the file is new, or gone.
	Whole bool
}

// Lines is how much a hunk is.
func (h Hunk) Lines() int { return max(len(h.Was), len(h.Now)) }

// mostLines is how long files are compared line by line; a longer one is one
// hunk.
const mostLines = 20000

// Hunks returns how was became now; nil is a file that is not there.
func Hunks(file string, was, now []byte) []Hunk {
	a, b := splitLines(was), splitLines(now)
	switch {
	case bytes.Equal(was, now) && (was == nil) == (now == nil):
		return nil
	case was == nil || now == nil || len(a)+len(b) > mostLines || bytes.IndexByte(was, 0) >= 0 || bytes.IndexByte(now, 0) >= 0:
		return []Hunk{{Path: file, Line: 1, End: len(b), Was: a, Now: b, Whole: true}}
	}
	var hunks []Hunk
	i, j := 0, 0
	flush := func(toA, toB int) {
		if i < toA || j < toB {
			hunks = append(hunks, Hunk{Path: file, Line: j + 1, End: toB, Was: a[i:toA], Now: b[j:toB]})
		}
	}
	for _, m := range common(a, b) {
		flush(m[0], m[1])
		i, j = m[0]+1, m[1]+1
	}
	flush(len(a), len(b))
	return hunks
}

func splitLines(src []byte) []string {
	var all []string
	for line := range strings.Lines(string(src)) {
		all = append(all, line)
	}
	return all
}

// common returns pairs of lines that stand in both, in order: those of Myers'
// shortest edit.
func common(a, b []string) [][2]int {
	n, m := len(a), len(b)
	v := map[int]int{1: 0}
	var trace []map[int]int
	for d := 0; d <= n+m; d++ {
		step := make(map[int]int, len(v)+2)
		for k, x := range v {
			step[k] = x
		}
		trace = append(trace, step)
		for k := -d; k <= d; k += 2 {
			x := v[k-1] + 1
			if k == -d || k != d && v[k-1] < v[k+1] {
				x = v[k+1]
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[k] = x
			if x >= n && y >= m {
				return walkBack(trace, n, m, d)
			}
		}
	}
	return nil
}

func walkBack(trace []map[int]int, x, y, d int) [][2]int {
	var pairs [][2]int
	for ; d >= 0; d-- {
		v, k := trace[d], x-y
		before := k - 1
		if k == -d || k != d && v[k-1] < v[k+1] {
			before = k + 1
		}
		fromX := v[before]
		fromY := fromX - before
		for x > fromX && y > fromY && x > 0 && y > 0 {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = fromX, fromY
	}
	for i, j := 0, len(pairs)-1; i < j; i, j = i+1, j-1 {
		pairs[i], pairs[j] = pairs[j], pairs[i]
	}
	return pairs
}

// TakeBack returns now with some of its hunks as they were, nil where the file
// was not there.
func TakeBack(now []byte, hunks []Hunk) []byte {
	if len(hunks) == 1 && hunks[0].Whole {
		if len(hunks[0].Was) == 0 {
			return nil
		}
		return []byte(strings.Join(hunks[0].Was, ""))
	}
	lines := splitLines(now)
	var out []string
	at := 0
	for _, h := range hunks {
		out = append(out, lines[at:h.Line-1]...)
		out = append(out, h.Was...)
		at = h.End
	}
	out = append(out, lines[at:]...)
	return append([]byte{}, strings.Join(out, "")...)
}

var (
	importLine = texts.Lazy(`^\s*(import\b|from\s+\S+\s+import\b|use\s|#include\b|require(_relative)?\b|"[^"]*"$|(const|var|let)\s.*=\s*require\()`)
	logLine    = texts.Lazy(`^\s*(log|logger|logging|slog|console|syslog|Log|LOG|self\.logger|this\.logger|Rails\.logger)\.\w+\(.*\)?;?\s*$|^\s*(debug|info|warn|trace|error|println|eprintln)!\(.*\);?\s*$`)
	wordShape  = texts.Lazy(`[A-Za-z_$][\w$]*`)
)

// Plain says what a hunk is when it only documents, lays out, imports, logs or
// renames; "" when it does more.
func (h Hunk) Plain() string {
	l, ok := languageOf(h.Path)
	if !ok {
		return ""
	}
	before, after := strings.Join(h.Was, ""), strings.Join(h.Now, "")
	was, now := l.plain([]byte(before)), l.plain([]byte(after))
	same := was == now
	if l.name == "python" {
		same = l.plain([]byte(l.depths(before))) == l.plain([]byte(l.depths(after)))
	}
	switch {
	case same:
		return "only comments or layout"
	case l.all(h, importLine()):
		return "only imports"
	case l.all(h, logLine()):
		return "only log calls"
	case was != now && l.texts(before) == l.texts(after) && renamed(was, now):
		return "only names"
	}
	return ""
}

// all says whether every line with code in it matches, of those that differ.
func (l language) all(h Hunk, shape *regexp.Regexp) bool {
	found := false
	for _, lines := range [][]string{h.Was, h.Now} {
		for _, line := range lines {
			if strings.TrimSpace(l.plain([]byte(line))) == "" {
				continue
			}
			if !shape.MatchString(strings.TrimRight(line, "\r\n")) {
				return false
			}
			found = true
		}
	}
	return found
}

// renamed says whether two texts differ only in names, each always in the same
// other one.
func renamed(was, now string) bool {
	if was == "" || wordShape().ReplaceAllString(was, "x") != wordShape().ReplaceAllString(now, "x") {
		return false
	}
	to, from := map[string]string{}, map[string]string{}
	b := wordShape().FindAllString(now, -1)
	for i, w := range wordShape().FindAllString(was, -1) {
		if x, ok := to[w]; ok && x != b[i] {
			return false
		}
		if x, ok := from[b[i]]; ok && x != w {
			return false
		}
		to[w], from[b[i]] = b[i], w
	}
	// A word of the language for another is no other name.
	for w, x := range to {
		if w != x && (len(w) < 2 || reserved(w) || reserved(x)) {
			return false
		}
	}
	return true
}

// reserved says whether a word means something in some language.
func reserved(w string) bool {
	switch w {
	case "true", "false", "True", "False", "None", "nil", "null", "undefined", "not", "and", "or", "is", "in", "if", "else", "while",
		"for", "return", "break", "continue", "throw", "raise", "yield", "await", "async", "const", "let", "var", "int", "float",
		"min", "max", "any", "all", "some", "every", "floor", "ceil", "round", "add", "sub", "first", "last":
		return true
	}
	return false
}
