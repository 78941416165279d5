package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"forge/factory"
	texts "forge/internal/text"
	"forge/internal/work"
)

func (s *Server) editRoutes() {
	s.mux.Handle("GET /p/{project}/issues/new", s.need(RoleOperator, s.newIssuePage))
	s.mux.Handle("POST /p/{project}/issues", s.need(RoleOperator, s.addIssue))
	s.mux.Handle("GET /p/{project}/issues/{id}/edit", s.need(RoleOperator, s.editIssuePage))
	s.mux.Handle("POST /p/{project}/issues/{id}/edit", s.need(RoleOperator, s.editIssue))
	s.mux.Handle("POST /p/{project}/issues/{id}/cancel", s.need(RoleOperator, s.cancelIssue))
	s.mux.Handle("POST /p/{project}/issues/{id}/retry", s.need(RoleOperator, s.retryIssue))
}

// issueForm is what pages/edit.html shows: an issue as a person writes it.
type issueForm struct {
	Issue    work.Issue
	Criteria string // a line each, those that the issue has with their ids
	Labels   string
	Needs    string
	Levels   Choices
	Wrong    *Complaint // why it was not stored
}

// New says whether the issue is not stored yet.
func (f issueForm) New() bool { return f.Issue.ID == 0 }

func (v *visit) issueForm(i work.Issue) (issueForm, error) {
	f := issueForm{Issue: i, Labels: strings.Join(i.Labels, ", ")}
	var lines, needs []string
	for _, c := range i.Criteria {
		lines = append(lines, c.ID+": "+c.Text)
	}
	for _, n := range i.Needs {
		needs = append(needs, fmt.Sprintf("#%d", n))
	}
	f.Criteria, f.Needs = strings.Join(lines, "\n"), strings.Join(needs, ", ")
	if v.Project.Jobs != nil {
		var err error
		if f.Levels, err = v.Project.Jobs.Levels(v.Context()); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (s *Server) newIssuePage(v *visit) error {
	column := work.Column(v.URL.Query().Get("column"))
	if column != work.ColumnReady {
		column = work.ColumnBacklog
	}
	f, err := v.issueForm(work.Issue{Column: column, Priority: work.PriorityNormal, Title: texts.PlainLine(v.URL.Query().Get("title"))})
	if err != nil {
		return err
	}
	return v.page("edit", "New issue", f)
}

func (s *Server) editIssuePage(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	i, err := v.Project.Cards.Issue(v.Context(), v.Project.Board.Project, id)
	if err != nil {
		return err
	}
	f, err := v.issueForm(i)
	if err != nil {
		return err
	}
	return v.page("edit", fmt.Sprintf("Edit #%d", id), f)
}

// apply makes of an issue what the form says. A line of the criteria that begins
// with an id that the issue has is that one; others are new.
func (v *visit) apply(i *work.Issue) error {
	i.Title, i.Priority = texts.PlainLine(v.form("title")), work.Priority(v.form("priority"))
	if i.Priority == "" {
		i.Priority = work.PriorityNormal
	}
	// A browser ends lines with two characters.
	i.Description = strings.TrimRight(strings.ReplaceAll(v.PostFormValue("description"), "\r\n", "\n"), "\n")
	had := i.Labels
	i.Labels, i.Needs = nil, nil
	for _, word := range strings.Split(v.form("labels"), ",") {
		if word = texts.PlainLine(word); word != "" {
			i.Labels = append(i.Labels, word)
		}
	}
	if err := v.Project.MayLabel(v.Context(), had, i.Labels, v.Who.May(v.Project.ID, RoleAdmin)); err != nil {
		return err
	}
	for _, word := range strings.FieldsFunc(v.form("needs"), func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := issueNumber(word)
		if err != nil {
			return err
		}
		i.Needs = append(i.Needs, id)
	}
	i.Criteria = criteriaOf(i.Criteria, i.CriteriaGiven, v.PostFormValue("criteria"))
	return v.applyLevel(i)
}

// applyLevel sets the level. Only an admin lets an issue run more freely than
// its project's configuration says, and what is freer only the policy knows.
func (v *visit) applyLevel(i *work.Issue) error {
	level := v.form("level")
	if level == i.Level {
		return nil
	}
	if !v.Who.May(v.Project.ID, RoleAdmin) {
		return &Complaint{http.StatusForbidden, "To change an issue's level takes the role admin.", "Leave the level as it is."}
	}
	if level != "" && v.Project.Jobs != nil {
		levels, err := v.Project.Jobs.Levels(v.Context())
		if err != nil {
			return err
		}
		for _, known := range levels.Values() {
			if known == level {
				i.Level = level
				return nil
			}
		}
		return &Complaint{http.StatusUnprocessableEntity, fmt.Sprintf("There is no level %q.", texts.OneLine(level, 80)), "The list names them."}
	}
	i.Level = level
	return nil
}

// MayLabel says whether who is an admin, or not, may give an issue these labels: one
// that the project maps to a level, an agent, a budget or a target says how freely
// it is worked on.
func (p Project) MayLabel(ctx context.Context, was, now []string, admin bool) error {
	if admin || p.LabelsSay == nil {
		return nil
	}
	before, err := p.LabelsSay(ctx, was)
	if err != nil {
		return err
	}
	after, err := p.LabelsSay(ctx, now)
	if err == nil && !slices.Equal(before, after) {
		err = &Complaint{http.StatusForbidden, "To give or take a label by which the project says how an issue is worked on takes the role admin.", "Leave these labels as they are."}
	}
	return err
}

func criteriaOf(was []work.Criterion, given int, text string) []work.Criterion {
	var out []work.Criterion
	next := given + 1
	for line := range strings.Lines(text) {
		line = texts.PlainLine(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		if line == "" {
			continue
		}
		c := work.Criterion{Text: line}
		if id, rest, ok := strings.Cut(line, ":"); ok {
			for _, old := range was {
				if old.ID == strings.TrimSpace(id) {
					c = work.Criterion{ID: old.ID, Text: strings.TrimSpace(rest)}
				}
			}
		}
		if c.ID == "" {
			c.ID = "c" + strconv.Itoa(next)
			next++
		}
		out = append(out, c)
	}
	return out
}

func (s *Server) addIssue(v *visit) error {
	column := work.Column(v.form("column"))
	if column == "" {
		column = work.ColumnBacklog
	}
	i := work.Issue{Column: column}
	err := v.apply(&i)
	if err == nil {
		i, err = s.turns.do(v.Project.ID, func() (work.Issue, error) {
			return v.Project.Board.Add(v.Context(), i, factory.Place{At: factory.Bottom}, v.by(""))
		})
	}
	if err != nil {
		return s.notStored(v, i, err)
	}
	s.feeds.poked(v.Project.ID)
	if v.form("from") == "board" && v.htmx() {
		return v.part("board", "added", i)
	}
	return v.seeOther(v.url(fmt.Sprintf("/issues/%d", i.ID)))
}

func (s *Server) editIssue(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(v.form("version"), 10, 64)
	if err != nil || version < 1 {
		return &Complaint{http.StatusBadRequest, "The form does not say which version it was made from.", "Load the page again."}
	}
	var edited work.Issue
	_, err = v.Project.Board.Edit(v.Context(), id, version, func(i *work.Issue) error {
		err := v.apply(i)
		edited = *i
		return err
	}, v.by(v.form("note")))
	if err != nil {
		if edited.ID == 0 { // somebody else was first: what was written is kept in the form
			edited = work.Issue{ID: id, Version: version}
			_ = v.apply(&edited) // as far as it can be read
		}
		return s.notStored(v, edited, err)
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url(fmt.Sprintf("/issues/%d", id)))
}

// notStored shows the form again as it was sent, with what is wrong. What is
// wrong with the request itself is nothing to mend in a form.
func (s *Server) notStored(v *visit, i work.Issue, err error) error {
	c := complaint(err)
	if c == nil || c.Status != http.StatusUnprocessableEntity && c.Status != http.StatusConflict || v.form("from") == "board" || wantsJSON(v.Request) {
		return err
	}
	f, formErr := v.issueForm(i)
	if formErr != nil {
		return formErr
	}
	f.Criteria, f.Labels, f.Needs, f.Wrong = v.PostFormValue("criteria"), v.form("labels"), v.form("needs"), c
	title := "New issue"
	if i.ID != 0 {
		title = fmt.Sprintf("Edit #%d", i.ID)
	}
	return s.write(v, c.Status, "edit", "layout", v.view(title, f))
}

// cancelIssue lets nobody work on an issue any more; where the project has a
// loop, it stops the agents.
func (s *Server) cancelIssue(v *visit) error {
	return s.changeIssue(v, func(id int64, by factory.By) (work.Issue, error) {
		if v.Project.Floor != nil {
			return v.Project.Floor.CancelIssue(v.Context(), id, by)
		}
		return v.Project.Board.Cancel(v.Context(), id, by)
	})
}

func (s *Server) retryIssue(v *visit) error {
	return s.changeIssue(v, func(id int64, by factory.By) (work.Issue, error) {
		return v.Project.Board.Retry(v.Context(), id, by)
	})
}

func (s *Server) changeIssue(v *visit, do func(int64, factory.By) (work.Issue, error)) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	i, err := do(id, v.by(v.form("note")))
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	if wantsJSON(v.Request) {
		return v.json(http.StatusOK, i)
	}
	return v.seeOther(v.url(fmt.Sprintf("/issues/%d", id)))
}
