package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	texts "forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// editBody is how much the form of a file may send, in bytes: a form writes
// some characters as three.
const editBody = 3*work.MaxFileEdit + 64<<10

func (s *Server) cockpitEditRoutes() {
	at := "/p/{project}/checkpoints/{checkpoint}/edit"
	s.mux.Handle("GET "+at, s.need(RoleOperator, s.editFilePage))
	s.mux.Handle("POST "+at, s.needBody(RoleOperator, editBody, s.editFile))
	s.mux.Handle("POST "+at+"/drop", s.need(RoleOperator, s.dropEdit))
}

// editData is the form in which a file is edited, or a new one written.
type editData struct {
	At, Token  string
	Path, Name string
	Revision   int
	Base       string // the commit that the text is of
	Seen       string // what stood of the file then, see FileWish
	Text       string
	Edit       *work.FileEdit // what somebody made of it already
	New        bool
	CRLF       bool
	Wrong      *Complaint // why it was not kept
	Theirs     *string    // what stands now, where Text was written without having seen it
}

// Title is the page's.
func (d editData) Title() string {
	if d.New && d.Edit == nil {
		return "New file"
	}
	return "Edit " + d.Name
}

// editFilePage shows the form of the file that the address names; of a new one
// where it names none.
func (s *Server) editFilePage(v *visit) error {
	d, err := s.editForm(v, v.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	return v.page("editfile", d.Title(), d)
}

func (s *Server) editForm(v *visit, path string) (editData, error) {
	id := v.PathValue("checkpoint")
	d := editData{At: v.url("/checkpoints/" + url.PathEscape(id)), Token: s.token(v.Who), Path: path, Name: review.Name(path)}
	j, err := v.Project.Questions.Judged(v.Context(), id)
	if err != nil {
		return d, err
	}
	file, err := v.Project.Edits.EditedFile(v.Context(), id, path)
	if err != nil {
		return d, err
	}
	text := string(file.Content)
	if !file.May || !utf8.ValidString(text) || strings.ContainsRune(text, 0) || j.Checkpoint.Status != work.CheckpointPending {
		return d, &Complaint{http.StatusConflict, "This file cannot be edited here.", "Comment on its lines, and request changes."}
	}
	d.Revision, d.Base, d.Edit, d.Text, d.CRLF = j.Checkpoint.Revision, file.Base, file.Edit, text, strings.Contains(text, "\r\n")
	d.New = path == "" || file.Edit != nil && file.Edit.New
	if file.Edit != nil {
		d.Seen = file.Edit.Sum()
	}
	return d, nil
}

// editFile keeps what the form says; where it is refused, the form comes again
// with what was written.
func (s *Server) editFile(v *visit) error {
	revision, err := strconv.Atoi(v.form("revision"))
	if err != nil || revision < 1 {
		return &Complaint{http.StatusBadRequest, "The form does not say which revision it is about.", "Load the page again."}
	}
	// A browser ends lines with two characters; a file that has none such keeps
	// its own.
	text := v.PostFormValue("text")
	if v.form("crlf") != "1" {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	id := v.PathValue("checkpoint")
	w := FileWish{Path: v.PostFormValue("path"), What: cmp.Or(v.form("what"), WishEdit), Content: []byte(text), Base: v.form("base"), Seen: v.form("seen"), By: v.Who.Name, Admin: v.Who.May(v.Project.ID, RoleAdmin)}
	switch w.What {
	case WishEdit, WishAdd:
	case WishDelete:
		w.Content = nil
	default:
		return &Complaint{http.StatusBadRequest, fmt.Sprintf("%q is nothing that is done to a file.", texts.OneLine(w.What, 80)), ""}
	}
	if _, err = v.Project.Edits.EditFile(v.Context(), id, revision, w); err == nil {
		return s.afterEdit(v, id)
	}
	var overtaken *work.OvertakenError
	if errors.As(err, &overtaken) {
		return s.overtaken(v, w, revision, overtaken)
	}
	wrong := complaint(said(err))
	if wrong == nil || w.What == WishDelete {
		return said(err)
	}
	d := editData{
		At: v.url("/checkpoints/" + url.PathEscape(id)), Token: s.token(v.Who), Path: w.Path, Name: review.Name(w.Path), Revision: revision,
		Base: w.Base, Seen: w.Seen, Text: text, New: w.What == WishAdd, CRLF: v.form("crlf") == "1", Wrong: wrong,
	}
	return s.write(v, wrong.Status, "editfile", "layout", v.view(d.Title(), d))
}

func (s *Server) dropEdit(v *visit) error {
	id, path := v.PathValue("checkpoint"), v.PostFormValue("path")
	_, err := v.Project.Edits.DropEdit(v.Context(), id, 0, path, v.form("seen"))
	var overtaken *work.OvertakenError
	switch {
	case errors.As(err, &overtaken):
		return s.overtaken(v, FileWish{Path: path, What: WishDelete}, 0, overtaken)
	case err != nil:
		return said(err)
	}
	return s.afterEdit(v, id)
}

// overtaken answers a wish that others were faster than: what they made of the
// file, and beside it what was written. The form that it shows is about what
// stands now, so that to send it again is to write over that knowingly.
func (s *Server) overtaken(v *visit, w FileWish, revision int, o *work.OvertakenError) error {
	wrong := &Complaint{Status: http.StatusConflict, What: "The edit of " + review.Name(w.Path) + " was taken back meanwhile."}
	if o.Now != nil {
		wrong.What = fmt.Sprintf("%s %s %s meanwhile.", o.Now.By, o.Now.Did(), review.Name(w.Path))
	}
	d, err := s.editForm(v, w.Path)
	switch {
	case w.What == WishDelete && err != nil:
		wrong.Fix = "Load the page again to see what holds now."
		return wrong
	case w.What == WishDelete:
		wrong.Fix = "Nothing was done. Below is the file as it is now."
	case err != nil: // there is nothing to show any more, but what was written
		d.Revision, d.Base, d.Text, d.New = revision, w.Base, string(w.Content), o.Now == nil
		wrong.Fix = "Your text is not kept yet. It stands below."
	default:
		theirs := d.Text
		d.Theirs, d.Text, d.CRLF = &theirs, string(w.Content), v.form("crlf") == "1"
		wrong.Fix = "Your text is not kept yet. It stands below, beside what the file is now: put the two together, and keep that."
	}
	d.Wrong = wrong
	return s.write(v, wrong.Status, "editfile", "layout", v.view(d.Title(), d))
}

func (s *Server) afterEdit(v *visit, id string) error {
	s.feeds.poked(v.Project.ID)
	s.hub.Publish(QuestionsTopic(v.Project.ID), `{"checkpoint":true}`)
	return v.seeOther(v.url("/checkpoints/" + url.PathEscape(id) + "#files"))
}
