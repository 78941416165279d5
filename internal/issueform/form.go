// Package issueform is an issue as a text that a person edits in an editor.
package issueform

import (
	"fmt"
	"strconv"
	"strings"

	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// formRule parts the fields of an issue from its description.
const formRule = "---"

// Of is an issue as a person edits it: a line for each field, a rule, and the
// description.
func Of(i work.Issue) string {
	var b strings.Builder
	line := func(name, value string) { b.WriteString(strings.TrimRight(name+": "+value, " ") + "\n") }
	line("title", i.Title)
	line("priority", string(i.Priority))
	line("labels", strings.Join(i.Labels, ", "))
	line("needs", strings.TrimSpace(narrate.Hashes(i.Needs)))
	line("level", i.Level)
	line("criteria", "")
	for _, c := range i.Criteria {
		fmt.Fprintf(&b, "- %s: %s\n", c.ID, c.Text)
	}
	b.WriteString(formRule + "\n" + i.Description)
	return b.String()
}

// Read is what the issue becomes by an edited form. A criterion without an id is a
// new one; everything that is not understood is refused.
func Read(was work.Issue, body string) (work.Issue, error) {
	now := was
	head, description, ok := strings.Cut(strings.ReplaceAll(body, "\r\n", "\n"), "\n"+formRule+"\n")
	if !ok {
		return was, refusal.New("keep the line "+formRule+" above the description", "the line %s is gone", formRule)
	}
	// An editor that ends the last line changes nothing by that.
	if strings.TrimSuffix(description, "\n") != strings.TrimSuffix(was.Description, "\n") {
		now.Description = description
	}
	now.Criteria = nil
	seen := map[string]bool{}
	next := was.CriteriaGiven + 1
	for n, line := range strings.Split(head, "\n") {
		refuseLine := func(what string) error {
			return refusal.New("title, priority, labels, needs, level, criteria, each on a line of its own", "line %d: %s: %q", n+1, what, text.OneLine(line, 60))
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if item, ok := strings.CutPrefix(line, "- "); ok && seen["criteria"] {
			c, fresh := formCriterion(was, item, next)
			if fresh {
				next++
			}
			now.Criteria = append(now.Criteria, c)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok {
			return was, refuseLine("not a field")
		}
		if seen[name] {
			return was, refuseLine("the field stands twice")
		}
		seen[name] = true
		switch name {
		case "title":
			now.Title = value
		case "priority":
			now.Priority = work.Priority(value)
		case "labels":
			now.Labels = commaWords(value)
		case "level":
			now.Level = value
		case "needs":
			now.Needs = nil
			for _, word := range commaWords(value) {
				id, err := Number(word, "needs: #12, #13")
				if err != nil {
					return was, err
				}
				now.Needs = append(now.Needs, id)
			}
		case "criteria":
			if value != "" {
				return was, refuseLine("criteria stand below, each after a hyphen")
			}
		default:
			return was, refuseLine("unknown field")
		}
	}
	for _, name := range []string{"title", "priority", "labels", "needs", "level", "criteria"} {
		if !seen[name] {
			return was, refusal.New("leave its value empty to take it away", "the line %q is gone", name+":")
		}
	}
	return now, nil
}

// Number is the number of an issue as people write it; usage is the way out where it
// is none.
func Number(word, usage string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	if err != nil || n < 1 {
		return 0, refusal.New(usage, "%q is not the number of an issue", word)
	}
	return n, nil
}

// formCriterion reads one criterion: one with an id that the issue has, or a new
// one.
func formCriterion(was work.Issue, item string, next int) (c work.Criterion, fresh bool) {
	id, text, ok := strings.Cut(item, ":")
	if ok {
		for _, old := range was.Criteria {
			if old.ID == strings.TrimSpace(id) {
				return work.Criterion{ID: old.ID, Text: strings.TrimSpace(text)}, false
			}
		}
	}
	return work.Criterion{ID: fmt.Sprintf("c%d", next), Text: strings.TrimSpace(item)}, true
}

func commaWords(value string) (out []string) {
	for _, word := range strings.Split(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}
