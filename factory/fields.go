package factory

import (
	"fmt"
	"slices"
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// Changes are the fields in which two versions of an issue differ, as texts.
// Places within a column are not among them: the history says that it moved.
func Changes(was, now work.Issue) []work.FieldChange {
	out := []work.FieldChange{}
	for _, f := range []struct {
		name string
		text func(work.Issue) string
	}{
		{"title", func(i work.Issue) string { return i.Title }},
		{"description", func(i work.Issue) string { return i.Description }},
		{"criteria", func(i work.Issue) string { return criteria(i.Criteria) }},
		{"priority", func(i work.Issue) string { return string(i.Priority) }},
		{"labels", func(i work.Issue) string { return strings.Join(i.Labels, ", ") }},
		{"needs", func(i work.Issue) string { return numbers(i.Needs) }},
		{"level", func(i work.Issue) string { return i.Level }},
		{"budget", func(i work.Issue) string {
			return numbers(slices.DeleteFunc([]int64{int64(i.Budget)}, func(n int64) bool { return n == 0 }))
		}},
		{"target", func(i work.Issue) string { return i.Target }},
		{"parent", func(i work.Issue) string {
			return numbers(slices.DeleteFunc([]int64{i.Parent}, func(id int64) bool { return id == 0 }))
		}},
		{"column", func(i work.Issue) string { return string(i.Column) }},
		{"state", func(i work.Issue) string { return string(i.State) }},
		{"reason", func(i work.Issue) string { return i.Reason }},
		{"hold", func(i work.Issue) string { return strings.Join(i.Hold, ", ") }},
		{"run", func(i work.Issue) string { return i.Run }},
		{"after", func(i work.Issue) string { return i.After }},
		{"branch", func(i work.Issue) string { return i.Branch }},
		{"pull", pullWords},
	} {
		if from, to := f.text(was), f.text(now); from != to {
			out = append(out, work.FieldChange{Field: f.name, From: from, To: to})
		}
	}
	return out
}

func criteria(list []work.Criterion) string {
	var lines []string
	for _, c := range list {
		lines = append(lines, c.ID+": "+c.Text)
	}
	return strings.Join(lines, "\n")
}

func numbers(ids []int64) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprint(id))
	}
	return strings.Join(words, ", ")
}

func pullWords(i work.Issue) string {
	if i.Pull == nil {
		return ""
	}
	text := fmt.Sprint(i.Pull.Number)
	if i.Pull.URL != "" {
		text += ", " + i.Pull.URL
	}
	if i.Pull.Shown != "" {
		text += ", shows " + texts.Short(i.Pull.Shown)
	}
	return text
}
