package web

import (
	"context"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"forge/internal/work"
)

func (s *Server) companionRoutes() {
	at := "/p/{project}/companion"
	s.mux.Handle("GET "+at, s.need(RoleViewer, s.companionPage))
	s.mux.Handle("GET "+at+"/talk", s.need(RoleViewer, s.companionTalk))
	s.mux.Handle("POST "+at+"/ask", s.need(RoleReviewer, s.companionAsk))
	s.mux.Handle("POST "+at+"/confirm", s.need(RoleReviewer, s.companionConfirm))
	s.mux.Handle("POST "+at+"/dismiss", s.need(RoleReviewer, s.companionDismiss))
}

const (
	// talkShown is how many questions of a conversation are shown, the last ones.
	talkShown = 30
	// talkWait is how long a question may be under way elsewhere.
	talkWait = 11 * time.Minute
)

// companionData is a conversation as pages show it.
type companionData struct {
	At, Token string
	Run       string
	Lacks     string // how a model is configured; "" = one is
	May       bool   // who looks may ask
	Asking    bool   // an answer is under way here
	Turns     []talkTurn
	Left      int // earlier questions that are not shown
	work.Talk
}

// talkTurn is a question as it is shown.
type talkTurn struct {
	work.TalkTurn
	HTML      template.HTML // the answer, or as far as it came
	Under     bool          // an answer is under way
	Lost      bool          // nobody wrote down that it ended
	Proposals []talkProposal
}

// talkProposal is a proposal as it is shown.
type talkProposal struct {
	work.TalkProposal
	May bool // who looks may confirm it
	No  bool // and dismiss it
}

// companionPanel is for pages: the address of the conversation about a run, or with
// "" about the project; "" where nobody is talked to. The page hears of it from now on.
func (v *visit) companionPanel(run string) string {
	if v.Project.Companion == nil {
		return ""
	}
	v.Live = append(slices.Clip(v.Live), TalkTopic(v.Project.ID, run))
	return v.url("/companion?run=" + url.QueryEscape(run))
}

// aboutRun is the run that is talked about.
func (v *visit) aboutRun() (string, error) {
	run := v.FormValue("run")
	if v.Project.Companion == nil {
		return "", &Complaint{http.StatusNotFound, "Nobody is talked to here.", ""}
	}
	if run == "" {
		return "", nil
	}
	_, err := v.Project.Runs.Run(v.Context(), run)
	return run, err
}

// asker is who asks, with what they may.
func (v *visit) asker() Asker {
	return Asker{Name: v.Who.Name, Role: v.Who.Role(v.Project.ID), Door: "web"}
}

func (s *Server) companionData(v *visit) (companionData, error) {
	run, err := v.aboutRun()
	if err != nil {
		return companionData{}, err
	}
	d := companionData{At: v.url("/companion"), Token: s.token(v.Who), Run: run, May: v.Who.May(v.Project.ID, RoleReviewer)}
	if d.Talk, err = v.Project.Companion.Talk(v.Context(), run); err != nil {
		return d, err
	}
	links := s.talks.links(v.Context(), s, v.Project, run)
	now, under := s.talks.now(TalkTopic(v.Project.ID, run))
	d.Asking = under
	d.Left = max(0, len(d.Talk.Turns)-talkShown)
	by := v.asker()
	for _, t := range d.Talk.Turns[d.Left:] {
		one := talkTurn{TalkTurn: t}
		words := t.Answer
		if !t.Over {
			one.Under = under && now.Turn == t.N
			one.Lost = !one.Under && s.Now().Sub(t.At) > talkWait
		}
		if one.Under {
			words = now.Text
		}
		one.HTML = talkMarkdown(words, links)
		for _, p := range t.Proposals {
			least, err := ParseRole(p.Takes)
			may := err == nil && p.State == work.ProposalOpen && by.Role >= least
			one.Proposals = append(one.Proposals, talkProposal{p, may, may || p.State == work.ProposalOpen && t.By == by.Name && d.May})
		}
		d.Turns = append(d.Turns, one)
	}
	return d, nil
}

// companionPage is the conversation with its form: a part of another page, or by
// itself where no script runs.
func (s *Server) companionPage(v *visit) error {
	d, err := s.companionData(v)
	if err != nil {
		return err
	}
	if d.Lacks, err = v.Project.Companion.Lacks(v.Context()); err != nil {
		return err
	}
	if v.htmx() {
		return v.part("companion", "room-part", d)
	}
	v.Live = append(v.Live, TalkTopic(v.Project.ID, d.Run))
	return v.page("companion", "Companion", d)
}

func (s *Server) companionTalk(v *visit) error {
	d, err := s.companionData(v)
	if err != nil {
		return err
	}
	return v.part("companion", "talk-part", d)
}

// companionAsk puts a question. The answer comes while the page is open, and is
// kept where nobody waits for it.
func (s *Server) companionAsk(v *visit) error {
	run, err := v.aboutRun()
	if err != nil {
		return err
	}
	if err := s.talks.ask(s, v.Project, run, v.form("question"), v.asker()); err != nil {
		return err
	}
	return s.afterTalk(v, run)
}

func (s *Server) companionConfirm(v *visit) error {
	return s.settle(v, Companion.Confirm)
}

func (s *Server) companionDismiss(v *visit) error {
	return s.settle(v, Companion.Dismiss)
}

func (s *Server) settle(v *visit, how func(Companion, context.Context, string, int64, Asker) (work.TalkProposal, error)) error {
	run, err := v.aboutRun()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(v.form("proposal"), 10, 64)
	if err != nil {
		return &Complaint{http.StatusBadRequest, "That is no proposal.", ""}
	}
	if _, err := how(v.Project.Companion, v.Context(), run, n, v.asker()); err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	s.hub.Publish(TalkTopic(v.Project.ID, run), "")
	return s.afterTalk(v, run)
}

// afterTalk shows the conversation again.
func (s *Server) afterTalk(v *visit, run string) error {
	if !v.htmx() {
		return v.seeOther(v.url("/companion?run=" + url.QueryEscape(run)))
	}
	return s.companionTalk(v)
}

// runToTalkAbout is the run of a checkpoint, "" where there is none: what the triage
// of an issue asks is of no run.
func (s *Server) runToTalkAbout(ctx context.Context, p Project, cp work.Checkpoint) (string, error) {
	if p.Companion == nil {
		return "", nil
	}
	_, err := p.Runs.Run(ctx, cp.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return cp.Run, err
}
