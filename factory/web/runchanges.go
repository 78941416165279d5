package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"forge/factory/web/diff"
	"forge/orchestrator"
	"forge/review"
)

// runChanges is what a run has changed so far, file by file.
type runChanges struct {
	At    string // address of the run
	To    string // commits that are shown, one for each repository; "" = nothing is changed yet
	Phase string // whose last snapshot To is; "" = it is of the run as a whole
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
		if ph := st.View(n); ph.Last != "" && ph.Last != ph.Base {
			return ph.Base, ph.Last
		}
	}
	return from, ""
}

// lastOf is the phase whose last snapshot a commit is; "" = of none.
func lastOf(st *orchestrator.State, commit string) string {
	for _, n := range st.Order {
		if st.View(n).Last == commit {
			return n
		}
	}
	return ""
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
	for _, part := range partsOf(st) {
		if part.to == "" {
			continue
		}
		if d.To += part.to; part.of == "" && part.to != st.Head {
			d.Phase = lastOf(st, part.to)
		}
		change, err := s.changes.change(ctx, p, part.from, part.to)
		if err != nil {
			s.Log.Debug("the change of a run is not shown", "run", st.Run, "err", err)
			d.Gone = true
			return d
		}
		for i := range change.Files {
			one := lineOfFile(&change.Files[i], len(d.Files))
			one.Path, one.Name = part.of+one.Path, part.of+one.Name
			d.Total.Added += one.Added
			d.Total.Removed += one.Removed
			d.Files = append(d.Files, one)
		}
	}
	return d
}

// changePart is what a run has changed in one of its repositories.
type changePart struct {
	of       string // what its paths begin with: the repository and a colon; "" = there is one alone
	from, to string
}

// partsOf are the parts of a run's change: one for each repository in which anything
// landed, where the run works in several.
func partsOf(st *orchestrator.State) []changePart {
	var out []changePart
	for _, r := range st.Results() {
		out = append(out, changePart{r.Repository + ":", r.Base.Commit, r.Commit})
	}
	if len(out) == 0 {
		from, to := ChangeOf(st)
		out = append(out, changePart{from: from, to: to})
	}
	return out
}

// lineOfFile is the nth file of a change in its list.
func lineOfFile(f *review.File, n int) changedFile {
	return changedFile{Path: f.Path, Name: review.Name(f.Path), Open: n < mostOpen && !diff.Generated(f), Stat: diff.StatOf(f)}
}

// runFile is one file of a run's change.
func (s *Server) runFile(v *visit) error {
	st, err := v.Project.Runs.State(v.Context(), v.PathValue("run"))
	if err != nil {
		return err
	}
	d := fileData{Path: v.URL.Query().Get("path"), At: v.url("/runs/" + url.PathEscape(st.Run))}
	from, to := ChangeOf(st)
	for _, part := range partsOf(st) {
		if path, in := strings.CutPrefix(d.Path, part.of); in {
			d.Path, from, to = path, part.from, part.to
			break
		}
	}
	if try := st.View(v.URL.Query().Get("try")); try != nil && try.Try > 0 {
		from, to, d.Try = try.Base, try.Last, try.Number
	}
	if err := s.showFile(v, &d, from, to); err != nil {
		return err
	}
	if v.htmx() {
		return v.part("cockpit", "file-part", d)
	}
	return v.page("change", d.View.Path, d)
}
