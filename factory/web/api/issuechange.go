package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/text"
	"forge/internal/work"
)

// maxIssueBody is for a description of its full length in which every letter
// is escaped.
const maxIssueBody = 8*work.MaxIssueDescription + 1<<20

// NewIssue is what an issue is added with.
type NewIssue struct {
	InProject
	Body struct {
		Title       string        `json:"title" minLength:"1" maxLength:"200"`
		Description string        `json:"description,omitempty" doc:"Markdown."`
		Criteria    []string      `json:"criteria,omitempty" maxItems:"50" nullable:"false" doc:"What the result is held against, each a line."`
		Priority    work.Priority `json:"priority,omitempty" enum:"low,normal,high,urgent" default:"normal"`
		Labels      []string      `json:"labels,omitempty" maxItems:"20" nullable:"false"`
		Needs       []int64       `json:"needs,omitempty" maxItems:"100" nullable:"false" doc:"Issues that have to be done first."`
		Level       string        `json:"level,omitempty" maxLength:"64" doc:"Name of a policy, which takes the role admin; absent = as the factory is configured."`
		Column      work.Column   `json:"column,omitempty" enum:"backlog,ready" default:"backlog"`
		Top         bool          `json:"top,omitempty" doc:"At the top of the column instead of the bottom."`
	}
}

// EditIssue changes what a person wrote into an issue. What is absent stays.
type EditIssue struct {
	InIssue
	IfMatch string `header:"If-Match" maxLength:"40" doc:"The ETag of the version that was edited; * = whatever is stored."`
	Body    struct {
		Title       *string            `json:"title,omitempty" minLength:"1" maxLength:"200"`
		Description *string            `json:"description,omitempty"`
		Criteria    *[]editedCriterion `json:"criteria,omitempty" maxItems:"50" doc:"All of them: one without an id is new, one that is missing is taken away."`
		Priority    *work.Priority     `json:"priority,omitempty" enum:"low,normal,high,urgent"`
		Labels      *[]string          `json:"labels,omitempty" maxItems:"20"`
		Needs       *[]int64           `json:"needs,omitempty" maxItems:"100"`
		Level       *string            `json:"level,omitempty" maxLength:"64"`
	}
}

type editedCriterion struct {
	ID   string `json:"id,omitempty" maxLength:"12"`
	Text string `json:"text" minLength:"1" maxLength:"1000"`
}

// MoveIssue puts an issue into a column.
type MoveIssue struct {
	InIssue
	Body struct {
		Column work.Column  `json:"column" enum:"backlog,ready,in_progress,in_review,done"`
		Place  factory.Spot `json:"place,omitempty" enum:"top,bottom,before,after" default:"bottom"`
		Beside int64        `json:"beside,omitempty" minimum:"1" doc:"The issue that place is before or after."`
		Note   string       `json:"note,omitempty" maxLength:"300" doc:"Why, for the history."`
	}
}

// StandIssue is a change of how an issue stands.
type StandIssue struct {
	InIssue
	Body *Why
}

// Why is what a person says about a change, for the history.
type Why struct {
	Note string `json:"note,omitempty" maxLength:"300"`
}

func (w *Why) note() string {
	if w == nil {
		return ""
	}
	return w.Note
}

func (a *API) issueChangeRoutes() {
	add(a, Route{ID: "add-issue", Method: http.MethodPost, Path: "/projects/{project}/issues", Role: web.RoleOperator, Summary: "Put a new issue on the board", Tag: "issues", MaxBody: maxIssueBody}, a.addIssue)
	add(a, Route{ID: "edit-issue", Method: http.MethodPatch, Path: "/projects/{project}/issues/{issue}", Role: web.RoleOperator, Summary: "Change what is wanted", Tag: "issues", MaxBody: maxIssueBody}, a.editIssue)
	add(a, Route{ID: "move-issue", Method: http.MethodPost, Path: "/projects/{project}/issues/{issue}/move", Role: web.RoleOperator, Summary: "Put an issue into a column, at a place there", Tag: "issues"},
		func(c call, in *MoveIssue) (*IssueAnswer, error) {
			beside := in.Body.Place == factory.Before || in.Body.Place == factory.After
			if beside != (in.Body.Beside != 0) {
				return nil, invalid("body.beside", "before and after take the issue that they are beside; top and bottom take none")
			}
			i, err := c.project.Board.Move(c, in.Issue, in.Body.Column, factory.Place{At: in.Body.Place, Issue: in.Body.Beside}, c.by(in.Body.Note))
			if err != nil {
				return nil, err
			}
			return showIssue(c, i)
		})
	add(a, Route{ID: "cancel-issue", Method: http.MethodPost, Path: "/projects/{project}/issues/{issue}/cancel", Role: web.RoleOperator, Summary: "Let nobody work on an issue any more; its agents are stopped", Tag: "issues"},
		func(c call, in *StandIssue) (*IssueAnswer, error) {
			i, err := c.project.Floor.CancelIssue(c, in.Issue, c.by(in.Body.note()))
			if err != nil {
				return nil, err
			}
			return showIssue(c, i)
		})
	add(a, Route{ID: "retry-issue", Method: http.MethodPost, Path: "/projects/{project}/issues/{issue}/retry", Role: web.RoleOperator, Summary: "Take up an issue again that failed or was cancelled", Tag: "issues"},
		func(c call, in *StandIssue) (*IssueAnswer, error) {
			i, err := c.project.Board.Retry(c, in.Issue, c.by(in.Body.note()))
			if err != nil {
				return nil, err
			}
			return showIssue(c, i)
		})
}

