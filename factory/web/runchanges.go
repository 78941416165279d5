package web

import (
	"context"
	"net/http"
	"net/url"

	"forge/factory/web/diff"
	"forge/orchestrator"
	"forge/review"
)

// runChanges is what a run has changed so far, file by file.
type runChanges struct {
	At    string // address of the run
	To    string // commit that is shown; "" = nothing is changed yet
	Files []changedFile
	Total diff.Stat
	Gone  bool // it cannot be read: its commits may not be here any more
}

// changedFile is a line of the list of files.
type changedFile struct {
	Path, Name string
	Open       bool
	diff.Stat
}

// mostOpen is how many files of a run's change are shown with their lines at once.
const mostOpen = 3

// ChangeOf are the commits between which a run's change is looked at: from its
// base to what landed, else to what is merged so far, else to what the phase that
// is worked on made last.
func ChangeOf(st *orchestrator.State) (from, to string) {
	from, to = st.Spec.Base.Commit, st.Head
	if st.Delivery != nil && st.Delivery.Commit != "" {
		to = st.Delivery.Commit
	}
	if to != from && to != "" {
		return from, to
	}
	for _, n := range st.Order {
		if ph := st.Phases[n]; ph.Last != "" && ph.Last != ph.Base {
			return ph.Base, ph.Last
		}
	}
	return from, ""
}

// runChangesPart is the change of a run. Who has seen it up to a commit is told
// only of a later one.
func (s *Server) runChangesPart(v *visit) error {
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	d := s.runChanges(v.Context(), v.Project, st)
	if v.URL.Query().Has("seen") && v.URL.Query().Get("seen") == d.To {
		v.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	return v.part("run", "changes-part", d)
}

func (s *Server) runChanges(ctx context.Context, p Project, st *orchestrator.State) runChanges {
	d := runChanges{At: "/p/" + p.ID + "/runs/" + url.PathEscape(st.Run)}
	from, to := ChangeOf(st)
	if d.To = to; to == "" {
		return d
	}
	change, err := s.changes.change(ctx, p, from, to)
	if err != nil {
		s.Log.Debug("the change of a run is not shown", "run", st.Run, "err", err)
		d.Gone = true
		return d
	}
	for i := range change.Files {
		f := &change.Files[i]
		one := changedFile{Path: f.Path, Name: review.Name(f.Path), Open: i < mostOpen && !diff.Generated(f), Stat: diff.StatOf(f)}
		d.Total.Added += one.Added
		d.Total.Removed += one.Removed
		d.Files = append(d.Files, one)
	}
	return d
}

// runFile is one file of a run's change.
func (s *Server) runFile(v *visit) error {
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	from, to := ChangeOf(st)
	d := fileData{Path: v.URL.Query().Get("path"), At: v.url("/runs/" + url.PathEscape(st.Run))}
	if err := s.showFile(v, &d, from, to); err != nil {
		return err
	}
	if v.htmx() {
		return v.part("cockpit", "file-part", d)
	}
	return v.page("change", d.View.Path, d)
}
