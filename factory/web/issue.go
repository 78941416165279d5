package web

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"forge/internal/work"
	"forge/orchestrator"
)

// historyPage is how many lines of an issue's history are shown at a time.
const historyPage = 50

func (s *Server) issueRoutes() {
	s.mux.Handle("GET /p/{project}/issues/{id}", s.need(RoleViewer, s.issuePage))
	s.mux.Handle("GET /p/{project}/issues/{id}/history", s.need(RoleViewer, s.issueHistory))
	s.mux.Handle("GET /p/{project}/issues/{id}/live", s.need(RoleViewer, s.issueLive))
}

// issueData is the page of one issue.
type issueData struct {
	Base, Token string
	Operator    bool
	Issue       work.Issue
	Blockers    []int64
	Why         string // why it is not begun, though it is ready
	// Evidence is what the issue's run has on record for its criteria; of a
	// criterion that the run does not know of there is none.
	Evidence map[string]orchestrator.CriterionState
	Run      *runView
	Waits    []work.Checkpoint
	History  historyData
	Columns  []work.Column
	ByLabel  []string  // what its labels say of how it is worked on
	Pull     *pullView // in which its result is looked at
	// MayRetry and MayCancel leave out what the board would refuse.
	MayRetry, MayCancel bool
}

// historyData is a part of an issue's history, the newest first.
type historyData struct {
	Base  string
	Issue int64
	Lines []work.IssueEntry
	Next  int64 // the line that the next part ends before; 0 = these are all
}

func (s *Server) issuePage(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	d := issueData{Base: "/p/" + v.Project.ID, Token: s.token(v.Who), Operator: v.Who.May(v.Project.ID, RoleOperator), Evidence: map[string]orchestrator.CriterionState{}, Columns: work.Columns()}
	if d.Issue, err = v.Project.Cards.Issue(v.Context(), v.Project.Board.Project, id); err != nil {
		return err
	}
	if v.Project.LabelsSay != nil {
		if d.ByLabel, err = v.Project.LabelsSay(v.Context(), d.Issue.Labels); err != nil {
			d.ByLabel = []string{"what its labels say cannot be read: " + err.Error()}
		}
	}
	stopped := d.Issue.State == work.IssueFailed || d.Issue.State == work.IssueCancelled
	d.MayRetry, d.MayCancel = stopped, d.Issue.Column != work.ColumnDone && d.Issue.State != work.IssueCancelled
	if pull := d.Issue.Pull; pull != nil {
		d.Pull = viewPull(pull.Number, pull.URL, v.Project.HostURL)
	}
	blockers, err := v.Project.Cards.Blockers(v.Context(), v.Project.Board.Project, []int64{id})
	if err != nil {
		return err
	}
	d.Blockers = blockers[id]
	if d.History, err = history(v, id, 0); err != nil {
		return err
	}
	if d.Issue.Run != "" {
		if err := s.issueRun(v, &d); err != nil {
			return err
		}
		v.Live = append(v.Live, RunTopic(v.Project.ID, d.Issue.Run))
	}
	if len(d.Waits) == 0 && mayWait(d.Issue) {
		waits, err := waiting(v.Context(), v.Project)
		if err != nil {
			return err
		}
		if cp, ok := waitsFor(waits, d.Issue); ok {
			d.Waits = append(d.Waits, cp)
		}
	}
	if d.Issue.Column == work.ColumnReady && len(d.Blockers) == 0 && v.Project.Floor != nil {
		standing, err := s.floors.lately(v.Context(), s, v.Project)
		if err != nil {
			return err
		}
		d.Why = standing.notBegun(d.Issue, s.Now())
	}
	v.Live = append(v.Live, BoardTopic(v.Project.ID))
	if v.htmx() {
		return v.part("issue", "body-part", d)
	}
	return v.page("issue", fmt.Sprintf("#%d %s", id, d.Issue.Title), d)
}

// issueRun adds what the issue's run says. One that was named and not begun yet
// says nothing.
func (s *Server) issueRun(v *visit, d *issueData) error {
	st, err := v.Project.Runs.State(v.Context(), d.Issue.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	row, err := s.runRow(v.Context(), v.Project, st)
	if err != nil {
		return err
	}
	run := viewRun(st, row, v.Project, v.server.Now())
	if run.Landing, err = v.Project.PagesOfLanding(v.Context(), st.Run); err != nil {
		return err
	}
	d.Run = &run
	for _, c := range st.Promotion().Criteria {
		d.Evidence[c.ID] = c
	}
	d.Waits, err = v.Project.Questions.Checkpoints(v.Context(), st.Run, work.CheckpointPending, 100, "")
	return err
}

func history(v *visit, id, before int64) (historyData, error) {
	d := historyData{Base: "/p/" + v.Project.ID, Issue: id}
	var err error
	d.Lines, err = v.Project.Cards.IssueHistory(v.Context(), v.Project.Board.Project, id, historyPage, before)
	if n := len(d.Lines); n == historyPage {
		d.Next = d.Lines[n-1].Seq
	}
	return d, err
}

func (s *Server) issueHistory(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	// Without a line it is the newest part.
	before, err := strconv.ParseInt(cmp.Or(v.URL.Query().Get("before"), "0"), 10, 64)
	if err != nil || before < 0 {
		return &Complaint{http.StatusBadRequest, "That is no line of a history.", ""}
	}
	d, err := history(v, id, before)
	if err != nil {
		return err
	}
	return v.part("issue", "history-part", d)
}
