package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	texts "forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

const (
	// runsPage is how many runs a page lists.
	runsPage = 50
	// eventsPage is how many events of a timeline are loaded at a time.
	eventsPage = 100
	// outputTail is how much of an agent's output is shown while it runs, in
	// bytes.
	outputTail = 24 << 10
	// talkTail is how much of it is read as a conversation, and mostTurns how many
	// turns of that are shown.
	talkTail  = 512 << 10
	mostTurns = 100
)

func (s *Server) runRoutes() {
	s.mux.Handle("GET /p/{project}/runs", s.need(RoleViewer, s.runsPage))
	s.mux.Handle("GET /p/{project}/runs/{run}", s.need(RoleViewer, s.runPage))
	s.mux.Handle("GET /p/{project}/runs/{run}/now", s.need(RoleViewer, s.runNow))
	s.mux.Handle("GET /p/{project}/runs/{run}/events", s.need(RoleViewer, s.runEvents))
	s.mux.Handle("GET /p/{project}/runs/{run}/output", s.need(RoleViewer, s.runOutput))
	s.mux.Handle("GET /p/{project}/runs/{run}/changes", s.need(RoleViewer, s.runChangesPart))
	s.mux.Handle("GET /p/{project}/runs/{run}/file", s.need(RoleViewer, s.runFile))
	s.mux.Handle("GET /p/{project}/runs/{run}/pictures/{picture}", s.need(RoleViewer, s.runPicture))
	s.mux.Handle("POST /p/{project}/runs/{run}/cancel", s.need(RoleOperator, s.runCancel))
	s.mux.Handle("POST /p/{project}/runs/{run}/level", s.need(RoleAdmin, s.runLevel))
	s.mux.Handle("POST /p/{project}/runs/{run}/tell", s.need(RoleReviewer, s.runTell))
	s.backRoutes()
}

// runsList is a page of runs or jobs.
type runsList struct {
	Base string
	Jobs bool
	May  bool // who looks may begin one
	Runs []Run
	Next string // address of the next page; "" = this is the last
}

func (s *Server) runsPage(v *visit) error {
	list, err := s.listRuns(v, false)
	if err != nil {
		return err
	}
	return v.page("runs", "Runs", list)
}

func (s *Server) listRuns(v *visit, jobs bool) (runsList, error) {
	out := runsList{Base: "/p/" + v.Project.ID, Jobs: jobs}
	out.May = v.Who.May(v.Project.ID, RoleOperator) && (jobs || v.Project.Starts != nil)
	path := "/runs"
	if jobs {
		path = "/jobs"
	}
	after := v.URL.Query().Get("after")
	// Jobs and runs share one list: pages are read until one is full.
	for len(out.Runs) < runsPage {
		got, err := v.Project.Runs.Runs(v.Context(), runsPage, after)
		if err != nil {
			return out, err
		}
		for _, r := range got {
			after = r.ID
			if r.Job == jobs {
				out.Runs = append(out.Runs, r)
			}
			if len(out.Runs) == runsPage {
				break
			}
		}
		if len(got) < runsPage {
			if len(out.Runs) < runsPage {
				return out, nil
			}
			break
		}
	}
	out.Next = v.url(path + "?after=" + url.QueryEscape(after))
	return out, nil
}

// runData is the page of a run or a job.
type runData struct {
	Base     string
	Token    string
	Operator bool
	Admin    bool
	Run      runView
	Levels   Choices
	// Reviewer may say something to Hears, the phases that are not over.
	Reviewer bool
	Hears    []string
	// With are the lines that go with it already, since a link led here with them;
	// at most MostWith can.
	With     string
	MostWith int
	Events   eventsData
	Papers   *Papers
	Waits    []work.Checkpoint
	Pull     *pullView // of the issue whose run it is
	// Over says that nothing more happens by itself.
	Over bool
	// Retry is the address at which its issue is begun again; "" = it has none, or
	// nobody may.
	Retry string
	// Again is the form that begins a run like this one; "" = as Retry.
	Again string
	// Companion is where it is talked about; "" = nobody is talked to.
	Companion string
}

func (s *Server) runPage(v *visit) error {
	d, err := s.runData(v)
	if err != nil {
		return err
	}
	if d.Events, err = s.events(v, 0); err != nil {
		return err
	}
	if d.Admin && v.Project.Jobs != nil {
		if d.Levels, err = v.Project.Jobs.Levels(v.Context()); err != nil {
			return err
		}
	}
	if d.Run.Job != nil && v.Project.Cockpit != nil {
		p, err := v.Project.Cockpit.Papers(v.Context(), d.Run.ID)
		if err != nil {
			return err
		}
		d.Papers = &p
	}
	v.Live = append(v.Live, RunTopic(v.Project.ID, d.Run.ID))
	d.Companion = v.companionPanel(d.Run.ID)
	title := "Run " + d.Run.ID
	if d.Run.Job != nil {
		title = "Job " + d.Run.ID
	}
	return v.page("run", title, d)
}

func (s *Server) runNow(v *visit) error {
	d, err := s.runData(v)
	if err != nil {
		return err
	}
	return v.part("run", "now-part", d)
}

func (s *Server) runData(v *visit) (runData, error) {
	run := v.PathValue("run")
	d := runData{Base: "/p/" + v.Project.ID, Operator: v.Who.May(v.Project.ID, RoleOperator), Reviewer: v.Who.May(v.Project.ID, RoleReviewer), Admin: v.Who.May(v.Project.ID, RoleAdmin)}
	if v.Who.Name != "" {
		d.Token = s.token(v.Who)
	}
	st, err := v.Project.Runs.State(v.Context(), run)
	if err != nil {
		return d, err
	}
	row, err := s.runRow(v.Context(), v.Project, st)
	if err != nil {
		return d, err
	}
	d.Run = viewRun(st, row, v.Project, s.Now())
	if d.Run.Landing, err = v.Project.PagesOfLanding(v.Context(), st.Run); err != nil {
		return d, err
	}
	d.Over = st.Outcome.Final() && !st.Live
	d.MostWith = work.MaxAttached
	if with, err := work.ParseAttached(v.URL.Query().Get("with")); err == nil {
		d.With = with.String()
	}
	d.Hears = st.CanTell()
	for _, n := range st.Order {
		if !slices.Contains(d.Hears, n) && st.CannotTell(n) == "" {
			d.Hears = append(d.Hears, n)
		}
	}
	if d.Operator && d.Run.Issue != 0 && d.Over && st.Outcome != work.RunCompleted {
		d.Retry = d.Base + "/issues/" + strconv.FormatInt(d.Run.Issue, 10) + "/retry"
	}
	if d.Operator && d.Run.Issue == 0 && d.Run.Job == nil && d.Over && st.Outcome != work.RunCompleted && v.Project.Starts != nil {
		d.Again = d.Base + "/runs/new?like=" + url.QueryEscape(st.Run)
	}
	if d.Pull, err = issuePull(v.Context(), v.Project, d.Run.Issue); err != nil {
		return d, err
	}
	d.Waits, err = v.Project.Questions.Checkpoints(v.Context(), st.Run, work.CheckpointPending, 100, "")
	return d, err
}

// runRow is the line of a run in the list, which knows whether a process is
// alive. Of an old one the state alone says enough.
func (s *Server) runRow(ctx context.Context, p Project, st *orchestrator.State) (Run, error) {
	list, err := p.Runs.Runs(ctx, 100, "")
	if err != nil {
		return Run{}, err
	}
	for _, r := range list {
		if r.ID == st.Run {
			return r, nil
		}
	}
	r := Run{ID: st.Run, Job: st.Job != nil, State: string(cmp.Or(st.Outcome, "running")), Outcome: st.Outcome, CostUSD: st.Ledger.Cost()}
	if st.Live {
		r.State = "running"
	}
	return r, nil
}

// eventsData is a part of a run's timeline, the oldest first.
type eventsData struct {
	Base, Run string
	Lines     []eventLine
	Next      int64 // number of the last one; 0 = these are all
}

// eventLine is an event in words.
type eventLine struct {
	Seq   int64
	Time  time.Time
	Phase string
	Head  string
	Facts [][2]string
	Kind  work.EventKind
	Back  string // where one goes on from what the iteration left; "" = it left nothing
}

