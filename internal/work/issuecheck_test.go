package work

import (
	"strings"
	"testing"
)

func goodIssue() Issue {
	return Issue{
		ID: 7, Title: "Find the leak", Description: "It *grows*.\n\n\t- slowly\n", Priority: PriorityNormal, Column: ColumnBacklog,
		Labels: []string{"bug", "Zoë 👩‍🔧"}, Needs: []int64{1, 3}, Level: "plan_then_review", Criteria: []Criterion{{"c1", "it does not grow"}, {"c4", "it is tested"}},
	}
}

func TestIssueCheck(t *testing.T) {
	if p := goodIssue().Check(); len(p) > 0 {
		t.Fatalf("a good issue has problems: %v", p)
	}
	for name, c := range map[string]struct {
		spoil func(*Issue)
		path  string
	}{
		"no title":              {func(i *Issue) { i.Title = "" }, "title"},
		"blank around title":    {func(i *Issue) { i.Title = " x" }, "title"},
		"title of two lines":    {func(i *Issue) { i.Title = "a\nb" }, "title"},
		"escape in title":       {func(i *Issue) { i.Title = "a\x1b[2J" }, "title"},
		"turned title":          {func(i *Issue) { i.Title = "a\u202eb" }, "title"},
		"title too long":        {func(i *Issue) { i.Title = strings.Repeat("é", 100) + "x" }, "title"},
		"title not UTF-8":       {func(i *Issue) { i.Title = "a\xff" }, "title"},
		"description too long":  {func(i *Issue) { i.Description = strings.Repeat("x", MaxIssueDescription+1) }, "description"},
		"escape in description": {func(i *Issue) { i.Description = "a\nb\x1b" }, "description"},
		"return in description": {func(i *Issue) { i.Description = "a\r\n" }, "description"},
		"description not UTF-8": {func(i *Issue) { i.Description = "\xc3" }, "description"},
		"no priority":           {func(i *Issue) { i.Priority = "" }, "priority"},
		"unknown priority":      {func(i *Issue) { i.Priority = "High" }, "priority"},
		"unknown column":        {func(i *Issue) { i.Column = "doing" }, "column"},
		"level of two words":    {func(i *Issue) { i.Level = "a b" }, "level"},
		"reason of two lines":   {func(i *Issue) { i.Reason = "a\nb" }, "reason"},
		"empty label":           {func(i *Issue) { i.Labels = []string{""} }, "labels[0]"},
		"label with a comma":    {func(i *Issue) { i.Labels = []string{"a", "b,c"} }, "labels[1]"},
		"label twice":           {func(i *Issue) { i.Labels = []string{"a", "b", "a"} }, "labels[2]"},
		"label too long":        {func(i *Issue) { i.Labels = []string{strings.Repeat("x", MaxIssueLabel+1)} }, "labels[0]"},
		"too many labels":       {func(i *Issue) { i.Labels = strings.Split("abcdefghijklmnopqrstu", "") }, "labels"},
		"needs itself":          {func(i *Issue) { i.Needs = []int64{7} }, "needs[0]"},
		"needs zero":            {func(i *Issue) { i.Needs = []int64{0} }, "needs[0]"},
		"needs twice":           {func(i *Issue) { i.Needs = []int64{2, 2} }, "needs[1]"},
		"too many needs":        {func(i *Issue) { i.Needs = upTo(MaxIssueNeeds + 1) }, "needs"},
		"criterion id":          {func(i *Issue) { i.Criteria[0].ID = "1" }, "criteria[0].id"},
		"criterion twice":       {func(i *Issue) { i.Criteria[1].ID = "c1" }, "criteria[1].id"},
		"empty criterion":       {func(i *Issue) { i.Criteria[1].Text = "" }, "criteria[1].text"},
		"criterion of lines":    {func(i *Issue) { i.Criteria[1].Text = "a\nb" }, "criteria[1].text"},
	} {
		i := goodIssue()
		c.spoil(&i)
		if p := i.Check(); len(p) != 1 || p[0].Path != c.path || p[0].What == "" || p[0].Fix == "" {
			t.Errorf("%s: problems %q, want one at %s", name, p, c.path)
		}
	}
}

// upTo is far above goodIssue's own number.
func upTo(n int) (out []int64) {
	for i := range n {
		out = append(out, int64(100+i))
	}
	return out
}

func TestIssueCheckNamesAllAtOnce(t *testing.T) {
	i := goodIssue()
	i.Title, i.Priority, i.Labels, i.Needs, i.Criteria[0].Text = "", "x", []string{""}, []int64{0}, ""
	if p := i.Check(); len(p) != 5 {
		t.Errorf("%d problems, want 5: %v", len(p), p)
	}
}
