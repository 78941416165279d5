package api

import (
	"fmt"
	"net/http"
	"strconv"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/work"
)

// InIssue is an operation on one issue.
type InIssue struct {
	InProject
	Issue int64 `path:"issue" minimum:"1" doc:"The issue's number."`
}

// issueLine is an issue without its description.
type issueLine struct {
	work.Issue
	BlockedBy []int64 `json:"blocked_by" doc:"What it needs that is not done."`
}

// issuePage is a page of issues.
type issuePage struct {
	Issues []issueLine `json:"issues"`
	Next   int64       `json:"next,omitempty" doc:"The issue to give as after for the next page; absent when that was all."`
}

// issueShown is one issue.
type issueShown struct {
	issueLine
	NextBranch string `json:"next_branch,omitempty" doc:"What its branch will be called when it is claimed."`
}

// ListIssues are the filters of a list.
type ListIssues struct {
	InProject
	Column work.Column `query:"column" enum:"backlog,ready,in_progress,in_review,done" doc:"Only this column, in its order; without it, all issues by number."`
	Label  string      `query:"label" maxLength:"50"`
	Search string      `query:"search" maxLength:"200" doc:"A text in title or description."`
	Limit  int         `query:"limit" minimum:"1" maximum:"500" default:"50"`
	After  int64       `query:"after" minimum:"0" doc:"Go on below this issue."`
}

// IssueAnswer is an issue with its version as an ETag.
type IssueAnswer struct {
	ETag string `header:"ETag" doc:"The issue's version, for If-Match."`
	Body issueShown
}

// HistoryQuery is a page of an issue's history.
type HistoryQuery struct {
	InIssue
	Limit  int   `query:"limit" minimum:"1" maximum:"500" default:"20"`
	Before int64 `query:"before" minimum:"0" doc:"Lines before this one."`
}

// history is a page of an issue's history, the newest first.
type history struct {
	Entries []work.IssueEntry `json:"entries"`
	Before  int64             `json:"before,omitempty" doc:"For the next page; absent when that was all."`
}

func (a *API) issueRoutes() {
	add(a, Route{ID: "list-issues", Method: http.MethodGet, Path: "/projects/{project}/issues", Role: web.RoleViewer, Summary: "Issues of a column, or all", Tag: "issues"}, listIssues)
	add(a, Route{ID: "show-issue", Method: http.MethodGet, Path: "/projects/{project}/issues/{issue}", Role: web.RoleViewer, Summary: "One issue", Tag: "issues"},
		func(c call, in *InIssue) (*IssueAnswer, error) {
			i, err := c.project.Cards.Issue(c, c.project.Board.Project, in.Issue)
			if err != nil {
				return nil, err
			}
			return showIssue(c, i)
		})
	add(a, Route{ID: "issue-history", Method: http.MethodGet, Path: "/projects/{project}/issues/{issue}/history", Role: web.RoleViewer, Summary: "What became of an issue, the newest first", Tag: "issues"},
		func(c call, in *HistoryQuery) (*Answer[history], error) {
			if _, err := c.project.Cards.Issue(c, c.project.Board.Project, in.Issue); err != nil {
				return nil, err
			}
			list, err := c.project.Cards.IssueHistory(c, c.project.Board.Project, in.Issue, in.Limit+1, in.Before)
			out := history{Entries: []work.IssueEntry{}}
			if len(list) > in.Limit {
				list = list[:in.Limit]
				out.Before = list[in.Limit-1].Seq
			}
			out.Entries = append(out.Entries, list...)
			return answer(out, err)
		})
}

func listIssues(c call, in *ListIssues) (*Answer[issuePage], error) {
	after := ""
	if in.After != 0 {
		last, err := c.project.Cards.Issue(c, c.project.Board.Project, in.After)
		if err != nil {
			return nil, err
		}
		switch {
		case in.Column == "":
			after = strconv.FormatInt(last.ID, 10)
		case last.Column != in.Column:
			return nil, &Problem{Status: http.StatusConflict, Code: "stale", Detail: fmt.Sprintf("Issue %d stands in %s now.", last.ID, last.Column), Fix: "Read the column from its top."}
		default:
			after = last.Rank
		}
	}
	filter := work.IssueFilter{Project: c.project.Board.Project, Column: in.Column, Label: in.Label, Search: in.Search}
	found, err := c.project.Cards.Issues(c, filter, in.Limit+1, after)
	if err != nil {
		return nil, err
	}
	out := issuePage{Issues: []issueLine{}}
	if len(found) > in.Limit {
		found = found[:in.Limit]
		out.Next = found[in.Limit-1].ID
	}
	var ids []int64
	for _, i := range found {
		ids = append(ids, i.ID)
	}
	blockers, err := c.project.Cards.Blockers(c, c.project.Board.Project, ids)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		out.Issues = append(out.Issues, issueLine{Issue: i, BlockedBy: append([]int64{}, blockers[i.ID]...)})
	}
	return answer(out, nil)
}

// showIssue is an issue as it stands.
func showIssue(c call, i work.Issue) (*IssueAnswer, error) {
	blockers, err := c.project.Cards.Blockers(c, c.project.Board.Project, []int64{i.ID})
	if err != nil {
		return nil, err
	}
	out := &IssueAnswer{ETag: etag(i.Version), Body: issueShown{issueLine: issueLine{Issue: i, BlockedBy: append([]int64{}, blockers[i.ID]...)}}}
	if i.Branch == "" {
		out.Body.NextBranch = factory.Branch(i.ID, i.Title)
	}
	return out, nil
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }
