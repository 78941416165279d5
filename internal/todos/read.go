package todos

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	texts "forge/internal/text"
)

// maxProblems is how many problems are named; more of them help nobody.
const maxProblems = 50

// reader collects what a file says.
type reader struct {
	list List
}

func (r *reader) wrong(line int, format string, args ...any) {
	switch n := len(r.list.Problems); {
	case n < maxProblems:
		r.list.Problems = append(r.list.Problems, fmt.Sprintf("%s:%d: ", File, line)+fmt.Sprintf(format, args...))
	case n == maxProblems:
		r.list.Problems = append(r.list.Problems, "and more")
	}
}

// file reads the one document of a file.
func (r *reader) file(text string) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		r.broken(err)
		return
	}
	if err := dec.Decode(&more); err == nil {
		r.wrong(more.Line, "a second document begins; write one list")
		return
	} else if !errors.Is(err, io.EOF) {
		r.broken(err)
		return
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		r.sequence(root)
		return
	}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; !isText(key) || key.Value != "todos" {
			r.wrong(key.Line, "unknown key %s; the list stands under todos", shown(key.Value))
			continue
		}
		r.sequence(root.Content[i+1])
	}
}

// yamlLine is where the library says that a mistake is.
var yamlLine = texts.Lazy(`^line (\d+): `)

func (r *reader) broken(err error) {
	if errors.Is(err, io.EOF) {
		r.list.Problems = append(r.list.Problems, File+" holds nothing")
		return
	}
	what, line := fold(strings.TrimPrefix(err.Error(), "yaml: ")), 1
	if at := yamlLine().FindStringSubmatch(what); at != nil {
		line, _ = strconv.Atoi(at[1])
		what = what[len(at[0]):]
	}
	r.wrong(line, "is not YAML: %s", what)
}

func (r *reader) sequence(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode || !plain(n) {
		if !isNull(n) { // that there are too few is judged elsewhere
			r.wrong(n.Line, "the todos are %s, want a list", kindOf(n))
		}
		return
	}
	for _, item := range n.Content {
		if len(r.list.Todos) == MaxTodos {
			r.wrong(item.Line, "more than %d todos", MaxTodos)
			return
		}
		r.todo(item)
	}
}

func (r *reader) todo(n *yaml.Node) {
	t := Todo{Line: n.Line, Status: Open}
	if n.Kind != yaml.MappingNode || !plain(n) {
		r.wrong(t.Line, "a todo is %s, want a table with a title", kindOf(n))
		return
	}
	var done *bool
	status, seen := Status(""), map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isText(key) && seen[key.Value] {
			r.wrong(key.Line, "%s stands twice in a todo", shown(key.Value))
		}
		seen[key.Value] = true
		switch word := key.Value; {
		case !isText(key):
			r.wrong(key.Line, "a key of a todo is %s, want text", kindOf(key))
		case word == "title":
			t.Title = r.title(value)
		case word == "id":
			t.ID = r.word(value, "id")
		case word == "status":
			status = r.status(value)
		case word == "done":
			done = r.yes(value)
		case word == "needs":
			t.Needs = r.needs(value)
		case word == "notes":
			t.Notes = r.text(value, "notes")
		default:
			r.wrong(key.Line, "unknown key %s in a todo; known are title, id, done, status, needs, notes", shown(word))
		}
	}
	if !seen["title"] {
		r.wrong(t.Line, "a todo has no title")
	}
	if status != "" {
		t.Status = status
	}
	switch {
	case done == nil:
	case status != "" && *done != (status == Done):
		r.wrong(t.Line, "a todo says done: %t and status: %s", *done, status)
		t.Status = Open
	case *done:
		t.Status = Done
	}
	r.list.Todos = append(r.list.Todos, t)
}

func (r *reader) title(n *yaml.Node) string {
	text := fold(r.text(n, "title"))
	switch {
	case text == "" && isText(n):
		r.wrong(n.Line, "a title is blank")
	case len(text) > MaxTitleBytes:
		r.wrong(n.Line, "a title has %d bytes, at most %d are read", len(text), MaxTitleBytes)
		text = texts.Cut(text, MaxTitleBytes)
	}
	return text
}

// text is a text; a number is none, since it may not read as it was written.
func (r *reader) text(n *yaml.Node, key string) string {
	if isText(n) {
		return n.Value
	}
	r.wrong(n.Line, "%s is %s, want text: write it in quotes", key, kindOf(n))
	return ""
}

