package web

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"forge/internal/work"
)

func (s *Server) runStartRoutes() {
	s.mux.Handle("GET /p/{project}/runs/new", s.need(RoleOperator, s.newRunPage))
	s.mux.Handle("POST /p/{project}/runs/forecast", s.need(RoleOperator, s.forecastRun))
	s.mux.Handle("POST /p/{project}/runs", s.need(RoleOperator, s.startRun))
	s.mux.Handle("GET /p/{project}/drafts/{draft}", s.need(RoleOperator, s.draftPage))
	s.mux.Handle("POST /p/{project}/drafts/{draft}/answer", s.need(RoleOperator, s.answerDraft))
	s.mux.Handle("POST /p/{project}/drafts/{draft}/drop", s.need(RoleOperator, s.dropDraft))
}

// runForm is what a run is begun with, as a person writes it, and what it would
// do by that.
type runForm struct {
	Base, Token             string
	From                    string // text, draft or plan
	Text, Level, USD, Tries string
	NoMerge                 bool
	Levels                  Choices
	Forecast                *Forecast
	Draft                   *Draft // the plan that is drafted for the text
	Drafts                  []Draft
	Wrong                   *Complaint
}

var errNoStarts = &Complaint{http.StatusNotFound, "No run is begun here.", "Begin it by forge run."}

// runForm is the form as it was sent; empty where it was not.
func (s *Server) runForm(v *visit) (f runForm, err error) {
	if v.Project.Starts == nil {
		return f, errNoStarts
	}
	f = runForm{Base: "/p/" + v.Project.ID, Token: s.token(v.Who), From: "text"}
	if !safe(v.Method) {
		f.From, f.Level, f.USD, f.Tries, f.NoMerge = v.form("from"), v.form("level"), v.form("usd"), v.form("tries"), v.form("no_merge") != ""
		f.Text = strings.ReplaceAll(v.PostFormValue("text"), "\r\n", "\n") // as forms send it
	}
	if v.Who.May(v.Project.ID, RoleAdmin) {
		f.Levels, err = v.Project.Jobs.Levels(v.Context())
	}
	return f, err
}

// order is what the form asks for.
func (f runForm) order(v *visit) (RunOrder, error) {
	o := RunOrder{Level: f.Level, NoMerge: f.NoMerge, Seen: v.form("seen"), MayRaise: v.Who.May(v.Project.ID, RoleAdmin), By: v.Who.Name}
	if o.Level != "" && !o.MayRaise {
		return o, &Complaint{http.StatusForbidden, "To choose a run's level takes the role admin.", "Leave the level as the project has it."}
	}
	if f.From == "draft" {
		o.Draft = v.form("draft")
	}
	if f.From != "plan" && o.Draft == "" {
		if o.Text = f.Text; strings.TrimSpace(o.Text) == "" {
			return o, &Complaint{http.StatusUnprocessableEntity, "Nothing says what is to be done.", "Write it down, or choose the project's plan."}
		}
	}
	var err error
	if o.USD, err = strconv.ParseFloat(cmp.Or(f.USD, "0"), 64); err != nil || math.IsNaN(o.USD) || math.IsInf(o.USD, 0) || o.USD < 0 {
		return o, &Complaint{http.StatusUnprocessableEntity, "The most that it may spend is not an amount.", "Write dollars, such as 2.50, or leave it empty."}
	}
	if o.Tries, err = strconv.Atoi(cmp.Or(f.Tries, "0")); err != nil || o.Tries < 0 {
		return o, &Complaint{http.StatusUnprocessableEntity, "The iterations are not a number.", "Write 1 or more, or leave it empty."}
	}
	return o, nil
}

// newRunPage is the empty form, or one that would do the same as another run.
func (s *Server) newRunPage(v *visit) error {
	f, err := s.runForm(v)
	if err != nil {
		return err
	}
	if of := v.URL.Query().Get("like"); of != "" {
		st, err := v.Project.Runs.State(v.Context(), of)
		if err != nil {
			return err
		}
		o := v.Project.Starts.Again(st)
		if f.Text, f.NoMerge = o.Text, o.NoMerge; o.Text == "" {
			f.From = "plan"
		}
		if slices.Contains(f.Levels.Values(), o.Level) {
			f.Level = o.Level
		}
		if o.Tries > 0 {
			f.Tries = strconv.Itoa(o.Tries)
		}
	}
	f.Drafts, err = v.Project.Starts.Drafts(v.Context())
	if err != nil {
		return err
	}
	return v.page("runstart", "New run", f)
}

