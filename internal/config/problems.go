package config

import (
	"fmt"
	"sort"
	"strings"

	"forge/internal/text"
)

// Problem is one thing wrong with the configuration, and the way out. Line and
// Col count from 1; 0 means that the problem has no place of its own (a flag, a
// variable, a missing file).
type Problem struct {
	File string // as shown to the user: relative to the checkout when inside it
	Line int
	Col  int
	What string
	Fix  string
}

// String is the one line a user sees: "file:line: what (fix)".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.What)
	if p.Fix != "" {
		b.WriteString(" (" + p.Fix + ")")
	}
	return text.HarmlessLine(b.String())
}

// Problems is the error of everything that loads or resolves: all problems of
// all files together, never only the first.
type Problems struct{ List []Problem }

// Error prints one problem per line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is something that loads but should be known, once.
type Warning Problem

// String is the one line a user sees.
func (w Warning) String() string { return Problem(w).String() }

// collector gathers problems and warnings of one load.
type collector struct {
	problems []Problem
	warnings []Warning
}

func (c *collector) add(file string, at place, what, fix string) {
	c.problems = append(c.problems, Problem{File: file, Line: at.line, Col: at.col, What: what, Fix: fix})
}

func (c *collector) warn(file string, at place, what, fix string) {
	c.warnings = append(c.warnings, Warning{File: file, Line: at.line, Col: at.col, What: what, Fix: fix})
}

// err is nil when nothing is wrong. Problems keep the order of their files and
// are sorted by place within one.
func (c *collector) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	rank := map[string]int{}
	for _, p := range c.problems {
		if _, seen := rank[p.File]; !seen {
			rank[p.File] = len(rank)
		}
	}
	list := append([]Problem(nil), c.problems...)
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.File != b.File {
			return rank[a.File] < rank[b.File]
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
	return &Problems{List: list}
}

// suggest is the fix of an unknown word: the nearest known one, or all.
func suggest(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "remove it"
	}
	const most = 12
	if len(known) > most {
		return "known here: " + strings.Join(known[:most], ", ") + ", …"
	}
	return "known here: " + strings.Join(known, ", ")
}

// mostQuoted is how many bytes of an offending value a problem quotes.
const mostQuoted = 60
