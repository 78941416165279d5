package eval

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

var (
	idText         = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	specialistText = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$`)
)

// maxExpected bounds the expectations of one case.
const maxExpected = 50

// What a case of the arbiter says when it leaves a number out; they are the
// defaults of [reviews].
const (
	defaultMaxFixes  = 2
	defaultThreshold = 0.7
)

// expected is expected.json.
type expected struct {
	specialist, language, path string
	badPath                    bool
	all                        []placedExpectation
	ruling                     *RulingCase
	findingsAt                 []int // lines
}

type placedExpectation struct {
	Expectation
	lines []int // of its location and of each other one
}

// reader reads the values of one file and collects what is wrong.
type reader struct {
	load  *loader
	file  string
	lines lines
}

func (r *reader) bad(n node, what, fix string) { r.load.bad(r.file, r.lines.line(n.at), what, fix) }

// tree is the object that a file consists of; ok is false when it is none.
func (l *loader) tree(file string, text []byte) (r *reader, n node, ok bool) {
	r = &reader{load: l, file: file, lines: linesOf(text)}
	n, err := parseTree(text)
	if err != nil {
		at := 0
		if e, ok := err.(*syntaxError); ok { //nolint:errorlint // parseTree returns nothing else, unwrapped
			at = e.at
		}
		l.bad(file, r.lines.line(min(at, max(len(text)-1, 0))), err.Error(), "write one JSON object")
		return r, n, false
	}
	if !n.is('{') {
		r.bad(n, "is no JSON object", "write one JSON object")
		return r, n, false
	}
	return r, n, true
}

func (l *loader) expected(text []byte) expected {
	var out expected
	r, top, ok := l.tree(expectedFile, text)
	if !ok {
		return out
	}
	if out.specialist = r.text(top, "specialist", true); out.specialist != "" && !specialistText().MatchString(out.specialist) {
		r.badField(top, "specialist", "is no name of a reviewer", "write letters, digits, _ and -")
	}
	if out.path = r.text(top, "path", false); out.path != "" && (path.Clean(out.path) != out.path || path.IsAbs(out.path) || strings.HasPrefix(out.path, "..")) {
		out.badPath = true
		r.badField(top, "path", "is no path within a project", "write it like internal/store/user.go")
	}
	out.language = strings.ToLower(r.text(top, "language", false))
	if out.specialist == Arbiter {
		r.known(top, "specialist", "language", "path", "findings", "unknown", "attempts", "max_fixes", "threshold", "right", "note")
		r.ruling(top, &out)
		return out
	}
	r.known(top, "specialist", "language", "path", "must_find", "must_not_flag", "note")
	seen := map[string]bool{}
	for _, list := range []struct {
		name string
		must Must
	}{{"must_find", Find}, {"must_not_flag", NotFlag}} {
		for _, n := range r.list(top, list.name) {
			e, ok := r.expectation(n, list.must)
			if !ok {
				continue
			}
			if seen[e.ID] {
				r.bad(n, fmt.Sprintf("the id %q is there twice", e.ID), "give each its own")
			}
			seen[e.ID] = true
			out.all = append(out.all, e)
		}
	}
	return out
}

func (r *reader) expectation(n node, must Must) (placedExpectation, bool) {
	out := placedExpectation{Expectation: Expectation{Must: must}}
	if !n.is('{') {
		r.bad(n, "is no JSON object", "write id, severity, description and location")
		return out, false
	}
	before := len(r.load.problems.List)
	r.known(n, "id", "severity", "description", "location", "also")
	if out.ID = r.text(n, "id", true); out.ID != "" && !idText().MatchString(out.ID) {
		r.badField(n, "id", "is no id", "use letters, digits, dot, dash and underscore")
	}
	if _, given := n.field("severity"); given || must == Find { // of a false alarm it does not matter
		out.Severity = r.severity(n)
	}
	out.Description = r.text(n, "description", true)
	_, also := n.field("also")
	if at, ok := n.field("location"); ok {
		out.Place = r.place(at)
		out.lines = append(out.lines, r.lines.line(at.at))
	} else if must == Find || also {
		r.bad(n, "location is missing", `write "location": {"file": …, "line": …}`)
	}
	if also {
		for _, at := range r.list(n, "also") {
			out.Also = append(out.Also, r.place(at))
			out.lines = append(out.lines, r.lines.line(at.at))
		}
	}
	return out, len(r.load.problems.List) == before
}

func (r *reader) place(at node) (out Place) {
	if !at.is('{') {
		r.bad(at, "a location is no JSON object", `write {"file": …, "line": …}`)
		return out
	}
	r.known(at, "file", "line", "end_line")
	out.File = r.text(at, "file", true)
	out.Line = r.whole(at, "line", 1, true, 1)
	out.EndLine = r.whole(at, "end_line", out.Line, false, out.Line)
	return out
}

func (r *reader) ruling(top node, out *expected) {
	c := &RulingCase{Threshold: defaultThreshold}
	for _, n := range r.list(top, "findings") {
		if !n.is('{') {
			r.bad(n, "is no JSON object", "write a finding")
			continue
		}
		r.known(n, "specialist", "severity", "file", "line", "end_line", "issue", "failure", "suggestion", "repro")
		f := work.Finding{
			Specialist: r.text(n, "specialist", true), Severity: r.severity(n), File: r.text(n, "file", true), Line: r.whole(n, "line", 1, true, 1),
			Issue: r.text(n, "issue", true), Failure: r.text(n, "failure", false), Suggestion: r.text(n, "suggestion", false), Repro: r.text(n, "repro", false),
		}
		f.EndLine = r.whole(n, "end_line", f.Line, false, 0)
		c.Findings = append(c.Findings, f)
		out.findingsAt = append(out.findingsAt, r.lines.line(n.at))
	}
	if n, ok := top.field("unknown"); ok {
		if c.Unknown, ok = n.value.(bool); !ok {
			r.bad(n, "unknown is neither true nor false", "write true or false")
		}
	}
	c.Attempts = r.whole(top, "attempts", 0, false, 0)
	c.MaxFixes = r.whole(top, "max_fixes", 0, false, defaultMaxFixes)
	if n, ok := top.field("threshold"); ok {
		number, _ := n.value.(json.Number)
		x, err := strconv.ParseFloat(string(number), 64)
		if err != nil || x < 0 || x > 1 {
			r.bad(n, "threshold is no number from 0 to 1", "write one such as 0.7")
		}
		c.Threshold = x
	}
	c.Right = review.Ruling(r.text(top, "right", true))
	if c.Right != "" && !slices.Contains(rulings(), c.Right) {
		r.badField(top, "right", "is no ruling", "write Proceed, Fix or FailPhase")
	}
	out.ruling = c
}

// badField says what is wrong with a field that is a text.
func (r *reader) badField(n node, name, what, fix string) {
	v, _ := n.field(name)
	r.bad(v, fmt.Sprintf("%s %q %s", name, text.Clip(fmt.Sprint(v.value), 60), what), fix)
}

func (r *reader) known(n node, names ...string) {
	for i, have := range n.names {
		if !slices.Contains(names, have) {
			r.bad(n.fields[i], fmt.Sprintf("unknown field %q", text.Clip(have, 60)), "the fields are "+strings.Join(names, ", "))
		}
	}
}

func (r *reader) text(n node, name string, needed bool) string {
	v, ok := n.field(name)
	if !ok {
		if needed {
			r.bad(n, name+" is missing", "write it")
		}
		return ""
	}
	text, ok := v.value.(string)
	switch {
	case !ok:
		r.bad(v, name+" is no text", "write it in quotes")
	case needed && strings.TrimSpace(text) == "":
		r.bad(v, name+" is empty", "write it")
	}
	return text
}

func (r *reader) severity(n node) work.Severity {
	text := r.text(n, "severity", true)
	s := work.Severity(text)
	if text != "" && !s.Known() {
		r.badField(n, "severity", "is unknown", "write critical, major or minor")
	}
	return s
}

// whole is a number from least on; otherwise what it is where it is missing.
func (r *reader) whole(n node, name string, least int, needed bool, otherwise int) int {
	v, ok := n.field(name)
	if !ok || v.value == nil && !needed {
		if needed {
			r.bad(n, name+" is missing", "write it")
		}
		return otherwise
	}
	number, _ := v.value.(json.Number)
	x, err := strconv.ParseInt(string(number), 10, 32)
	if err != nil || int(x) < least {
		r.bad(v, fmt.Sprintf("%s is no whole number from %d on", name, least), "write one")
		return otherwise
	}
	return int(x)
}

func (r *reader) list(n node, name string) []node {
	v, ok := n.field(name)
	switch {
	case !ok:
		r.bad(n, name+" is missing", "write [] when there is none")
	case !v.is('['):
		r.bad(v, name+" is no list", "write [] when there is none")
	case len(v.items) > maxExpected:
		r.bad(v, fmt.Sprintf("%s has %d entries, more than %d", name, len(v.items), maxExpected), "make two cases of it")
		return nil
	}
	return v.items
}

func rulings() []review.Ruling {
	return []review.Ruling{review.Proceed, review.Fix, review.FailPhase}
}
