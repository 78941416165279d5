package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"forge/internal/work"
)

func (s *Server) backRoutes() {
	s.mux.Handle("GET /p/{project}/runs/{run}/back", s.need(RoleReviewer, s.backPage))
	s.mux.Handle("POST /p/{project}/runs/{run}/rewind", s.need(RoleReviewer, s.runRewind))
	s.mux.Handle("POST /p/{project}/runs/{run}/fork", s.need(RoleOperator, s.runFork))
}

// backTo is where one goes on from what an iteration left; "" where that was
// nothing, or whoever looks may not.
func backTo(v *visit, e work.Event) string {
	if e.Kind != work.IterationFinished || !v.Who.May(v.Project.ID, RoleReviewer) {
		return ""
	}
	var d work.IterationFinishedData
	if work.Decode(e, &d) != nil || d.Snapshot == "" {
		return ""
	}
	return fmt.Sprintf("%s?phase=%s&iteration=%d&attempt=%d", v.url("/runs/"+url.PathEscape(v.PathValue("run"))+"/back"), url.QueryEscape(e.Phase), e.Iteration, e.Attempt)
}

// backData is the page on which somebody goes on from what an iteration left.
type backData struct {
	Base, Run, Phase   string
	Iteration, Attempt int
	What               string // in words
	Commit             string
	NoRewind, NoFork   string // why not, "" = it can be
	MayFork            bool
	Again              []string // phases that are open again with it
}

func (s *Server) backPage(v *visit) error {
	r, err := rewindOf(v.URL.Query().Get)
	if err != nil {
		return err
	}
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	at, err := st.SnapOf(r.Phase, r.Iteration, r.Attempt)
	if err != nil {
		return &Complaint{http.StatusNotFound, "There is nothing to go back to: " + err.Error() + ".", ""}
	}
	d := backData{
		Base: "/p/" + v.Project.ID, Run: st.Run, Phase: r.Phase, Iteration: at.Iteration, Attempt: at.Attempt, Commit: at.Commit,
		NoRewind: st.CannotRewind(r.Phase, r.Iteration, r.Attempt), NoFork: st.CannotFork(r.Phase, r.Iteration, r.Attempt),
		MayFork: v.Who.May(v.Project.ID, RoleOperator) && v.Project.Starts != nil, What: "what the phase began with",
	}
	if at.Iteration > 0 {
		d.What = fmt.Sprintf("what iteration %d left", at.Iteration)
	}
	for _, n := range st.Order {
		if p := st.View(n); p.Outcome == work.PhaseSkipped && p.Cause == r.Phase {
			d.Again = append(d.Again, n)
		}
	}
	return v.page("back", "Go on from "+d.What, d)
}

// rewindOf reads which iteration is meant.
func rewindOf(value func(string) string) (work.Rewind, error) {
	r := work.Rewind{Phase: value("phase"), Text: value("text")}
	var err1, err2 error
	r.Iteration, err1 = strconv.Atoi(value("iteration"))
	r.Attempt, err2 = strconv.Atoi(cmp.Or(value("attempt"), "0"))
	if errors.Join(err1, err2) != nil || r.Iteration < 0 || r.Attempt < 0 || r.Phase == "" {
		return r, &Complaint{http.StatusBadRequest, "That names no iteration of a phase.", "Choose one in the timeline of the run."}
	}
	return r, nil
}

func (s *Server) runRewind(v *visit) error {
	r, err := rewindOf(v.form)
	if err != nil {
		return err
	}
	run := v.PathValue("run")
	if _, err := v.Project.Questions.Rewind(v.Context(), run, r, v.Who.Name, "web"); err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(run)))
}

func (s *Server) runFork(v *visit) error {
	r, err := rewindOf(v.form)
	if err != nil {
		return err
	}
	if v.Project.Starts == nil {
		return &Complaint{http.StatusNotFound, "This server begins no runs.", "forge fork begins one at a terminal."}
	}
	id, err := v.Project.Starts.Fork(v.Context(), v.PathValue("run"), r, v.Who.Name)
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(id)))
}