func (a *API) addIssue(c call, in *NewIssue) (*IssueAnswer, error) {
	b := in.Body
	i := work.Issue{
		Title: strings.TrimSpace(b.Title), Description: unixLines(b.Description), Priority: b.Priority, Labels: b.Labels, Needs: b.Needs,
		Level: b.Level, Column: b.Column,
	}
	for n, text := range b.Criteria {
		i.Criteria = append(i.Criteria, work.Criterion{ID: fmt.Sprintf("c%d", n+1), Text: strings.TrimSpace(text)})
	}
	if err := a.mayLevel(c, "", i.Level); err != nil {
		return nil, err
	}
	if err := mayLabel(c, nil, i.Labels); err != nil {
		return nil, err
	}
	place := factory.Place{At: factory.Bottom}
	if b.Top {
		place.At = factory.Top
	}
	i, err := c.project.Board.Add(c, i, place, c.by(""))
	if err != nil {
		return nil, err
	}
	return showIssue(c, i)
}

func (a *API) editIssue(c call, in *EditIssue) (*IssueAnswer, error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	b := in.Body
	i, err := c.project.Board.Edit(c, in.Issue, version, func(i *work.Issue) error {
		if b.Level != nil {
			if err := a.mayLevel(c, i.Level, *b.Level); err != nil {
				return err
			}
		}
		if b.Labels != nil {
			if err := mayLabel(c, i.Labels, *b.Labels); err != nil {
				return err
			}
		}
		set(&i.Title, b.Title)
		set(&i.Description, b.Description)
		set(&i.Priority, b.Priority)
		set(&i.Labels, b.Labels)
		set(&i.Needs, b.Needs)
		set(&i.Level, b.Level)
		i.Title, i.Description = strings.TrimSpace(i.Title), unixLines(i.Description)
		if b.Criteria == nil {
			return nil
		}
		return setCriteria(i, *b.Criteria)
	}, c.by(""))
	if err != nil {
		return nil, err
	}
	return showIssue(c, i)
}

// mayLevel says whether who asks may change an issue's level: only an admin
// lets one run more freely than the project's configuration says.
func (a *API) mayLevel(c call, was, level string) error {
	switch {
	case level == was:
		return nil
	case !c.who.May(c.project.ID, web.RoleAdmin):
		return forbidden(web.RoleAdmin, c)
	}
	return a.checkLevel(c, "body.level", level)
}

// mayLabel says whether who asks may change an issue's labels so.
func mayLabel(c call, was, now []string) error {
	err := c.project.MayLabel(c, was, now, c.who.May(c.project.ID, web.RoleAdmin))
	if errors.As(err, new(*web.Complaint)) {
		return forbidden(web.RoleAdmin, c)
	}
	return err
}

func set[T any](into *T, to *T) {
	if to != nil {
		*into = *to
	}
}

// setCriteria makes list the issue's criteria; ids are given here alone.
func setCriteria(i *work.Issue, list []editedCriterion) error {
	next := i.CriteriaGiven + 1
	var out []work.Criterion
	for n, one := range list {
		at := slices.IndexFunc(i.Criteria, func(c work.Criterion) bool { return c.ID == one.ID })
		switch {
		case one.ID == "":
			one.ID = fmt.Sprintf("c%d", next)
			next++
		case at < 0:
			return invalid(fmt.Sprintf("body.criteria[%d].id", n), fmt.Sprintf("the issue has no criterion %q; leave the id out for a new one", one.ID))
		}
		out = append(out, work.Criterion{ID: one.ID, Text: strings.TrimSpace(one.Text)})
	}
	i.Criteria = out
	return nil
}

// ifMatch is the version that an If-Match header names; 0 = whatever is stored.
func ifMatch(header string) (int64, error) {
	if header == "*" {
		return 0, nil
	}
	if header == "" {
		return 0, &Problem{Status: http.StatusPreconditionRequired, Code: "version_missing", Detail: "Nobody knows which version was edited.", Fix: "Send the issue's ETag as If-Match, or * for whatever is stored."}
	}
	text, quoted := strings.CutPrefix(header, `"`)
	text, closed := strings.CutSuffix(text, `"`)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 1 || !quoted || !closed {
		return 0, invalid("header.If-Match", "it is not the ETag of an issue")
	}
	return version, nil
}

// by is who changes the board, with the first line of what they say about it.
func (c call) by(note string) factory.By {
	return factory.By{Name: text.PlainLine(c.who.Name), Door: "api", Note: text.PlainLine(note)}
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func invalid(location, message string) *Problem {
	return &Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: "What was sent cannot be used.", Errors: []Mistake{{Location: location, Message: message}}}
}
