package mcp

import (
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/token"
	"forge/internal/work"
)

type inIssues struct {
	Column string `json:"column,omitempty" jsonschema:"backlog, ready, in_progress, in_review or done"`
	Search string `json:"search,omitempty" jsonschema:"in title or description"`
	After  string `json:"after,omitempty" jsonschema:"where to go on, as the answer before says"`
}

type inIssue struct {
	Issue  int64 `json:"issue" jsonschema:"its number"`
	Offset int   `json:"offset,omitempty" jsonschema:"where to go on, as the answer before says"`
}

type inNewIssue struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty" jsonschema:"Markdown"`
	Criteria    []string `json:"criteria,omitempty" jsonschema:"what the result is held against, each a line"`
	Priority    string   `json:"priority,omitempty" jsonschema:"low, normal, high or urgent"`
	Labels      []string `json:"labels,omitempty"`
	Needs       []int64  `json:"needs,omitempty" jsonschema:"issues that have to be done first"`
	Column      string   `json:"column,omitempty" jsonschema:"backlog or ready; backlog where it is absent"`
	Top         bool     `json:"top,omitempty" jsonschema:"at the top of the column instead of the bottom"`
}

type inEditIssue struct {
	Issue       int64     `json:"issue" jsonschema:"its number"`
	Version     int64     `json:"version" jsonschema:"the version that you read; refused when there is a newer one"`
	Title       *string   `json:"title,omitempty"`
	Description *string   `json:"description,omitempty" jsonschema:"Markdown"`
	Priority    *string   `json:"priority,omitempty" jsonschema:"low, normal, high or urgent"`
	Labels      *[]string `json:"labels,omitempty"`
	Needs       *[]int64  `json:"needs,omitempty" jsonschema:"issues that have to be done first"`
}

type inMoveIssue struct {
	Issue  int64  `json:"issue" jsonschema:"its number"`
	Column string `json:"column" jsonschema:"backlog, ready, in_progress, in_review or done"`
	Top    bool   `json:"top,omitempty" jsonschema:"at the top of the column instead of the bottom"`
	Note   string `json:"note,omitempty" jsonschema:"why, for the history"`
}

type inJob struct {
	Description string   `json:"description" jsonschema:"what is wanted"`
	Expert      string   `json:"expert,omitempty" jsonschema:"who works on it, of those that the project names"`
	Sources     []string `json:"data_sources,omitempty" jsonschema:"what may be read, of those that the project names"`
}

func boardTools() []tool {
	return []tool{
		define(tool{name: "issues", tier: token.Read, whole: true, about: "Issues on the board, of one column or all."}, listIssues),
		define(tool{name: "issue", tier: token.Read, whole: true, about: "One issue: what is wanted, how it stands, what became of it."}, showIssue),
		define(tool{name: "issue_add", tier: token.Act, whole: true, about: "Put a new issue on the board."}, addIssue),
		define(tool{name: "issue_edit", tier: token.Act, whole: true, about: "Change what is wanted of an issue. What is absent stays."}, editIssue),
		define(tool{name: "issue_move", tier: token.Act, whole: true, about: "Put an issue into a column."}, moveIssue),
		define(tool{name: "job_start", tier: token.Act, whole: true, starts: true, about: "Start a job, which the server drives."}, startJob),
	}
}

func listIssues(c *call, in inIssues) (answer, error) {
	const page = 100
	found, err := c.project.Cards.Issues(c, work.IssueFilter{Project: c.project.Board.Project, Column: work.Column(in.Column), Search: in.Search}, page+1, in.After)
	if err != nil {
		return answer{}, err
	}
	var l list
	next, last := "", ""
	for n, i := range found {
		if n == page || !l.add(fmt.Sprintf("issue %d, %s %s, %s: %s", i.ID, i.Column, i.State, i.Priority, i.Title)) {
			next = "after=" + last
			break
		}
		if last = fmt.Sprint(i.ID); in.Column != "" {
			last = i.Rank
		}
	}
	return answer{head: text.Number(l.count, "issue") + ".\n", title: "Issues", data: l.b.String(), next: next}, nil
}

