package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"forge/internal/lessons"
	"forge/internal/work"
)

// Lesson is one that a project keeps.
type Lesson struct {
	work.Lesson
	Gone bool // its file is not there any more: it is told to nobody
}

// ReadLessons reads the lessons of the checkout at root, and the file that holds
// them; "" where there is none. The error is *Problems.
func ReadLessons(root string) ([]Lesson, string, error) {
	c := &collector{}
	in, err := os.OpenRoot(root)
	if err != nil {
		c.add(root, place{}, "cannot be opened: "+cause(err), "name the root of a checkout")
		return nil, "", c.err()
	}
	defer func() { _ = in.Close() }()
	kept, body := c.lessons(in)
	return kept, body, c.err()
}

// lessons reads the lessons below an open checkout.
func (c *collector) lessons(root *os.Root) ([]Lesson, string) {
	body, _, problem := readText(root, filepath.FromSlash(lessons.File), lessons.File, lessons.MaxBytes)
	if problem != nil {
		c.problems = append(c.problems, *problem)
		return nil, ""
	}
	found, problems := lessons.Parse(body)
	for _, p := range problems {
		c.problems = append(c.problems, Problem{File: lessons.File, Line: p.Line, What: p.What, Fix: p.Fix})
	}
	var kept []Lesson
	for _, e := range found {
		l := Lesson{Lesson: e.Lesson}
		if l.File != "" {
			_, err := root.Lstat(filepath.FromSlash(l.File))
			l.Gone = errors.Is(err, fs.ErrNotExist)
		}
		kept = append(kept, l)
	}
	return kept, body
}

// lessons fills in what agents are told of earlier runs.
func (r *resolver) lessons() {
	if r.root == nil {
		return
	}
	kept, _ := r.collector.lessons(r.root)
	kept = slices.DeleteFunc(kept, func(l Lesson) bool { return l.Gone })
	for _, l := range kept {
		r.out.Lessons = append(r.out.Lessons, l.Lesson)
	}
}
