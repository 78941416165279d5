package eval

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/work"
	"forge/review"
)

// Arbiter is the word for the arbiter where a case names its specialist.
const Arbiter = "arbiter"

// Case is a change, or findings, about which it is known what is right to say.
type Case struct {
	Name       string // of its folder
	Specialist string // who is asked; Arbiter = the arbiter
	Language   string
	Context    string // what the phase was to do
	Change     review.Change
	Content    map[string][]byte // files as they are after the change, where they are known
	Expected   []Expectation     // those that must be found first
	Ruling     *RulingCase       // of the arbiter's cases alone
	Recorded   *Recorded         // nil = nobody's answer is on record
	Hash       string            // of everything above but Recorded
}

// Clean says that there is nothing to find.
func (c Case) Clean() bool {
	return c.Ruling == nil && !slices.ContainsFunc(c.Expected, func(e Expectation) bool { return e.Must == Find })
}

// Must says what is wanted of a finding.
type Must string

// Find is for what has to be found; NotFlag for what looks like a fault and is
// none.
const (
	Find    Must = "find"
	NotFlag Must = "not_flag"
)

// Expectation is one place of a change and what is to be said about it.
type Expectation struct {
	Must        Must
	ID          string
	Severity    work.Severity
	Description string
	Place               // zero, of what must not be flagged alone: wherever somebody does
	Also        []Place // other places at which the same fault may be named
}

// anywhere says that no place is named.
func (e Expectation) anywhere() bool { return e.Place == Place{} }

// Place is a run of lines of a change.
type Place struct {
	File    string
	Line    int // from 1, as in findings
	EndLine int // at or behind Line
}

// RulingCase is what the arbiter is asked, and the right ruling.
type RulingCase struct {
	Findings  []work.Finding
	Unknown   bool // a gating reviewer gave no usable answer
	Attempts  int
	MaxFixes  int
	Threshold float64
	Right     review.Ruling // Proceed, Fix or FailPhase
}

// Recorded is what somebody said about a case, to be looked at again without
// asking anybody.
type Recorded struct {
	Reviewer string           `json:"reviewer"`
	Answers  []RecordedAnswer `json:"answers"` // to each question, in order
	Same     []Same           `json:"same,omitempty"`
}

// Same says whether a finding and an expectation mean the same fault.
type Same struct {
	Case        string `json:"case,omitempty"`
	Expectation string `json:"expectation"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	Issue       string `json:"issue"`
	Same        *bool  `json:"same"` // nil = nobody has said
}

// Problem is one thing wrong with the files of a case.
type Problem struct {
	File string // within the folder of cases
	Line int    // from 1, 0 = the file as a whole
	What string
	Fix  string
}

// Error has file and line in front.
func (p Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d", p.Line)
	}
	return at + ": " + p.What
}

// Problems is everything wrong with a folder of cases.
type Problems struct{ List []Problem }

func (p *Problems) Error() string {
	var all []string
	for _, one := range p.List {
		all = append(all, one.Error())
	}
	return strings.Join(all, "\n")
}