func showIssue(c *call, in inIssue) (answer, error) {
	c.name("issue", fmt.Sprint(in.Issue))
	i, err := c.project.Cards.Issue(c, c.project.Board.Project, in.Issue)
	if err != nil {
		return answer{}, err
	}
	past, err := c.project.Cards.IssueHistory(c, c.project.Board.Project, in.Issue, 50, 0)
	if err != nil {
		return answer{}, err
	}
	data, err := asJSON(struct {
		Issue   work.Issue        `json:"issue"`
		History []work.IssueEntry `json:"history"`
	}{i, past})
	return paged(fmt.Sprintf("Issue %d, version %d, is in %s.\n", i.ID, i.Version, i.Column), "Issue", data, in.Offset), err
}

func addIssue(c *call, in inNewIssue) (answer, error) {
	i := work.Issue{
		Title: strings.TrimSpace(in.Title), Description: unixLines(in.Description), Priority: work.Priority(in.Priority), Labels: in.Labels, Needs: in.Needs,
		Column: work.Column(in.Column),
	}
	if i.Priority == "" {
		i.Priority = work.PriorityNormal
	}
	if i.Column == "" {
		i.Column = work.ColumnBacklog
	}
	for n, one := range in.Criteria {
		i.Criteria = append(i.Criteria, work.Criterion{ID: fmt.Sprintf("c%d", n+1), Text: strings.TrimSpace(one)})
	}
	i, err := c.project.Board.Add(c, i, placeAt(in.Top), c.by(""))
	return changed(i), err
}

func editIssue(c *call, in inEditIssue) (answer, error) {
	c.name("issue", fmt.Sprint(in.Issue))
	if in.Version < 1 {
		return answer{}, refusal.New("read the issue, and name the version that you read", "an edit names the version that it was made from")
	}
	i, err := c.project.Board.Edit(c, in.Issue, in.Version, func(i *work.Issue) error {
		if in.Title != nil {
			i.Title = strings.TrimSpace(*in.Title)
		}
		if in.Description != nil {
			i.Description = unixLines(*in.Description)
		}
		if in.Priority != nil {
			i.Priority = work.Priority(*in.Priority)
		}
		if in.Labels != nil {
			i.Labels = *in.Labels
		}
		if in.Needs != nil {
			i.Needs = *in.Needs
		}
		return nil
	}, c.by(""))
	return changed(i), err
}

func moveIssue(c *call, in inMoveIssue) (answer, error) {
	c.name("issue", fmt.Sprint(in.Issue))
	i, err := c.project.Board.Move(c, in.Issue, work.Column(in.Column), placeAt(in.Top), c.by(in.Note))
	return changed(i), err
}

func startJob(c *call, in inJob) (answer, error) {
	if strings.TrimSpace(in.Description) == "" {
		return answer{}, refusal.New("say it in description", "a job needs to know what is wanted")
	}
	for _, one := range []struct {
		what  string
		names []string
		known func() ([]string, error)
	}{
		{"expert", one(in.Expert), func() ([]string, error) { return c.project.Jobs.Experts(c) }},
		{"data source", in.Sources, func() ([]string, error) { return c.project.Jobs.Sources(c) }},
	} {
		if len(one.names) == 0 {
			continue
		}
		known, err := one.known()
		if err != nil {
			return answer{}, err
		}
		for _, name := range one.names {
			if !slices.Contains(known, name) {
				return answer{}, refusal.New("the project has "+strings.Join(known, ", "), "%s is no %s", label(name), one.what)
			}
		}
	}
	id, err := c.project.Jobs.Start(c, web.JobOrder{Description: unixLines(in.Description), Expert: in.Expert, Sources: in.Sources, By: c.Grant.Who()})
	if err != nil {
		return answer{}, err
	}
	c.name("run", id)
	return answer{head: "Job " + id + " has begun.\n"}, nil
}

// one is a list of a name, and an empty one of none.
func one(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func placeAt(top bool) factory.Place {
	if top {
		return factory.Place{At: factory.Top}
	}
	return factory.Place{At: factory.Bottom}
}

func changed(i work.Issue) answer {
	return answer{head: fmt.Sprintf("Issue %d, version %d, is in %s.\n", i.ID, i.Version, i.Column)}
}

func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
