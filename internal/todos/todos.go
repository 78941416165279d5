package todos

import (
	"fmt"
	"strings"
	"unicode/utf8"

	texts "forge/internal/text"
	"forge/internal/work"
)

// File is where a job's todos stand, in the commits of its phases.
const File = work.JobDir + "/todos.yaml"

// Bounds of what is read. A file beyond them is a problem, never an error.
const (
	MaxBytes      = 1 << 20
	MaxTitleBytes = 500
	MaxTodos      = 1000 // that are read; how many a phase may have is not judged here
)

// Todo is one thing to do.
type Todo struct {
	ID     string   `json:"id,omitempty"`
	Title  string   `json:"title"` // white space folded
	Status Status   `json:"status"`
	Needs  []string `json:"needs,omitempty"` // ids
	Notes  string   `json:"notes,omitempty"`
	Line   int      `json:"line"` // from 1
}

// Status is how far a todo has come.
type Status string

// The words of status. A todo that says nothing is open.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Done       Status = "done"
)

// List is what a file says, in its order, and what is wrong with it, each
// problem with its line. Todos that are wrong are left out as far as they
// cannot be understood.
type List struct {
	Todos    []Todo   `json:"todos"`
	Problems []string `json:"problems,omitempty"`
}

// Unreadable is the list of a file that is missing or is none.
func Unreadable(why string) List {
	return List{Todos: []Todo{}, Problems: []string{File + " " + why}}
}

// Check is what the core judges.
func (l List) Check() work.TodoCheck {
	c := work.TodoCheck{Total: len(l.Todos), Problems: l.Problems}
	for _, t := range l.Todos {
		name := t.Title
		if t.ID != "" {
			name = t.ID
		}
		c.Listed = append(c.Listed, name)
		if t.Status == Done {
			c.Done = append(c.Done, t.Title)
		} else {
			c.Open = append(c.Open, name)
		}
	}
	return c
}

// Parse reads a todos.yaml: a list of todos, or a table whose key todos holds
// it. Every mistake is a problem of the list.
func Parse(data []byte) List {
	switch {
	case len(data) > MaxBytes:
		return Unreadable(fmt.Sprintf("has %d bytes, Forge reads at most %d", len(data), MaxBytes))
	case !utf8.Valid(data):
		return Unreadable(fmt.Sprintf("is not UTF-8 text: line %d", invalidLine(data)))
	}
	text := texts.WithoutMark(string(data))
	if strings.TrimSpace(text) == "" {
		return Unreadable("is empty")
	}
	r := &reader{}
	r.file(text)
	r.relations()
	if r.list.Todos == nil {
		r.list.Todos = []Todo{}
	}
	return r.list
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size <= 1 {
			break
		}
		if c == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// fold makes one line of a text.
func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// shown is a word as a problem quotes it.
func shown(word string) string {
	return fmt.Sprintf("%q", texts.Clip(word, 60))
}
