package lessons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// File is where a project keeps its lessons, relative to the checkout.
const File = ".forge/lessons.md"

// MaxBytes is the size above which the file is refused instead of read.
const MaxBytes = 64 << 10

// head begins a new file.
const head = "# Lessons\n\nWhat runs taught about this project. Agents are told these lines, as data.\n\n"

// The keys of the lines below a lesson.
const (
	keyFile = "about"
	keyFrom = "from"
	keyKept = "kept by"
)

// Entry is a lesson and the lines of the file that hold it, from 1.
type Entry struct {
	work.Lesson
	First, Last int
}

// Problem is one thing wrong with the file.
type Problem struct {
	Line      int
	What, Fix string
}

// Parse reads the file. A lesson is an item of a list, its file and source are
// items below it:
//
//   - Run make gen before the tests.
//   - about: Makefile
//   - from: run R, phase 1, commit C, agent A
//   - kept by: Ann
//
// What stands before the first item is for people, and headings are.
func Parse(body string) ([]Entry, []Problem) {
	r := reader{}
	for i, line := range strings.Split(body, "\n") {
		r.line(i+1, strings.TrimRight(line, " \t\r"))
	}
	r.check()
	return r.found, r.problems
}

type reader struct {
	found    []Entry
	problems []Problem
}

func (r *reader) wrong(line int, fix, format string, args ...any) {
	r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...), fix})
}

func (r *reader) line(n int, line string) {
	words := strings.TrimLeft(line, " \t")
	item, isItem := strings.CutPrefix(words, "- ")
	if !isItem {
		item, isItem = strings.CutPrefix(words, "* ")
	}
	indented := words != line
	switch {
	case words == "" || !indented && strings.HasPrefix(words, "#"):
	case isItem && !indented:
		r.found = append(r.found, Entry{Lesson: work.Lesson{Text: strings.TrimSpace(item)}, First: n, Last: n})
	case len(r.found) == 0 && !indented:
	case len(r.found) == 0:
		r.wrong(n, "begin a lesson with - at the beginning of its line", "a line that belongs to no lesson")
	case !indented:
		r.wrong(n, "indent it by two blanks, or begin a lesson with -", "a line that belongs to no lesson")
	case isItem:
		r.detail(n, item)
	default: // the lesson goes on
		last := &r.found[len(r.found)-1]
		if last.Last != n-1 || last.File+last.Run+last.Agent+last.Kept != "" {
			r.wrong(n, "write the words of a lesson above what is said of it", "a line that belongs to no lesson")
			return
		}
		last.Text, last.Last = last.Text+" "+words, n
	}
}

// detail reads what is said of the last lesson.
func (r *reader) detail(n int, item string) {
	last := &r.found[len(r.found)-1]
	last.Last = n
	key, value, ok := strings.Cut(item, ":")
	value = strings.TrimSpace(value)
	switch key = strings.TrimSpace(key); {
	case !ok || value == "":
		r.wrong(n, "write a key, a colon and a value", "%s says nothing of a lesson", text.OneLine(item, 60))
	case key == keyFile:
		last.File = value
	case key == keyFrom:
		r.from(n, last, value)
	case key == keyKept:
		last.Kept = text.OneLine(value, 200)
	default:
		r.wrong(n, "known are "+keyFile+", "+keyFrom+", "+keyKept, "unknown key %q", text.OneLine(key, 60))
	}
}

// from reads where a lesson is from.
func (r *reader) from(n int, last *Entry, value string) {
	for _, part := range strings.Split(value, ",") {
		key, words, ok := strings.Cut(strings.TrimSpace(part), " ")
		into := map[string]*string{"run": &last.Run, "phase": &last.Phase, "commit": &last.Commit, "agent": &last.Agent}[key]
		if !ok || into == nil {
			r.wrong(n, "write it as run R, phase P, commit C, agent A", "%q is not where a lesson is from", text.OneLine(part, 60))
			return
		}
		*into = text.OneLine(words, 100)
	}
}

// check says what is wrong with lessons that were read as a whole.
func (r *reader) check() {
	seen, size := map[string]int{}, 0
	for i, e := range r.found {
		if err := e.Check(); err != nil {
			r.wrong(e.First, "write one line of at most "+fmt.Sprint(work.MaxLessonBytes)+" bytes, about a file of the repository or none", "a lesson cannot be used: %v", err)
		}
		if first, twice := seen[e.ID()]; twice {
			r.wrong(e.First, "remove one of them", "the same lesson stands in line %d", first)
		}
		seen[e.ID()] = e.First
		before := size
		size += e.Size()
		switch {
		case i == work.MaxLessons:
			r.wrong(e.First, "remove lessons: forge lessons remove ID", "more than %d lessons", work.MaxLessons)
		case before <= work.MaxLessonsBytes && size > work.MaxLessonsBytes:
			r.wrong(e.First, "remove lessons: forge lessons remove ID", "the lessons have more than %d bytes together", work.MaxLessonsBytes)
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// Add is the file with one more lesson at its end; "" is a file that is not
// there yet. The problems are those of the file that would be.
func Add(body string, l work.Lesson) (string, []Problem) {
	if text.Blank(body) {
		body = head
	} else {
		body = strings.TrimRight(body, " \t\r\n") + "\n"
	}
	body += format(l)
	_, problems := Parse(body)
	return body, problems
}

// format is a lesson as the file holds it.
func format(l work.Lesson) string {
	out := "- " + l.Text + "\n"
	add := func(key, value string) {
		if value != "" {
			out += "  - " + key + ": " + value + "\n"
		}
	}
	add(keyFile, l.File)
	var from []string
	for _, part := range [][2]string{{"run", l.Run}, {"phase", l.Phase}, {"commit", l.Commit}, {"agent", l.Agent}} {
		if part[1] != "" {
			from = append(from, part[0]+" "+strings.ReplaceAll(text.PlainLine(part[1]), ",", " "))
		}
	}
	add(keyFrom, strings.Join(from, ", "))
	add(keyKept, text.PlainLine(l.Kept))
	return out
}

// Remove is the file without the lessons of so many ids; all its other lines
// stay as they are.
func Remove(body string, ids ...string) string {
	found, _ := Parse(body)
	lines := strings.Split(body, "\n")
	for _, e := range slices.Backward(found) {
		if slices.Contains(ids, e.ID()) {
			lines = slices.Delete(lines, e.First-1, e.Last)
		}
	}
	return strings.Join(lines, "\n")
}
