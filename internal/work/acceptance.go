package work

import (
	"fmt"
	"path"
	"strings"

	"forge/internal/text"
)

// Acceptance is one thing that a phase has to reach, and the one piece of evidence
// that shows it. Both are fixed with the plan, before any work.
type Acceptance struct {
	What string `json:"what"`
	// One of these: a shell command that passes, the file of a test, or a page of
	// documentation. Files are paths in the repository; what follows :: in a test is
	// its name, for people.
	Command string `json:"command,omitempty"`
	Test    string `json:"test,omitempty"`
	Page    string `json:"page,omitempty"`
}

// MaxAcceptance is how many criteria one phase may have, MaxAcceptanceBytes how
// long each word of one may be.
const (
	MaxAcceptance      = 30
	MaxAcceptanceBytes = 500
)

// Path is the file that shows it, "" where a command does.
func (a Acceptance) Path() string {
	file, _, _ := strings.Cut(a.Test, "::")
	return file + a.Page
}

// Proof is the command that shows it. Of a test and a page no more is asked than
// that they are there: the project's commands run the one, people read the other.
func (a Acceptance) Proof() string {
	if a.Command != "" {
		return a.Command
	}
	return "test -s " + text.ShellWord(a.Path())
}

// String is the criterion with its evidence, as people and agents read it.
func (a Acceptance) String() string {
	switch {
	case a.Command != "":
		return a.What + " (shown by the command: " + a.Command + ")"
	case a.Test != "":
		return a.What + " (shown by the test " + a.Test + ")"
	}
	return a.What + " (shown by the page " + a.Page + ")"
}

// checkAcceptance is everything wrong with the criteria of one phase.
func checkAcceptance(all []Acceptance) []Problem {
	var out []Problem
	if len(all) > MaxAcceptance {
		out = append(out, Problem{"criteria", fmt.Sprintf("there are %d criteria", len(all)), fmt.Sprintf("at most %d; split the phase", MaxAcceptance)})
	}
	for i, a := range all {
		add := func(field, what, fix string) {
			out = append(out, Problem{fmt.Sprintf("criteria[%d]%s", i, field), what, fix})
		}
		if why := badLine(a.What, MaxAcceptanceBytes); a.What == "" || why != "" {
			add(".what", "a criterion says nothing that has to be so"+strings.TrimSuffix(": "+why, ": "), "say it in one line")
		}
		named := 0
		for _, e := range []struct{ field, value string }{{".command", a.Command}, {".test", a.Test}, {".page", a.Page}} {
			if e.value == "" {
				continue
			}
			named++
			if why := badLine(e.value, MaxAcceptanceBytes); why != "" {
				add(e.field, "the evidence of a criterion: "+why, "write it on one line")
			}
		}
		switch file := a.Path(); {
		case named == 0:
			add("", "the criterion names no evidence", `name what shows it: "command", "test" or "page"`)
		case named > 1:
			add("", fmt.Sprintf("the criterion names %d pieces of evidence", named), "name one; write a criterion for each")
		case a.Command == "" && !inTree(file):
			add("", fmt.Sprintf("%q is no file of the repository", text.Clip(file, mostQuoted)), "write a path from its root, without * ? [ { \\ and outside .forge and .git")
		}
	}
	return out
}

// inTree says that a path can be of a file of the repository, to the letter.
func inTree(file string) bool {
	first, _, _ := strings.Cut(file, "/")
	return file != "" && file == path.Clean(file) && !path.IsAbs(file) && first != ".." && first != "." && first != ".git" && first != ".forge" &&
		!strings.ContainsAny(file, `*?[]{}\`) && !strings.HasPrefix(file, "-")
}