// draftPage is a draft: that the agent works on it, or what a run of it would do.
func (s *Server) draftPage(v *visit) error {
	f, err := s.runForm(v)
	if err != nil {
		return err
	}
	d, err := v.Project.Starts.Drafted(v.Context(), v.PathValue("draft"))
	if errors.Is(err, ErrNoDraft) {
		return &Complaint{http.StatusNotFound, "There is no such draft of a plan, or not any more.", "A run may have begun with it: see the runs."}
	}
	if err != nil {
		return err
	}
	q := v.URL.Query()
	f.From, f.Draft, f.Text, f.Level, f.USD, f.NoMerge = "draft", &d, d.Text, q.Get("level"), q.Get("usd"), q.Get("no_merge") != ""
	if d.Tries > 0 {
		f.Tries = strconv.Itoa(d.Tries)
	}
	if d.State != DraftReady || !d.Plans() {
		return v.page("runstart", "New run", f)
	}
	o, err := f.order(v)
	if err == nil {
		o.Draft = d.ID
		var will Forecast
		if will, err = v.Project.Starts.Forecast(v.Context(), o); err == nil {
			f.Forecast = &will
			return v.page("runstart", "New run", f)
		}
	}
	return s.runRefused(v, f, err)
}

// answerDraft takes the answer to what an interview asks.
func (s *Server) answerDraft(v *visit) error {
	if v.Project.Starts == nil {
		return errNoStarts
	}
	words := v.form("answer")
	switch {
	case v.form("decide") != "":
		words = ""
	case strings.TrimSpace(words) == "":
		if words = v.form("choice"); words == "" {
			return &Complaint{http.StatusUnprocessableEntity, "Nothing is answered.", "Choose, or write an answer, or let the agent decide."}
		}
	}
	id := v.PathValue("draft")
	err := v.Project.Starts.AnswerDraft(v.Context(), id, v.form("question"), words)
	switch {
	case errors.Is(err, ErrNoDraft):
		return &Complaint{http.StatusNotFound, "There is no such interview any more.", "Somebody dropped it, or wrote its result."}
	case errors.Is(err, work.ErrStale):
		return &Complaint{http.StatusConflict, "This question is not asked any more.", "Somebody answered it: look at the interview again."}
	case err != nil:
		return err
	}
	return v.seeOther(v.url("/drafts/" + id))
}

// dropDraft ends a draft, or forgets the plan that came of it.
func (s *Server) dropDraft(v *visit) error {
	if v.Project.Starts == nil {
		return errNoStarts
	}
	if err := v.Project.Starts.DropDraft(v.Context(), v.PathValue("draft")); err != nil && !errors.Is(err, ErrNoDraft) {
		return err
	}
	return v.seeOther(v.url("/runs/new"))
}

// forecastRun shows what the run would do, with the button that begins it. Where
// the agent drafts the plan first, that is begun and its page shown.
func (s *Server) forecastRun(v *visit) error {
	f, err := s.runForm(v)
	if err != nil {
		return err
	}
	o, err := f.order(v)
	if err == nil && f.From == "draft" {
		id, err := v.Project.Starts.Draft(v.Context(), o)
		if err == nil {
			q := url.Values{"level": {f.Level}, "usd": {f.USD}, "no_merge": {v.form("no_merge")}}
			return v.seeOther(v.url("/drafts/" + id + "?" + q.Encode()))
		}
		return s.runRefused(v, f, err)
	}
	if err == nil {
		var will Forecast
		if will, err = v.Project.Starts.Forecast(v.Context(), o); err == nil {
			f.Forecast = &will
			return v.page("runstart", "New run", f)
		}
	}
	return s.runRefused(v, f, err)
}

func (s *Server) startRun(v *visit) error {
	f, err := s.runForm(v)
	if err != nil {
		return err
	}
	o, err := f.order(v)
	if err == nil && o.Seen == "" {
		err = &Complaint{http.StatusUnprocessableEntity, "It was not looked at what this run will do.", "Look at it first."}
	}
	if err != nil {
		return s.runRefused(v, f, err)
	}
	id, err := v.Project.Starts.Begin(v.Context(), o)
	if errors.Is(err, work.ErrStale) {
		err = &Complaint{http.StatusConflict, "The project has changed since: the run would do something else.", "Look at it once more."}
	}
	if err != nil {
		return s.runRefused(v, f, err)
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(id)))
}

// runRefused shows the form again with what was written, and why nothing was
// begun.
func (s *Server) runRefused(v *visit, f runForm, err error) error {
	if f.Wrong = complaint(err); f.Wrong == nil {
		return err
	}
	return s.write(v, f.Wrong.Status, "runstart", "layout", v.view("New run", f))
}
