package api

import (
	"cmp"
	"net/http"

	"forge/factory/web"
	"forge/internal/work"
)

// maxEdit is how large a file may become by an edit, in bytes.
const maxEdit = 1 << 20

// EditFile changes a file of what is judged, adds one or deletes it.
type EditFile struct {
	InCheckpoint
	Body struct {
		Revision int     `json:"revision" minimum:"1"`
		Path     string  `json:"path" minLength:"1" maxLength:"4096"`
		What     string  `json:"what,omitempty" enum:"edit,add,delete" default:"edit"`
		Text     *string `json:"text,omitempty" maxLength:"1048576" doc:"The whole file as it shall be; left out where it is deleted."`
		Base     string  `json:"base,omitempty" maxLength:"100" doc:"The commit that was looked at; where the file is another one by now, the edit is refused."`
		Seen     string  `json:"seen,omitempty" maxLength:"100" doc:"What had become of the file when it was looked at: the blob of its edit at the checkpoint, or deleted; left out where nobody had edited it. An edit that others made since is not written over: the answer is 409, with the checkpoint."`
	}
}

// DropEdit takes an edit back.
type DropEdit struct {
	InCheckpoint
	Revision int    `query:"revision" required:"true" minimum:"1"`
	Path     string `query:"path" required:"true" minLength:"1" maxLength:"4096"`
	Seen     string `query:"seen" required:"true" minLength:"1" maxLength:"100" doc:"The edit that is meant: its blob, or deleted."`
}

func (a *API) editRoutes() {
	const path = "/projects/{project}/checkpoints/{checkpoint}/edits"
	add(a, Route{ID: "edit-file", Method: http.MethodPut, Path: path, Role: web.RoleOperator, Summary: "Change, add or delete a file of what is judged, as your own commit on its branch; one that the proof rests on takes an admin", Tag: "checkpoints", MaxBody: 8 * maxEdit},
		func(c call, in *EditFile) (*Answer[work.Checkpoint], error) {
			b := in.Body
			w := web.FileWish{Path: b.Path, What: cmp.Or(b.What, web.WishEdit), Base: b.Base, Seen: b.Seen, By: c.who.Name, Admin: c.who.May(c.project.ID, web.RoleAdmin)}
			switch gone := w.What == web.WishDelete; {
			case gone != (b.Text == nil):
				return nil, invalid("body.text", "a file that is deleted has none, and any other one has")
			case !gone:
				w.Content = []byte(*b.Text)
			}
			cp, err := c.project.Edits.EditFile(c, in.Checkpoint, b.Revision, w)
			if err != nil {
				return nil, c.refused(err, cp)
			}
			return answer(cp, nil)
		})
	add(a, Route{ID: "drop-edit", Method: http.MethodDelete, Path: path, Role: web.RoleOperator, Summary: "Take an edit of a file back", Tag: "checkpoints"},
		func(c call, in *DropEdit) (*Answer[work.Checkpoint], error) {
			cp, err := c.project.Edits.DropEdit(c, in.Checkpoint, in.Revision, in.Path, in.Seen)
			if err != nil {
				return nil, c.refused(err, cp)
			}
			return answer(cp, nil)
		})
}
