package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"forge/factory/web/diff"
	"forge/internal/text"
	"forge/internal/work"
)

func lineKey(side string, line int) string { return side + strconv.Itoa(line) }

// contains says whether a name has the words in it, whatever their case.
func contains(name, words string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(words)))
}

// commentData is the form for a comment on a line.
type commentData struct {
	At, Token  string
	Path, Name string
	Side       string
	Line       int
	Revision   int
	Quote      string
	Most       int
	Tell       string // where the line goes with a word to the agent; "" = it is gone
}

// commentForm is the form by itself, or as a page where no script runs.
func (s *Server) commentForm(v *visit) error {
	q := v.URL.Query()
	line, err := strconv.Atoi(q.Get("line"))
	if err != nil {
		return &Complaint{http.StatusBadRequest, "That is no line.", ""}
	}
	j, quote, err := s.lineOf(v, q.Get("path"), q.Get("side"), line)
	if err != nil {
		return err
	}
	d := commentData{
		At: v.url("/checkpoints/" + url.PathEscape(j.Checkpoint.ID)), Token: s.token(v.Who), Path: q.Get("path"), Name: q.Get("path"), Side: q.Get("side"), Line: line,
		Revision: j.Checkpoint.Revision, Quote: quote, Most: work.MaxLineComment,
	}
	if d.Side == work.SideNew {
		with := url.Values{"with": {work.Attached{Path: d.Path, From: line}.String()}}
		d.Tell = v.url("/runs/" + url.PathEscape(j.Checkpoint.Run) + "?" + with.Encode() + "#tell")
	}
	if v.htmx() {
		return v.part("cockpit", "comment-form-part", d)
	}
	return v.page("comment", "Comment", d)
}

// lineOf finds the line that is spoken of: it has to be one that the change
// shows.
func (s *Server) lineOf(v *visit, path, side string, line int) (Judged, string, error) {
	j, err := v.Project.Questions.Judged(v.Context(), v.PathValue("checkpoint"))
	if err != nil {
		return j, "", err
	}
	view, err := s.changes.view(v.Context(), v.Project, j.From, j.To, path)
	if err != nil {
		return j, "", err
	}
	for _, h := range view.Hunks {
		for _, r := range h.Rows {
			c := r.New
			if side == work.SideOld {
				c = r.Old
			}
			if c != nil && c.Line == line && (side == work.SideOld || side == work.SideNew) {
				return j, diff.Text(c), nil
			}
		}
	}
	return j, "", &Complaint{http.StatusUnprocessableEntity, "The change does not show that line.", "Comment on a line that it shows."}
}

func (s *Server) comment(v *visit) error {
	line, err1 := strconv.Atoi(v.form("line"))
	revision, err2 := strconv.Atoi(v.form("revision"))
	if errors.Join(err1, err2) != nil || revision < 1 {
		return &Complaint{http.StatusBadRequest, "That is no line, or no revision.", ""}
	}
	path, side := v.PostFormValue("path"), v.form("side")
	j, quote, err := s.lineOf(v, path, side, line)
	if err != nil {
		return err
	}
	_, err = v.Project.Cockpit.CommentLine(v.Context(), j.Checkpoint.ID, revision, work.LineComment{
		Path: path, Side: side, Line: line, Hunk: quote, Body: v.form("body"), By: v.Who.Name, At: s.Now(),
	})
	if err != nil {
		return said(err)
	}
	return s.afterWord(v, j, path)
}

func (s *Server) uncomment(v *visit) error {
	id, err1 := strconv.Atoi(v.form("comment"))
	revision, err2 := strconv.Atoi(v.form("revision"))
	if errors.Join(err1, err2) != nil {
		return &Complaint{http.StatusBadRequest, "That is no comment.", ""}
	}
	by := v.Who.Name
	if v.Who.May(v.Project.ID, RoleAdmin) {
		by = ""
	}
	cp, err := v.Project.Cockpit.DropComment(v.Context(), v.PathValue("checkpoint"), revision, id, by)
	if err != nil {
		return said(err)
	}
	j, err := v.Project.Questions.Judged(v.Context(), cp.ID)
	if err != nil {
		return err
	}
	return s.afterWord(v, j, v.PostFormValue("path"))
}

