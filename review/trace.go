package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Trace is what of a finding tells it from others in a later review, when lines have
// moved and a model says it in other words. It is small and holds nothing but
// letters and digits, so that it can stand anywhere.
type Trace struct {
	ID       string // by which people name it: of the file, the words and who found it
	File     string // hash
	Anchor   string // hash of the line that it is about, "" = it has none
	By       []string
	Severity work.Severity
	Gating   bool
	words    []string // hashes, sorted
}

// How many hexadecimal digits hashes have.
const (
	idDigits   = 10
	hashDigits = 12
	byDigits   = 8
	wordDigits = 5
	mostWords  = 60
)

func digits(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}

// FileTrace is how a trace names a file, "" = none.
func FileTrace(file string) string { return digits(file, hashDigits) }

// ByTrace is how a trace names a specialist.
func ByTrace(name string) string { return digits(name, byDigits) }

// LineTrace is how a trace names a line: its text, however it is indented.
func LineTrace(line string) string {
	return digits(strings.Join(strings.Fields(line), " "), hashDigits)
}

// TraceOf is the trace of a finding in a change.
func TraceOf(f work.Finding, gating bool, c Change) Trace {
	said := strings.Join(strings.Fields(strings.ToLower(f.Issue)), " ")
	t := Trace{ID: digits(f.File+"\x00"+said+"\x00"+f.Specialist, idDigits), File: FileTrace(f.File), Severity: f.Severity, Gating: gating}
	for _, name := range saidBy(f) {
		t.By = append(t.By, ByTrace(name))
	}
	if lines, ok := c.Lines(f.File, f.Line, f.Line); ok {
		t.Anchor = LineTrace(lines[0])
	}
	for w := range issueWords(f.Issue) {
		t.words = append(t.words, digits(w, wordDigits))
	}
	slices.Sort(t.words)
	t.words = slices.Compact(t.words)
	t.words = t.words[:min(len(t.words), mostWords)]
	return t
}

// Same says that two traces are of one finding: the same words about one file, or
// words that are alike about the same line of it.
func (t Trace) Same(other Trace) bool {
	return t.File == other.File && (t.ID == other.ID || t.sameLine(other))
}

// SameLine says that two traces are of one finding about the very same line: what
// was accepted of that line says nothing of another one.
func (t Trace) SameLine(other Trace) bool {
	return t.File == other.File && t.Anchor != "" && t.Anchor == other.Anchor && (t.ID == other.ID || t.sameLine(other))
}

func (t Trace) sameLine(other Trace) bool {
	return t.Anchor != "" && t.Anchor == other.Anchor && alike(setOf(t.words), setOf(other.words))
}

func setOf(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

// String is the trace in one word, which ParseTrace reads.
func (t Trace) String() string {
	gates := "advises"
	if t.Gating {
		gates = "gates"
	}
	anchor := t.Anchor
	if anchor == "" {
		anchor = "none"
	}
	return strings.Join([]string{t.ID, t.File, anchor, string(t.Severity), gates, strings.Join(t.By, "-"), strings.Join(t.words, "-")}, ".")
}

var traceForm = text.Lazy(`^([0-9a-f]{10})\.([0-9a-f]{12})\.([0-9a-f]{12}|none)\.(critical|major|minor)\.(gates|advises)\.([0-9a-f]{8}(?:-[0-9a-f]{8}){0,20})\.((?:[0-9a-f]{5}(?:-[0-9a-f]{5}){0,59})?)$`)

// ParseTrace reads what String wrote; whatever else is none.
func ParseTrace(s string) (t Trace, ok bool) {
	m := traceForm().FindStringSubmatch(s)
	if m == nil {
		return t, false
	}
	t = Trace{ID: m[1], File: m[2], Anchor: m[3], Severity: work.Severity(m[4]), Gating: m[5] == "gates", By: strings.Split(m[6], "-")}
	if t.Anchor == "none" {
		t.Anchor = ""
	}
	if m[7] != "" {
		t.words = strings.Split(m[7], "-")
	}
	return t, true
}

// StandsIn says whether a file still has the line that a trace is about; one that
// is about no line stands wherever it stood.
func (t Trace) StandsIn(content []byte) bool {
	if t.Anchor == "" {
		return content != nil
	}
	for line := range bytes.Lines(content) {
		if LineTrace(string(line)) == t.Anchor {
			return true
		}
	}
	return false
}

// Shows says that a change shows the line that a trace is about, so that whoever
// reviews it looks at that line.
func (c Change) Shows(t Trace) bool {
	for i := range c.Files {
		f := &c.Files[i]
		if FileTrace(Name(f.Path)) != t.File {
			continue
		}
		found := len(f.Hunks) == 0 || t.Anchor == ""
		for j := range f.Hunks {
			walk(&f.Hunks[j], f.oldSide(), func(number int, line []byte) bool {
				found = found || number > 0 && len(line) > 0 && LineTrace(string(line[1:])) == t.Anchor
				return !found
			})
		}
		return found
	}
	return false
}

// Has says that a change has something to do with a file, by its trace.
func (c Change) Has(file string) bool {
	return slices.ContainsFunc(c.Files, func(f File) bool { return FileTrace(Name(f.Path)) == file })
}

// Lines are lines of a file as the change shows them, of the side that findings name;
// not ok where one hunk does not show them all.
func (c Change) Lines(file string, from, to int) (lines []string, ok bool) {
	f := c.find(file)
	if f == nil || from < 1 || to < from {
		return nil, false
	}
	old := f.oldSide()
	for i := range f.Hunks {
		if first, last := f.Hunks[i].lines(old); from < first || to > last {
			continue
		}
		walk(&f.Hunks[i], old, func(number int, line []byte) bool {
			if number >= from && number <= to && len(line) > 0 {
				lines = append(lines, string(line[1:]))
			}
			return number <= to
		})
		return lines, len(lines) == to-from+1
	}
	return nil, false
}

// exact is a finding's replacement where it can be put in place of its lines as it
// stands, else nil: they are lines of the new file, whole, and it makes another of
// them; nothing in it is unseen.
func exact(c Change, f work.Finding, end int) *string {
	if f.Replacement == nil || f.EndLine > end {
		return nil
	}
	file := c.find(f.File)
	if file == nil || file.oldSide() || len(file.Hunks) == 0 {
		return nil
	}
	lines, ok := c.Lines(f.File, f.Line, max(f.Line, f.EndLine))
	now := strings.TrimSuffix(*f.Replacement, "\n")
	unseen := strings.ContainsFunc(now, func(r rune) bool { return r != '\n' && r != '\t' && text.Invisible(r) })
	if !ok || now == strings.Join(lines, "\n") || len(now) > maxFindingText || unseen || slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "\r") }) {
		return nil
	}
	return &now
}
