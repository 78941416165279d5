package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"forge/factory/web/diff"
	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// firstFiles is how many files a person is told to read first.
const firstFiles = 3

func (s *Server) cockpitRoutes() {
	at := "/p/{project}/checkpoints/{checkpoint}"
	s.mux.Handle("GET "+at, s.need(RoleViewer, s.cockpitPage))
	s.mux.Handle("GET "+at+"/now", s.need(RoleViewer, s.cockpitNow))
	s.mux.Handle("GET "+at+"/file", s.need(RoleViewer, s.cockpitFile))
	s.mux.Handle("GET "+at+"/tree", s.need(RoleViewer, s.cockpitTree))
	s.mux.Handle("GET "+at+"/blob", s.need(RoleViewer, s.cockpitBlob))
	s.mux.Handle("GET "+at+"/comment", s.need(RoleReviewer, s.commentForm))
	s.mux.Handle("POST "+at+"/comment", s.need(RoleReviewer, s.comment))
	s.mux.Handle("POST "+at+"/uncomment", s.need(RoleReviewer, s.uncomment))
	s.mux.Handle("POST "+at+"/judge", s.need(RoleReviewer, s.judge))
	s.mux.Handle("POST "+at+"/answer", s.need(RoleReviewer, s.answer))
}

// cockpitData is one checkpoint on one screen.
type cockpitData struct {
	Base, At string // addresses of the project and of the checkpoint
	Token    string
	Who      string
	Judged
	Kind     string
	Name     string // of the phase
	Issue    int64
	Title    string
	Criteria []orchestrator.CriterionState
	Hold     []string
	Findings []work.Finding
	Change   review.Change
	First    []diff.First
	Files    []cockpitFile
	Total    diff.Stat
	Levels   Choices
	MayLook  bool // but not answer: a reviewer where an owner is asked
	May      bool // answer now
	Pending  bool
	Room     int // bytes that comments may still have
	// TakesEdits says that who looks may edit files here.
	TakesEdits bool
	Pulls      []*pullView // in which it is looked at, too
	Follows    gates.Follows
	Compared   []comparedTry // of which one is to be taken
	Cost       string        // of the phase, or of the run where it is asked about as a whole
	Iterations string
	Companion  string // where it is talked about; "" = nobody is talked to
}

// cockpitFile is a line of the list of files.
type cockpitFile struct {
	Path, Name string
	Verdict    *work.FileVerdict
	Comments   int
	Protected  bool
	Generated  bool
	Markdown   bool
	Open       bool   // its lines are loaded by themselves
	Why        string // it is to be read first; "" = it is not
	Edit       *work.FileEdit
	What       string
	diff.Stat
}

func (s *Server) cockpitPage(v *visit) error {
	d, err := s.cockpitData(v)
	if err != nil {
		return err
	}
	if v.Who.May(v.Project.ID, RoleAdmin) && v.Project.Jobs != nil {
		if d.Levels, err = v.Project.Jobs.Levels(v.Context()); err != nil {
			return err
		}
	}
	v.Live = append(v.Live, RunTopic(v.Project.ID, d.Checkpoint.Run))
	run, err := s.runToTalkAbout(v.Context(), v.Project, d.Checkpoint)
	if err != nil {
		return err
	}
	d.Companion = v.companionPanel(run)
	return v.page("cockpit", d.Checkpoint.Question, d)
}

// cockpitNow is what of the page changes under the eyes of who reads it: what
// other doors said and answered.
func (s *Server) cockpitNow(v *visit) error {
	d, err := s.cockpitData(v)
	if err != nil {
		return err
	}
	return v.part("cockpit", "now-part", d)
}

func (s *Server) cockpitData(v *visit) (cockpitData, error) {
	d := cockpitData{Base: "/p/" + v.Project.ID, Token: s.token(v.Who), Who: v.Who.Name}
	var err error
	if d.Judged, err = v.Project.Questions.Judged(v.Context(), v.PathValue("checkpoint")); err != nil {
		return d, err
	}
	cp := d.Checkpoint
	d.At = d.Base + "/checkpoints/" + url.PathEscape(cp.ID)
	d.Kind = cp.Kind
	d.Pending = cp.Status == work.CheckpointPending
	role := v.Who.Role(v.Project.ID)
	d.May = d.Pending && gates.MayAnswer(cp, role.Gate())
	d.MayLook = d.Pending && !d.May && role >= RoleReviewer
	d.Room = work.MaxFeedback - len(cp.Feedback(""))
	if err := s.runOf(v.Context(), v.Project, &d); err != nil {
		return d, err
	}
	d.Words, d.Follows = withoutPromise(d.Words), gates.FollowsOf(gates.Point(cp.Kind), d.Issue != 0)
	if d.Change, err = s.changes.change(v.Context(), v.Project, d.From, d.To); err != nil {
		return d, err
	}
	d.First = diff.FirstFiles(d.Change, d.Protected, d.Findings, firstFiles)
	d.files()
	return d, s.compare(v.Context(), v.Project, &d)
}

