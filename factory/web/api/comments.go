package api

import (
	"net/http"
	"strings"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/work"
)

// CommentLine says something about a line of a change.
type CommentLine struct {
	InCheckpoint
	Body struct {
		Revision int    `json:"revision" minimum:"1"`
		Path     string `json:"path" minLength:"1" maxLength:"4096" doc:"One that the checkpoint's files name."`
		Side     string `json:"side,omitempty" enum:"old,new" default:"new"`
		Line     int    `json:"line" minimum:"1" doc:"Of that side, among those that the change shows."`
		Comment  string `json:"comment" minLength:"1" maxLength:"2000"`
	}
}

// DropComment takes a comment back.
type DropComment struct {
	InCheckpoint
	Comment  int `path:"comment" minimum:"1"`
	Revision int `query:"revision" required:"true" minimum:"1"`
}

func (a *API) commentRoutes() {
	const path = "/projects/{project}/checkpoints/{checkpoint}/comments"
	add(a, Route{ID: "comment-line", Method: http.MethodPost, Path: path, Role: web.RoleReviewer, Summary: "Say something about a line of a change; the agent hears it when changes are requested", Tag: "checkpoints"}, a.commentLine)
	add(a, Route{ID: "drop-comment", Method: http.MethodDelete, Path: path + "/{comment}", Role: web.RoleReviewer, Summary: "Take a comment back; an admin may take back everybody's", Tag: "checkpoints"},
		func(c call, in *DropComment) (*Answer[work.Checkpoint], error) {
			by := c.who.Name
			if c.who.May(c.project.ID, web.RoleAdmin) {
				by = ""
			}
			cp, err := c.project.Cockpit.DropComment(c, in.Checkpoint, in.Revision, in.Comment, by)
			if err != nil {
				return nil, c.refused(err, cp)
			}
			return answer(cp, nil)
		})
}

func (a *API) commentLine(c call, in *CommentLine) (*Answer[work.Checkpoint], error) {
	b := in.Body
	j, err := c.project.Questions.Judged(c, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	if !gates.MayAnswer(j.Checkpoint, c.who.Role(c.project.ID).Gate()) {
		return nil, forbidden(web.RoleOperator, c)
	}
	if j.From == "" || j.To == "" {
		return nil, invalid("body.path", "the checkpoint judges no change")
	}
	quote, err := quoted(c, j, b.Path, b.Side, b.Line)
	if err != nil {
		return nil, err
	}
	cp, err := c.project.Cockpit.CommentLine(c, in.Checkpoint, b.Revision, work.LineComment{
		Path: b.Path, Side: b.Side, Line: b.Line, Hunk: quote, Body: b.Comment, By: c.who.Name, At: a.Now().UTC(),
	})
	if err != nil {
		return nil, c.refused(err, cp)
	}
	return answer(cp, nil)
}

// quoted is the text of a line that the change shows.
func quoted(c call, j web.Judged, path, side string, line int) (string, error) {
	change, err := c.project.Cockpit.Change(c, j.From, j.To)
	if err != nil {
		return "", err
	}
	for _, f := range change.Files {
		if f.Path != path {
			continue
		}
		for _, h := range f.Hunks {
			old, now := h.OldStart, h.NewStart
			for text := range strings.Lines(string(h.Body)) {
				mark, text := text[0], strings.TrimRight(text[1:], "\r\n")
				onOld, onNew := mark == ' ' || mark == '-', mark == ' ' || mark == '+'
				if side == work.SideOld && onOld && old == line || side == work.SideNew && onNew && now == line {
					return text, nil
				}
				if onOld {
					old++
				}
				if onNew {
					now++
				}
			}
		}
	}
	return "", invalid("body.line", "the change does not show that line")
}