// afterWord shows the file again, with what is now said of it.
func (s *Server) afterWord(v *visit, j Judged, path string) error {
	s.feeds.poked(v.Project.ID)
	s.hub.Publish(QuestionsTopic(v.Project.ID), `{"checkpoint":true}`)
	if !v.htmx() {
		return v.seeOther(v.url("/checkpoints/" + url.PathEscape(j.Checkpoint.ID) + "#files"))
	}
	j, err := v.Project.Questions.Judged(v.Context(), j.Checkpoint.ID)
	if err != nil {
		return err
	}
	d, err := s.fileData(v, j, path)
	if err != nil {
		return err
	}
	return v.part("cockpit", "file-part", d)
}

// verdictWords are the buttons beside a file.
var verdictWords = map[string]work.CheckpointStatus{
	"approve": work.CheckpointApproved, "send-back": work.CheckpointChangesRequested, "reject": work.CheckpointRejected,
}

func (s *Server) judge(v *visit) error {
	status, ok := verdictWords[v.form("verdict")]
	revision, err := strconv.Atoi(v.form("revision"))
	if !ok || err != nil || revision < 1 {
		return &Complaint{http.StatusBadRequest, "That is no verdict on a file.", ""}
	}
	id, path := v.PathValue("checkpoint"), v.PostFormValue("path")
	j, err := v.Project.Questions.Judged(v.Context(), id)
	if err != nil {
		return err
	}
	change, err := s.changes.change(v.Context(), v.Project, j.From, j.To)
	if err != nil {
		return err
	}
	if fileOf(change, path) == nil {
		return errNoFile
	}
	_, err = v.Project.Questions.JudgeFiles(v.Context(), id, revision, []work.FileVerdict{{Path: path, Status: status, Comment: v.form("comment"), By: v.Who.Name, At: s.Now()}})
	if err != nil {
		return said(err)
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/checkpoints/" + url.PathEscape(id) + "#files"))
}

// answer answers the checkpoint as a whole.
func (s *Server) answer(v *visit) error {
	revision, err := strconv.Atoi(v.form("revision"))
	if err != nil || revision < 1 {
		return &Complaint{http.StatusBadRequest, "The answer does not say which revision it is about.", "Load the page again."}
	}
	// A button says what is answered, and with a choice which one.
	word, choice, _ := strings.Cut(v.form("answer"), ":")
	status := work.CheckpointStatus(word)
	switch status {
	case work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected:
	default:
		return &Complaint{http.StatusBadRequest, fmt.Sprintf("%q is no answer.", text.OneLine(word, 80)), ""}
	}
	level := v.form("level")
	if level != "" && !v.Who.May(v.Project.ID, RoleAdmin) {
		return &Complaint{http.StatusForbidden, "The level is an admin's to change.", "Leave it as it is."}
	}
	id := v.PathValue("checkpoint")
	cp, err := v.Project.Questions.Answer(v.Context(), work.Answer{
		Checkpoint: id, Revision: revision, Status: status, Choice: choice, Comment: v.form("comment"),
		By: v.Who.Name, Role: v.Who.Role(v.Project.ID).Gate(), Door: "web", At: s.Now(),
	}, level)
	if err != nil {
		return said(err)
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/checkpoints/" + url.PathEscape(cp.ID)))
}

// said is what a person is told about a refused word.
func said(err error) error {
	switch {
	case errors.Is(err, work.ErrEmptyFeedback):
		return &Complaint{http.StatusUnprocessableEntity, "There is nothing said.", "Write what has to change, or why."}
	case errors.Is(err, work.ErrTooLong):
		return &Complaint{http.StatusUnprocessableEntity, sentence(err.Error()), "Shorten it, or send back what there is first."}
	}
	return err
}
