package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

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
	Text       string
	Edit       *work.FileEdit // what somebody made of it already
	New        bool
	CRLF       bool
	Wrong      *Complaint // why it was not kept
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
	j, err := v.Project.Desk.Judged(v.Context(), id)
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
	w := FileWish{Path: v.PostFormValue("path"), What: cmp.Or(v.form("what"), WishEdit), Content: []byte(text), Base: v.form("base"), By: v.Who.Name, Admin: v.Who.May(v.Project.ID, RoleAdmin)}
	switch w.What {
	case WishEdit, WishAdd:
	case WishDelete:
		w.Content = nil
	default:
		return &Complaint{http.StatusBadRequest, fmt.Sprintf("%q is nothing that is done to a file.", clip(w.What)), ""}
	}
	if _, err = v.Project.Edits.EditFile(v.Context(), id, revision, w); err == nil {
		return s.afterEdit(v, id)
	}
	wrong := complaint(said(err))
	if wrong == nil || w.What == WishDelete {
		return said(err)
	}
	d := editData{
		At: v.url("/checkpoints/" + url.PathEscape(id)), Token: s.token(v.Who), Path: w.Path, Name: review.Name(w.Path), Revision: revision,
		Base: w.Base, Text: text, New: w.What == WishAdd, CRLF: v.form("crlf") == "1", Wrong: wrong,
	}
	return s.write(v, wrong.Status, "editfile", "layout", v.view(d.Title(), d))
}

func (s *Server) dropEdit(v *visit) error {
	id := v.PathValue("checkpoint")
	if _, err := v.Project.Edits.DropEdit(v.Context(), id, 0, v.PostFormValue("path")); err != nil {
		return said(err)
	}
	return s.afterEdit(v, id)
}

func (s *Server) afterEdit(v *visit, id string) error {
	s.feeds.poked(v.Project.ID)
	s.hub.Publish(DeskTopic(v.Project.ID), `{"checkpoint":true}`)
	return v.seeOther(v.url("/checkpoints/" + url.PathEscape(id) + "#files"))
}