// runOf adds what the run says of what is judged.
func (s *Server) runOf(ctx context.Context, p Project, d *cockpitData) error {
	st, err := p.Runs.State(ctx, d.Checkpoint.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // what the triage of an issue asks is of no run
	}
	if err != nil {
		return err
	}
	d.TakesEdits = mayEdit(ctx, p, st, d.Checkpoint)
	if ph := st.View(d.Checkpoint.Phase); ph != nil {
		d.Name, d.Findings = ph.Plan.Name, FindingsOf(ph)
		d.Cost, d.Iterations = usd(ph.Usage.Cost()), fmt.Sprintf("%d of %d iterations", ph.Spent, ph.Budget)
		if pull := pullOf(ph, p.HostURL); pull != nil {
			d.Pulls = append(d.Pulls, pull)
		}
	} else {
		d.Cost = usd(st.Ledger.Cost())
		for _, n := range st.Order {
			d.Findings = append(d.Findings, FindingsOf(st.View(n))...)
		}
	}
	if i := st.Spec.Issue; i != nil {
		promotion := st.Promotion()
		d.Issue, d.Title, d.Criteria = i.ID, i.Title, promotion.Criteria
		pull, err := issuePull(ctx, p, i.ID)
		if err != nil {
			return err
		}
		if pull != nil {
			d.Pulls = append(d.Pulls, pull)
		}
		for _, h := range promotion.Hold {
			d.Hold = append(d.Hold, string(h))
		}
	}
	return nil
}

// mayEdit says that who looks may edit files at a checkpoint.
func mayEdit(ctx context.Context, p Project, st *orchestrator.State, cp work.Checkpoint) bool {
	_, takes := st.TakesEdits(cp)
	who := PersonOf(ctx)
	return takes && cp.Status == work.CheckpointPending && p.Edits != nil && who.May(p.ID, RoleOperator) && gates.MayAnswer(cp, who.Role(p.ID).Gate())
}

