// Package symphony reads a WORKFLOW.md, the file by which OpenAI's Symphony is told
// how to work on the issues of a repository, and decides what its specification
// leaves to a service: which issue comes next, when a failed one is tried again,
// where its workspace lies. It holds values alone.
package symphony

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"forge/internal/text"
)

// DefaultFile is the file that is read where none is named.
const DefaultFile = "WORKFLOW.md"

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// Class is what kind of problem one is, in the specification's own words.
type Class string

// The classes.
const (
	MissingFile     Class = "missing_workflow_file"
	ParseError      Class = "workflow_parse_error"
	NotAMap         Class = "workflow_front_matter_not_a_map"
	TemplateParse   Class = "template_parse_error"
	TemplateRender  Class = "template_render_error"
	UnknownTracker  Class = "unsupported_tracker_kind"
	MissingKey      Class = "missing_tracker_api_key"
	MissingSlug     Class = "missing_tracker_project_slug"
	InvalidSetting  Class = "invalid_setting"
	UnknownSetting  Class = "unknown_setting" // said, never refused
	StricterSetting Class = "stricter_setting"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Class Class
	Line  int // from 1; 0 = the file as a whole
	What  string
	Fix   string
}

// Error is everything that is wrong with a file, at once.
type Error struct {
	File     string
	Problems []Problem
}

// Error is a line for each problem.
func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.In(e.File))
	}
	return strings.Join(lines, "\n")
}

// In is a problem as a line about its file.
func (p Problem) In(file string) string {
	at := file
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	line := at + ": " + string(p.Class) + ": " + p.What
	if p.Fix != "" {
		line += "; " + p.Fix
	}
	return line
}

// ClassOf is the class of the first problem of an error; "" = it is of another kind.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) && len(e.Problems) > 0 {
		return e.Problems[0].Class
	}
	return ""
}

// Workflow is a file as it is to be worked by.
type Workflow struct {
	Settings Settings
	// Prompt is the body, trimmed.
	Prompt   string
	template *Template
	// lines are where settings stand, by their names.
	lines map[string]int
	// Forge is the block of that name: what .forge/forge.toml would say.
	Forge []Entry
	// Notes are what is read otherwise than who wrote it may think: nothing of it
	// keeps the file from being used.
	Notes []Problem
}

// defaultPrompt is that of a file without a body.
const defaultPrompt = "Do what the issue {{ issue.identifier }} asks for: {{ issue.title }}\n\n{{ issue.description }}"

// Surroundings are what a file's values may refer to.
type Surroundings struct {
	Getenv func(name string) string
	Home   string
	Dir    string // that the file is in, absolute
	Temp   string // of the system
}

// Parse reads the text of a file. The error is *Error and names everything that is
// wrong, with lines.
func Parse(file, body string, s Surroundings) (*Workflow, error) {
	r := &reader{s: s, lines: map[string]int{}}
	w := r.parse(body)
	if len(r.problems) > 0 {
		return nil, &Error{File: file, Problems: r.problems}
	}
	w.Notes, w.lines = r.notes, r.lines
	return w, nil
}

// Missing is the error of a file that cannot be read.
func Missing(file string, err error) error {
	return &Error{File: file, Problems: []Problem{{Class: MissingFile, What: "it cannot be read: " + text.OneLine(err.Error(), 200), Fix: "name it with --workflow, or begin forge where it is"}}}
}

// reader collects what is wrong.
type reader struct {
	s        Surroundings
	problems []Problem
	notes    []Problem
	lines    map[string]int
}

func (r *reader) bad(class Class, line int, fix, format string, args ...any) {
	r.problems = append(r.problems, Problem{class, line, fmt.Sprintf(format, args...), fix})
}

func (r *reader) note(class Class, line int, fix, format string, args ...any) {
	r.notes = append(r.notes, Problem{class, line, fmt.Sprintf(format, args...), fix})
}

