package runner

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// Outcome is what a runner reported of one test.
type Outcome string

// Only Passed is a yes: a test that is skipped, pending, to be done, or expected
// to fail is none.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Test is one test of a report.
type Test struct {
	Name    string // with what tells it from others of the same run: package, file, class
	Group   string // what fails as one when it does not build or load: a package, a file
	Outcome Outcome
	Text    string // of a failure: what the runner printed about it, bounded
}

// Report is what one run of a runner said.
type Report struct {
	Tests []Test
	// Broken are groups that did not build or load, with what was said.
	Broken map[string]string
}

// mostText bounds what is kept of a failure.
const mostText = 16 << 10

func (r *Report) add(t Test) {
	t.Text = texts.ClipMiddle(t.Text, mostText)
	r.Tests = append(r.Tests, t)
}

func (r *Report) broke(group, text string) {
	if r.Broken == nil {
		r.Broken = map[string]string{}
	}
	r.Broken[group] = texts.ClipMiddle(r.Broken[group]+text, mostText)
}

// settle gives tests of one name names of their own, in their order, and sorts
// by name.
func (r *Report) settle() Report {
	seen := map[string]int{}
	for i := range r.Tests {
		if len(r.Tests[i].Text) > 2*mostText {
			r.Tests[i].Text = texts.ClipMiddle(r.Tests[i].Text, mostText)
		}
		name := r.Tests[i].Name
		seen[name]++
		if n := seen[name]; n > 1 {
			r.Tests[i].Name = fmt.Sprintf("%s #%d", name, n)
		}
	}
	slices.SortStableFunc(r.Tests, func(a, b Test) int { return strings.Compare(a.Name, b.Name) })
	return *r
}

// Outcomes returns what became of each test by name.
func (r Report) Outcomes() map[string]Outcome {
	all := make(map[string]Outcome, len(r.Tests))
	for _, t := range r.Tests {
		all[t.Name] = t.Outcome
	}
	return all
}

// RedByName says whether a test failed whose name contains word, in whatever
// case.
func (r Report) RedByName(word string) bool {
	return slices.ContainsFunc(r.Tests, func(t Test) bool {
		return t.Outcome == Failed && strings.Contains(strings.ToLower(t.Name), word)
	})
}

// junitSuite is a suite of a JUnit report, as many runners write one.
type junitSuite struct {
	Name   string       `xml:"name,attr"`
	File   string       `xml:"file,attr"`
	Suites []junitSuite `xml:"testsuite"`
	Cases  []junitCase  `xml:"testcase"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	File    string      `xml:"file,attr"`
	Status  string      `xml:"status,attr"`
	Failure []junitText `xml:"failure"`
	Error   []junitText `xml:"error"`
	Skipped []junitText `xml:"skipped"`
	Out     string      `xml:"system-out"`
	Err     string      `xml:"system-err"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// parseJUnit reads a JUnit report; name says how a case is called.
func parseJUnit(data []byte, r *Report, name func(s junitSuite, c junitCase) (name, group string)) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		token, err := d.Token()
		if err != nil {
			return // the end, or what is no XML: nothing more is reported
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testsuite" {
			continue
		}
		var s junitSuite
		if d.DecodeElement(&s, &start) != nil {
			return
		}
		s.collect(r, name)
	}
}

func (s junitSuite) collect(r *Report, name func(junitSuite, junitCase) (string, string)) {
	for _, c := range s.Cases {
		t := Test{Outcome: c.outcome(), Text: c.text()}
		if t.Name, t.Group = name(s, c); t.Name != "" {
			r.add(t)
		}
	}
	for _, inner := range s.Suites {
		if inner.File == "" {
			inner.File = s.File
		}
		inner.collect(r, name)
	}
}

func (c junitCase) outcome() Outcome {
	switch {
	case len(c.Failure)+len(c.Error) > 0 || c.Status == "fail" || c.Status == "failed":
		return Failed
	case len(c.Skipped) > 0 || c.Status != "" && c.Status != "run" && c.Status != "passed" && c.Status != "pass":
		return Skipped
	}
	return Passed
}

func (c junitCase) text() string {
	var all []string
	for _, t := range slices.Concat(c.Failure, c.Error) {
		all = append(all, t.Message, t.Text)
	}
	if len(all) > 0 {
		all = append(all, c.Out, c.Err)
	}
	return strings.Join(all, "\n")
}

var tapLine = texts.Lazy(`^(ok|not ok)\b\s*(\d+)?\s*(?:- )?(.*)$`)

// parseTAP reads the Test Anything Protocol. Lines that begin deeper are part
// of the test that follows, and not counted.
func parseTAP(data []byte, group string, r *Report) {
	last := -1
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		m := tapLine().FindStringSubmatch(line)
		if m == nil {
			if last >= 0 && strings.HasPrefix(strings.TrimSpace(line), "#") && r.Tests[last].Outcome == Failed {
				r.Tests[last].Text += line + "\n"
				if len(r.Tests[last].Text) > 4*mostText {
					r.Tests[last].Text = texts.ClipMiddle(r.Tests[last].Text, mostText)
				}
			}
			continue
		}
		name, directive, _ := strings.Cut(m[3], " # ")
		t := Test{Name: strings.TrimSpace(name), Group: group, Outcome: Passed}
		if t.Name == "" {
			t.Name = "test " + m[2]
		}
		if group != "" {
			t.Name = group + ": " + t.Name
		}
		directive = strings.ToUpper(directive)
		switch {
		case strings.HasPrefix(directive, "SKIP") || strings.HasPrefix(directive, "TODO"):
			t.Outcome = Skipped
		case m[1] == "not ok":
			t.Outcome = Failed
		}
		r.add(t)
		last = len(r.Tests) - 1
	}
}