func (s *Server) runEvents(v *visit) error {
	after, err := strconv.ParseInt(cmp.Or(v.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil || after < 0 {
		return &Complaint{http.StatusBadRequest, "That is no number of an event.", ""}
	}
	d, err := s.events(v, after)
	if err != nil {
		return err
	}
	return v.part("run", "events-part", d)
}

// events puts the next part of a timeline into words. What says nothing to a
// person is left out, but for a page that would be empty and is not the last.
func (s *Server) events(v *visit, after int64) (eventsData, error) {
	d := eventsData{Base: "/p/" + v.Project.ID, Run: v.PathValue("run")}
	for len(d.Lines) < eventsPage {
		evs, err := v.Project.Runs.Events(v.Context(), d.Run, after, eventsPage)
		if err != nil {
			return d, err
		}
		for _, e := range evs {
			after = e.Seq
			head, facts, err := v.Project.Cockpit.Say(e)
			if err != nil {
				return d, err
			}
			if head != "" {
				d.Lines = append(d.Lines, eventLine{Seq: e.Seq, Time: e.Time, Phase: e.Phase, Head: head, Facts: full(facts), Kind: e.Kind, Back: backTo(v, e)})
			}
		}
		if len(evs) < eventsPage {
			return d, nil
		}
		d.Next = after
	}
	return d, nil
}

// full are the facts that say something.
func full(facts [][2]string) [][2]string {
	var out [][2]string
	for _, f := range facts {
		if f[1] != "" {
			out = append(out, f)
		}
	}
	return out
}

// outputData is the end of what an agent printed.
type outputData struct {
	Base, Run, Phase   string
	Iteration, Attempt int
	Text               string      // as it was printed, where that is asked for
	Turns              []work.Turn // as a conversation
	Raw, Live          bool
}

func (s *Server) runOutput(v *visit) error {
	q := v.URL.Query()
	d := outputData{Base: "/p/" + v.Project.ID, Run: v.PathValue("run"), Phase: q.Get("phase"), Live: q.Get("live") == "1"}
	var err1, err2 error
	d.Iteration, err1 = strconv.Atoi(q.Get("iteration"))
	d.Attempt, err2 = strconv.Atoi(cmp.Or(q.Get("attempt"), "1"))
	if errors.Join(err1, err2) != nil || d.Iteration < 1 || d.Attempt < 1 {
		return &Complaint{http.StatusBadRequest, "That is no iteration.", ""}
	}
	// The run says which phases there are: no other path is made of the name.
	st, err := v.Project.Runs.State(v.Context(), d.Run)
	if err != nil {
		return err
	}
	p := st.View(d.Phase)
	if p == nil {
		return &Complaint{http.StatusNotFound, "This run has no such phase.", ""}
	}
	d.Live = d.Live && p.Begun && p.Iteration == d.Iteration
	if d.Raw = q.Get("raw") == "1"; d.Raw {
		printed, err := v.Project.Runs.Output(v.Context(), d.Run, d.Phase, d.Iteration, d.Attempt, outputTail)
		if err != nil {
			return err
		}
		d.Text = texts.Plain(string(printed))
	} else {
		if d.Turns, err = v.Project.Runs.Conversation(v.Context(), d.Run, d.Phase, d.Iteration, d.Attempt, talkTail); err != nil {
			return err
		}
		// The end of a long one: what is said last is what people look for.
		d.Turns = d.Turns[max(len(d.Turns)-mostTurns, 0):]
	}
	if v.htmx() {
		return v.part("run", "output-part", d)
	}
	return v.page("output", "Output of phase "+d.Phase, d)
}

func (s *Server) runCancel(v *visit) error {
	run := v.PathValue("run")
	st, err := v.Project.Runs.State(v.Context(), run)
	if err != nil {
		return err
	}
	if i := st.Spec.Issue; i != nil && v.Project.Floor != nil {
		// The run is its issue's: that nobody works on it is said there.
		if _, err := v.Project.Floor.CancelIssue(v.Context(), i.ID, v.by("from the page of its run")); err != nil {
			return err
		}
		s.feeds.poked(v.Project.ID)
		return v.seeOther(v.url("/runs/" + url.PathEscape(run)))
	}
	if err := v.Project.Jobs.Cancel(v.Context(), run, v.Who.Name); err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(run)))
}

func (s *Server) runTell(v *visit) error {
	run := v.PathValue("run")
	m := work.Message{Phase: v.form("phase"), Text: v.form("text"), Now: v.form("now") != "", Anew: v.form("anew") != ""}
	var err error
	if m.Attached, err = attachedIn(v.form("with")); err != nil {
		return err
	}
	if _, err := v.Project.Questions.Tell(v.Context(), run, m, v.Who.Name, "web"); err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(run)))
}

func (s *Server) runLevel(v *visit) error {
	run := v.PathValue("run")
	if v.form("level") == "" {
		return &Complaint{http.StatusUnprocessableEntity, "No level was chosen.", ""}
	}
	if err := v.Project.Questions.SetLevel(v.Context(), run, v.form("level"), v.Who.Name, "web"); err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/runs/" + url.PathEscape(run)))
}