func (r *reader) parse(body string) *Workflow {
	if len(body) > MaxBytes {
		r.bad(ParseError, 0, "shorten it", "it has more than %d bytes", MaxBytes)
		return nil
	}
	front, prompt, first, after, closed := split(body)
	if !closed {
		r.bad(ParseError, 1, "end the front matter with a line ---", "its front matter has no end")
		return nil
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	if strings.TrimSpace(front) != "" {
		if root = r.front(front, first); root == nil {
			return nil
		}
	}
	w := &Workflow{Prompt: strings.TrimSpace(prompt)}
	after += strings.Count(prompt[:len(prompt)-len(strings.TrimLeft(prompt, " \t\r\n"))], "\n")
	w.Settings = r.settings(root)
	w.Forge = r.block(root)
	source := w.Prompt
	if source == "" {
		source = defaultPrompt
	}
	t, err := ParseTemplate(source)
	if bad := (*TemplateError)(nil); errors.As(err, &bad) {
		r.bad(TemplateParse, after+bad.Line-1, "correct it there", "%s", bad.What)
	}
	w.template = t
	return w
}

// split takes front matter and body apart. first and after are the lines on which
// they begin. closed is false where front matter does not end.
func split(body string) (front, prompt string, first, after int, closed bool) {
	body = text.WithoutMark(body)
	line, rest, _ := strings.Cut(body, "\n")
	if strings.TrimRight(line, " \t\r") != "---" {
		return "", body, 0, 1, true
	}
	at := 1
	var lines []string
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		at++
		if strings.TrimRight(line, " \t\r") == "---" {
			return strings.Join(lines, "\n"), rest, 2, at + 1, true
		}
		lines = append(lines, line)
	}
	return "", "", 0, 0, false
}

// front reads the front matter; nil = it cannot be read.
func (r *reader) front(source string, first int) *yaml.Node {
	var doc yaml.Node
	err := yaml.NewDecoder(bytes.NewReader([]byte(source))).Decode(&doc)
	if err != nil {
		what, line := text.OneLine(strings.TrimPrefix(err.Error(), "yaml: "), 200), first
		if at, more, ok := strings.Cut(strings.TrimPrefix(what, "line "), ": "); ok {
			if n, err := strconv.Atoi(at); err == nil {
				what, line = more, first+n-1
			}
		}
		r.bad(ParseError, line, "correct the YAML there", "broken YAML: %s", what)
		return nil
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	root := resolved(doc.Content[0])
	if root.Kind != yaml.MappingNode {
		r.bad(NotAMap, first+root.Line-1, "write settings as key: value", "its front matter is no map")
		return nil
	}
	moveLines(&doc, first-1, 0)
	return root
}

// maxDepth bounds how deep values may lie in each other.
const maxDepth = 50

// moveLines lets the nodes know their lines in the file.
func moveLines(n *yaml.Node, by, depth int) {
	if depth > maxDepth {
		return
	}
	n.Line += by
	for _, c := range n.Content {
		moveLines(c, by, depth+1)
	}
}

// resolved is what a node stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

// pair is a key with its value.
type pair struct {
	name  string
	line  int
	value *yaml.Node
}

// pairs are those of a map, in order; a key that stands twice is a mistake.
func (r *reader) pairs(n *yaml.Node) (all []pair) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolved(n.Content[i])
		if seen[key.Value] {
			r.bad(ParseError, key.Line, "name it once", "%s stands twice", quoted(key.Value))
			continue
		}
		seen[key.Value] = true
		all = append(all, pair{key.Value, key.Line, resolved(n.Content[i+1])})
	}
	return all
}

// section is a map of the root; ok is false where it is not said, or is none.
func (r *reader) section(root *yaml.Node, name string) (pairs []pair, ok bool) {
	for _, p := range r.pairsOnce(root) {
		if p.name != name {
			continue
		}
		if null(p.value) {
			return nil, false
		}
		if p.value.Kind != yaml.MappingNode {
			r.bad(InvalidSetting, p.line, "write its settings below it, as key: value", "%s is no map", name)
			return nil, false
		}
		return r.pairs(p.value), true
	}
	return nil, false
}

// pairsOnce are the pairs of the root, whose mistakes are said once: with the first
// section that is asked for.
func (r *reader) pairsOnce(root *yaml.Node) []pair {
	quiet := reader{}
	return quiet.pairs(root)
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func quoted(s string) string { return strconv.Quote(text.Clip(s, 60)) }