func (s *Server) takesEdits(ctx context.Context, p Project, cp work.Checkpoint) (bool, error) {
	st, err := p.Runs.State(ctx, cp.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && mayEdit(ctx, p, st, cp), err
}

// InChange says that a file is one of those that the change is shown by.
func (d cockpitData) InChange(path string) bool {
	return slices.ContainsFunc(d.Files, func(f cockpitFile) bool { return f.Path == path })
}

// WaysOut explains what is in doubt, each kind once.
func (j Judged) WaysOut() []work.ProofLine { return work.WaysOut(j.InDoubt) }

// files makes the list, those that are to be read first on top and open.
func (d *cockpitData) files() {
	cp := d.Checkpoint
	comments := map[string]int{}
	for _, c := range cp.Comments {
		comments[c.Path]++
	}
	for i := range d.Change.Files {
		f := &d.Change.Files[i]
		one := cockpitFile{
			Path: f.Path, Name: review.Name(f.Path), Comments: comments[f.Path], Generated: diff.Generated(f), Markdown: diff.IsMarkdown(f.Path) && !f.Binary,
			Protected: slices.Contains(d.Protected, f.Path) || slices.Contains(d.Gone, f.Path), What: string(f.Status), Stat: diff.StatOf(f),
		}
		for j := range cp.Verdicts {
			if cp.Verdicts[j].Path == f.Path {
				one.Verdict = &cp.Verdicts[j]
			}
		}
		one.Edit = cp.EditOf(f.Path)
		if n := slices.IndexFunc(d.First, func(x diff.First) bool { return x.Path == f.Path }); n >= 0 {
			one.Open = true
			if len(d.Change.Files) > 1 {
				one.Why, _, _ = strings.Cut(d.First[n].Why, ", +") // the counts stand beside it
			}
		}
		d.Total.Added += one.Added
		d.Total.Removed += one.Removed
		d.Files = append(d.Files, one)
	}
	rank := func(f cockpitFile) int {
		at := slices.IndexFunc(d.First, func(x diff.First) bool { return x.Path == f.Path })
		if at < 0 {
			return len(d.First)
		}
		return at
	}
	slices.SortStableFunc(d.Files, func(a, b cockpitFile) int { return rank(a) - rank(b) })
}

// The ways to look at a file's change.
const (
	lookSplit  = "split"
	lookInline = "inline"
	lookRead   = "read" // Markdown as it reads
)

// fileData is one file of a change.
type fileData struct {
	Base, At, Token string
	Path            string
	Look            string
	View            diff.View
	Blocks          []diff.Block
	Comments        map[string][]work.LineComment // by side and line
	Markdown        bool
	May             bool
	Who             string
	Note            string
	Blob            bool
	Try             string // whose file it is, where several tries are compared
}

// At is where the comments on a line are found.
func (f fileData) On(side string, c *diff.Cell) []work.LineComment {
	if c == nil {
		return nil
	}
	return f.Comments[lineKey(side, c.Line)]
}

func (s *Server) cockpitFile(v *visit) error {
	j, err := v.Project.Questions.Judged(v.Context(), v.PathValue("checkpoint"))
	if err != nil {
		return err
	}
	d, err := s.fileData(v, j, v.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	if v.htmx() {
		return v.part("cockpit", "file-part", d)
	}
	return v.page("change", d.View.Path, d)
}

func (s *Server) fileData(v *visit, j Judged, path string) (fileData, error) {
	cp := j.Checkpoint
	d := fileData{
		Path: path, Comments: map[string][]work.LineComment{}, At: "/p/" + v.Project.ID + "/checkpoints/" + url.PathEscape(cp.ID),
		May: cp.Status == work.CheckpointPending && v.Who.May(v.Project.ID, RoleReviewer),
	}
	for _, c := range cp.Comments {
		if c.Path == path {
			d.Comments[lineKey(c.Side, c.Line)] = append(d.Comments[lineKey(c.Side, c.Line)], c)
		}
	}
	err := s.showFile(v, &d, j.From, j.To)
	d.Blob = err == nil && d.View.What != "deleted"
	return d, err
}

// showFile adds the change of d's file between two commits, in the way in which
// the visitor wants to look at it.
func (s *Server) showFile(v *visit, d *fileData, from, to string) error {
	d.Base, d.Token, d.Who = "/p/"+v.Project.ID, s.token(v.Who), v.Who.Name
	d.Look, d.Markdown = v.URL.Query().Get("look"), diff.IsMarkdown(d.Path)
	var err error
	if d.View, err = s.changes.view(v.Context(), v.Project, from, to, d.Path); err != nil {
		return err
	}
	switch {
	case d.Look == lookSplit, d.Look == lookInline, d.Look == lookRead && d.Markdown:
	case d.Look == "" && d.View.OneSided():
		d.Look = lookInline
	default:
		d.Look = lookSplit
	}
	if d.Look != lookRead {
		return nil
	}
	all, err := s.changes.change(v.Context(), v.Project, from, to)
	if err != nil {
		return err
	}
	f := fileOf(all, d.Path)
	if f == nil {
		return errNoFile
	}
	before, after := contents(v.Context(), v.Project, f, from, to)
	var ok bool
	if d.Blocks, ok = diff.Markdown(string(before), string(after), Markdown); !ok {
		d.Note = "This text has too many parts to be compared as it reads."
		d.Look = lookSplit
	}
	return nil
}

// treeData is the judged commit as a list of files.
type treeData struct {
	Base, At string
	Commit   string
	Files    []string
	More     int
	Find     string
}

// treeMost is how many files the browser lists at once.
const treeMost = 1000

func (s *Server) cockpitTree(v *visit) error {
	j, err := v.Project.Questions.Judged(v.Context(), v.PathValue("checkpoint"))
	if err != nil {
		return err
	}
	if j.To == "" {
		return &Complaint{http.StatusNotFound, "This checkpoint judges no commit.", ""}
	}
	all, err := v.Project.Code.Files(v.Context(), j.To)
	if err != nil {
		return err
	}
	d := treeData{Base: "/p/" + v.Project.ID, Commit: j.To, Find: v.URL.Query().Get("find")}
	d.At = d.Base + "/checkpoints/" + url.PathEscape(j.Checkpoint.ID)
	for _, f := range all {
		if d.Find != "" && !contains(f, d.Find) {
			continue
		}
		if len(d.Files) == treeMost {
			d.More++
			continue
		}
		d.Files = append(d.Files, f)
	}
	return v.page("tree", "Files", d)
}

// blobData is one file of the judged commit.
type blobData struct {
	Base, At string
	Path     string
	Name     string
	View     diff.View
	Note     string
	Markdown bool
	Text     string
	Read     bool
	// TakesEdits says that who looks may edit it.
	TakesEdits bool
}

func (s *Server) cockpitBlob(v *visit) error {
	j, err := v.Project.Questions.Judged(v.Context(), v.PathValue("checkpoint"))
	if err != nil {
		return err
	}
	path := v.URL.Query().Get("path")
	d := blobData{Base: "/p/" + v.Project.ID, Path: path, Name: review.Name(path), Markdown: diff.IsMarkdown(path), Read: v.URL.Query().Get("look") == lookRead}
	d.At = d.Base + "/checkpoints/" + url.PathEscape(j.Checkpoint.ID)
	if j.To == "" {
		return &Complaint{http.StatusNotFound, "This checkpoint judges no commit.", ""}
	}
	all, err := v.Project.Code.Files(v.Context(), j.To)
	if err != nil {
		return err
	}
	if !slices.Contains(all, path) {
		return &Complaint{http.StatusNotFound, "That commit has no such file.", ""}
	}
	data, err := v.Project.Code.File(v.Context(), j.To, path)
	switch text := textOf(data, nil); {
	case err != nil:
		s.Log.Warn("a file is not shown", "path", texts.OneLine(path, 80), "err", err)
		d.Note = "This file is not shown here: it is too large, or it is no file."
	case text == nil && len(data) > 0:
		d.Note = "A binary file: there are no lines to show."
	default:
		d.Text = string(text)
		d.View = diff.Whole(path, text)
		if d.TakesEdits, err = s.takesEdits(v.Context(), v.Project, j.Checkpoint); err != nil {
			return err
		}
	}
	return v.page("blob", d.Name, d)
}