// word is an id, which may look like a number.
func (r *reader) word(n *yaml.Node, key string) string {
	if plain(n) && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float") {
		return n.Value
	}
	text := fold(r.text(n, key))
	if text == "" && isText(n) {
		r.wrong(n.Line, "%s is blank", key)
	}
	return text
}

func (r *reader) status(n *yaml.Node) Status {
	text := r.text(n, "status")
	switch s := Status(text); s {
	case Open, InProgress, Done:
		return s
	}
	if isText(n) {
		r.wrong(n.Line, "unknown status %s; it is open, in_progress or done", shown(text))
	}
	return Open
}

// yes reads done: true and false alone mean something, spelt in small letters.
func (r *reader) yes(n *yaml.Node) *bool {
	is := plain(n) && n.ShortTag() == "!!bool" && n.Value == "true"
	if !is && (!plain(n) || n.ShortTag() != "!!bool" || n.Value != "false") {
		r.wrong(n.Line, "done is %s, want true or false", kindOf(n))
	}
	return &is
}

func (r *reader) needs(n *yaml.Node) []string {
	items := []*yaml.Node{n}
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.SequenceNode && plain(n):
		items = n.Content
	}
	var out []string
	for _, item := range items {
		if id := r.word(item, "needs"); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// plain says that a node is neither an alias nor anchored nor tagged: none of
// that is read, so that what stands there is what is meant.
func plain(n *yaml.Node) bool {
	return n.Kind != yaml.AliasNode && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0
}

func isText(n *yaml.Node) bool {
	return plain(n) && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str"
}
func isNull(n *yaml.Node) bool {
	return plain(n) && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// kindOf names what a node is, for people.
func kindOf(n *yaml.Node) string {
	switch {
	case !plain(n):
		return "an alias, anchor or tag, which is not read here"
	case n.Kind == yaml.MappingNode:
		return "a table"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case isText(n):
		return "the text " + shown(n.Value)
	}
	return "the value " + shown(n.Value)
}

// relations holds the todos against each other: ids and titles that stand
// twice, needs that nobody has, circles.
func (r *reader) relations() {
	byID, byTitle := map[string]int{}, map[string]int{}
	for _, t := range r.list.Todos {
		if first, twice := byID[t.ID]; twice && t.ID != "" {
			r.wrong(t.Line, "the id %s stands on line %d already", shown(t.ID), first)
		} else {
			byID[t.ID] = t.Line
		}
		if first, twice := byTitle[t.Title]; twice && t.Title != "" {
			r.wrong(t.Line, "the title %s stands on line %d already", shown(t.Title), first)
		} else {
			byTitle[t.Title] = t.Line
		}
	}
	needs := map[string][]string{}
	for _, t := range r.list.Todos {
		for _, id := range t.Needs {
			if _, ok := byID[id]; !ok {
				r.wrong(t.Line, "%s needs %s, and no todo has that id", shown(t.name()), shown(id))
				continue
			}
			if t.ID != "" {
				needs[t.ID] = append(needs[t.ID], id)
			}
		}
	}
	if c := cycle(r.list.Todos, needs); len(c) > 0 {
		first := 0
		for i := range c {
			if byID[c[i]] < byID[c[first]] {
				first = i
			}
		}
		c = append(slices.Clone(c[first:]), c[:first]...)
		r.wrong(byID[c[0]], "todos need each other: %s", strings.Join(append(c, c[0]), " → "))
	}
}

func (t Todo) name() string {
	if t.ID != "" {
		return t.ID
	}
	return t.Title
}

// cycle is a circle of needs; nil = there is none.
func cycle(order []Todo, needs map[string][]string) []string {
	const under, over = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(id string) []string
	visit = func(id string) []string {
		state[id] = under
		path = append(path, id)
		for _, next := range needs[id] {
			switch state[next] {
			case under:
				for i, on := range path {
					if on == next {
						return path[i:]
					}
				}
			case over:
			default:
				if c := visit(next); c != nil {
					return c
				}
			}
		}
		path = path[:len(path)-1]
		state[id] = over
		return nil
	}
	for _, t := range order {
		if t.ID != "" && state[t.ID] == 0 {
			if c := visit(t.ID); c != nil {
				return c
			}
		}
	}
	return nil
}
