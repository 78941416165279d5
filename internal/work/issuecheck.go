package work

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"forge/internal/text"
)

// Bounds of an issue. Texts are counted in bytes.
const (
	MaxIssueTitle       = 200
	MaxIssueBudget      = 1000 // tries
	MaxIssueDescription = 256 << 10
	MaxIssueLabels      = 20
	MaxIssueLabel       = 50
	MaxIssueNeeds       = 100
	MaxIssueCriteria    = 50
	MaxIssueCriterion   = 1000
	MaxIssueReason      = 500
	MaxIssueTarget      = 200
)

var (
	criterionID = text.Lazy(`^c[1-9][0-9]{0,8}$`)
	levelName   = text.Lazy(`^[a-z0-9][a-z0-9_.-]{0,63}$`)
)

// Check returns everything that is wrong with what a person writes into an
// issue. Whether its needs exist and make no cycle is another question.
func (i Issue) Check() []Problem {
	var out []Problem
	add := func(path, fix, what string, args ...any) {
		out = append(out, Problem{Path: path, What: fmt.Sprintf(what, args...), Fix: fix})
	}
	if i.Title == "" {
		add("title", "say in a few words what is wanted", "it is empty")
	}
	if i.Budget < 0 || i.Budget > MaxIssueBudget {
		add("budget", fmt.Sprintf("use 1 to %d, or 0 for the default", MaxIssueBudget), "%d iterations are none", i.Budget)
	}
	if why := badLine(i.Title, MaxIssueTitle); why != "" {
		add("title", "put the rest into the description", "%s", why)
	}
	if why := badText(i.Description); why != "" {
		add("description", "write it as plain Markdown", "%s", why)
	}
	if !known(Priorities(), i.Priority) {
		add("priority", "low, normal, high or urgent", "%q is not one", text.Clip(string(i.Priority), mostQuoted))
	}
	if !known(Columns(), i.Column) {
		add("column", "backlog, ready, in_progress, in_review or done", "%q is not one", text.Clip(string(i.Column), mostQuoted))
	}
	if i.Level != "" && !levelName().MatchString(i.Level) {
		add("level", "forge policy list shows the names", "%q is not the name of a policy", text.Clip(i.Level, mostQuoted))
	}
	if why := badLine(i.Target, MaxIssueTarget); why != "" || strings.HasPrefix(i.Target, "-") {
		add("target", "name a branch", "%q is not one", text.Clip(i.Target, mostQuoted))
	}
	if why := badLine(i.Reason, MaxIssueReason); why != "" {
		add("reason", "keep it to one line", "%s", why)
	}
	return slices.Concat(out, i.checkLabels(), i.checkNeeds(), i.checkCriteria())
}

func (i Issue) checkLabels() (out []Problem) {
	if len(i.Labels) > MaxIssueLabels {
		out = append(out, Problem{"labels", fmt.Sprintf("there are %d", len(i.Labels)), fmt.Sprintf("at most %d", MaxIssueLabels)})
	}
	for n, label := range i.Labels {
		path := fmt.Sprintf("labels[%d]", n)
		switch why := badLine(label, MaxIssueLabel); {
		case why != "":
			out = append(out, Problem{path, why, "a label is a word or two"})
		case label == "" || strings.ContainsAny(label, ","):
			out = append(out, Problem{path, fmt.Sprintf("%q is empty or has a comma", text.Clip(label, mostQuoted)), "give each label by itself"})
		case slices.Contains(i.Labels[:n], label):
			out = append(out, Problem{path, fmt.Sprintf("%q stands twice", text.Clip(label, mostQuoted)), "name it once"})
		}
	}
	return out
}

func (i Issue) checkNeeds() (out []Problem) {
	if len(i.Needs) > MaxIssueNeeds {
		out = append(out, Problem{"needs", fmt.Sprintf("there are %d", len(i.Needs)), fmt.Sprintf("at most %d", MaxIssueNeeds)})
	}
	for n, need := range i.Needs {
		path := fmt.Sprintf("needs[%d]", n)
		switch {
		case need < 1:
			out = append(out, Problem{path, fmt.Sprintf("%d is not the number of an issue", need), "numbers begin at 1"})
		case need == i.ID:
			out = append(out, Problem{path, fmt.Sprintf("issue %d needs itself", need), "remove it from its own needs"})
		case slices.Contains(i.Needs[:n], need):
			out = append(out, Problem{path, fmt.Sprintf("issue %d stands twice", need), "name it once"})
		}
	}
	return out
}

func (i Issue) checkCriteria() (out []Problem) {
	if len(i.Criteria) > MaxIssueCriteria {
		out = append(out, Problem{"criteria", fmt.Sprintf("there are %d", len(i.Criteria)), fmt.Sprintf("at most %d", MaxIssueCriteria)})
	}
	seen := map[string]bool{}
	for n, c := range i.Criteria {
		path := fmt.Sprintf("criteria[%d]", n)
		if !criterionID().MatchString(c.ID) || seen[c.ID] {
			out = append(out, Problem{path + ".id", fmt.Sprintf("%q is not an id of its own", text.Clip(c.ID, mostQuoted)), "c1, c2, …"})
		}
		seen[c.ID] = true
		switch why := badLine(c.Text, MaxIssueCriterion); {
		case why != "":
			out = append(out, Problem{path + ".text", why, "keep it to one line that can be held against the result"})
		case c.Text == "":
			out = append(out, Problem{path + ".text", "it is empty", "say what must hold"})
		}
	}
	return out
}

// badLine says why s is not one plain line of at most most bytes; "" when it is.
func badLine(s string, most int) string {
	switch {
	case len(s) > most:
		return fmt.Sprintf("it has %d bytes, more than %d", len(s), most)
	case !utf8.ValidString(s) || text.Hides(s):
		return fmt.Sprintf("%q has control or invisible characters", text.Clip(s, mostQuoted))
	case strings.TrimSpace(s) != s:
		return fmt.Sprintf("%q begins or ends with white space", text.Clip(s, mostQuoted))
	}
	return ""
}

// badText says why s is not a text for people; lines and tabs are fine there.
func badText(s string) string {
	if len(s) > MaxIssueDescription {
		return fmt.Sprintf("it has %d bytes, more than %d", len(s), MaxIssueDescription)
	}
	if !utf8.ValidString(s) {
		return "it is not UTF-8"
	}
	line := 1
	for _, r := range s {
		if r == '\n' {
			line++
		} else if r != '\t' && text.Control(r) {
			return fmt.Sprintf("line %d has the control character %U", line, r)
		}
	}
	return ""
}
