package companion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/todos"
	"forge/internal/work"
	"forge/review"
)

// checkpoint is the question that a change is meant for: the one that was named, or
// the only one that waits. Another run's is as unknown as one that is not there.
func (t *turn) checkpoint(ctx context.Context, id string) (web.Judged, error) {
	if id == "" && len(t.waits) == 1 {
		id = t.waits[0].ID
	}
	for _, cp := range t.waits {
		if cp.ID == id {
			return t.room.Project.Questions.Judged(ctx, id)
		}
	}
	return web.Judged{}, refusal.New("the tool questions lists what waits", "no such question of this run waits for a person")
}

type inComment struct {
	Checkpoint string `json:"checkpoint,omitempty" jsonschema:"id of the question; absent = the only one that waits"`
	Path       string `json:"path" jsonschema:"a file of the change that is judged"`
	Line       int    `json:"line" jsonschema:"a line that the change shows"`
	Side       string `json:"side,omitempty" jsonschema:"new or old; absent = new"`
	Text       string `json:"text"`
	Why        string `json:"why,omitempty" jsonschema:"why, for the person"`
}

func commentWay() way {
	return define(way{
		kind: work.ProposeComment, least: web.RoleReviewer, run: true, about: "Comment on a line of the change that waits for a person. It reaches the agent when the person requests changes.",
		do: func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
			_, err := r.Project.Cockpit.CommentLine(ctx, p.Checkpoint, p.Revision, work.LineComment{
				Path: p.Path, Side: p.Side, Line: p.Line, Hunk: p.Hunk, Body: p.Text, By: by.Name, At: r.Now(),
			})
			return "the comment is kept with the question", err
		},
	}, func(ctx context.Context, t *turn, in inComment) (work.Proposal, error) {
		body, err := words(in.Text, work.MaxLineComment)
		if err != nil {
			return work.Proposal{}, err
		}
		j, err := t.checkpoint(ctx, in.Checkpoint)
		if err != nil {
			return work.Proposal{}, err
		}
		change, err := t.room.Project.Cockpit.Change(ctx, j.From, j.To)
		if err != nil {
			return work.Proposal{}, err
		}
		side := cmp.Or(in.Side, work.SideNew)
		quote, ok := lineIn(change, in.Path, side, in.Line)
		if !ok {
			return work.Proposal{}, refusal.New("the tool diff shows the change", "the change does not show that line")
		}
		return work.Proposal{
			Checkpoint: j.Checkpoint.ID, Revision: j.Checkpoint.Revision, Path: in.Path, Side: side, Line: in.Line, Hunk: quote, Text: body, Why: in.Why,
			Diff: append([]work.DiffLine{{Text: quote}}, added(body)...), Says: fmt.Sprintf("Comment on %s:%d", review.Name(in.Path), in.Line),
		}, nil
	})
}

// lineIn is a line that a change shows.
func lineIn(c review.Change, path, side string, line int) (string, bool) {
	for _, f := range c.Files {
		if f.Path != path {
			continue
		}
		for _, h := range f.Hunks {
			was, now := h.OldStart, h.NewStart
			for _, l := range bytes.SplitAfter(h.Body, []byte("\n")) {
				if len(l) == 0 || l[0] == '\\' {
					continue
				}
				words := strings.TrimRight(string(l[1:]), "\r\n")
				if l[0] != '+' {
					if side == work.SideOld && was == line {
						return words, true
					}
					was++
				}
				if l[0] != '-' {
					if side == work.SideNew && now == line {
						return words, true
					}
					now++
				}
			}
		}
	}
	return "", false
}

type inEdit struct {
	Checkpoint string `json:"checkpoint,omitempty" jsonschema:"id of the question; absent = the only one that waits"`
	Path       string `json:"path" jsonschema:"the file"`
	Old        string `json:"old,omitempty" jsonschema:"what stands there now, exactly and only once; absent = the file is new"`
	New        string `json:"new" jsonschema:"what is to stand there instead"`
	Why        string `json:"why,omitempty" jsonschema:"why, for the person"`
}

type inTodos struct {
	Checkpoint string `json:"checkpoint,omitempty" jsonschema:"id of the question; absent = the only one that waits"`
	Content    string `json:"content" jsonschema:"the whole todos.yaml"`
	Why        string `json:"why,omitempty" jsonschema:"why, for the person"`
}

func editWay() way {
	return define(way{
		kind: work.ProposeEdit, least: web.RoleOperator, run: true, do: edit,
		about: "Edit or add a file of what waits for a person. It becomes part of the work when the person requests changes.",
	}, func(ctx context.Context, t *turn, in inEdit) (work.Proposal, error) {
		p, before, err := t.editing(ctx, in.Checkpoint, in.Path)
		if err != nil {
			return p, err
		}
		p.Why = in.Why
		switch n := strings.Count(before, in.Old); {
		case in.Old == "" && p.What == web.WishAdd:
			p.Text = in.New
		case in.Old == "":
			return p, refusal.New("say in old what is to be replaced", "there is a file of that name")
		case n != 1:
			return p, refusal.New("the tool file shows it; take more lines of it", "what is to be replaced stands there %d times", n)
		default:
			p.Text = strings.Replace(before, in.Old, in.New, 1)
		}
		return finish(p, before)
	})
}

func todosWay() way {
	return define(way{
		kind: work.ProposeTodos, least: web.RoleOperator, run: true, do: edit,
		about: "Change the list of todos of a job. It becomes part of the work when the person requests changes.",
	}, func(ctx context.Context, t *turn, in inTodos) (work.Proposal, error) {
		if t.st.Job == nil {
			return work.Proposal{}, refusal.New("propose an edit of a file", "only jobs have todos")
		}
		if list := todos.Parse([]byte(in.Content)); len(list.Problems) > 0 {
			return work.Proposal{}, refusal.New("correct it", "%s", text.OneLine(strings.Join(list.Problems, "; "), 500))
		}
		p, before, err := t.editing(ctx, in.Checkpoint, todos.File)
		if err != nil {
			return p, err
		}
		p.Text, p.Why = in.Content, in.Why
		return finish(p, before)
	})
}

// editing begins a proposal to edit a file at a checkpoint, with what stands there.
func (t *turn) editing(ctx context.Context, id, path string) (p work.Proposal, before string, err error) {
	j, err := t.checkpoint(ctx, id)
	if err != nil {
		return p, "", err
	}
	edits := t.room.Project.Edits
	if edits == nil {
		return p, "", refusal.New("propose a comment", "at this question files cannot be edited")
	}
	any, err := edits.EditedFile(ctx, j.Checkpoint.ID, "")
	if err != nil {
		return p, "", plain(err)
	}
	if !any.May || !gates.MayAnswer(j.Checkpoint, t.asker.Role.Gate()) {
		return p, "", refusal.New("propose a comment", "at this question files cannot be edited")
	}
	if !fs.ValidPath(path) || path == "." {
		return p, "", refusal.New("the tool files lists them", "that is no path of a file")
	}
	file, err := edits.EditedFile(ctx, j.Checkpoint.ID, path)
	if err != nil {
		return p, "", plain(err)
	}
	p = work.Proposal{Checkpoint: j.Checkpoint.ID, Revision: j.Checkpoint.Revision, Path: path, Base: file.Base, What: web.WishEdit}
	if file.Edit != nil {
		p.Seen = file.Edit.Sum()
	}
	if !file.May {
		p.What = web.WishAdd // where it is there all the same, the edit is refused
	}
	return p, string(file.Content), nil
}

// finish is the proposal with its diff.
func finish(p work.Proposal, before string) (work.Proposal, error) {
	if p.Text == before && p.What == web.WishEdit {
		return p, refusal.New("propose something else", "that changes nothing")
	}
	if text.Hides(p.Text) && !text.Hides(before) {
		return p, refusal.New("leave them out", "the text holds characters that nobody sees")
	}
	p.Diff, p.Says = changed(before, p.Text), "Edit "+review.Name(p.Path)
	if p.What == web.WishAdd {
		p.Says = "Add " + review.Name(p.Path)
	}
	return p, nil
}

// edit keeps a file with its checkpoint.
func edit(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
	_, err := r.Project.Edits.EditFile(ctx, p.Checkpoint, p.Revision, web.FileWish{
		Path: p.Path, What: p.What, Content: []byte(p.Text), Base: p.Base, Seen: p.Seen, By: by.Name, Admin: by.Role >= web.RoleAdmin,
	})
	return "it is kept with the question: request changes there, and the work goes on from it", err
}

// plain is an error of a page's, as the model and the conversation are told it.
func plain(err error) error {
	var told *web.Complaint
	var bad *web.BadSettings
	switch {
	case errors.As(err, &told):
		return refusal.New(strings.TrimSuffix(told.Fix, "."), "%s", strings.TrimSuffix(told.What, "."))
	case errors.As(err, &bad):
		return refusal.New("correct it", "%s", text.OneLine(bad.Error(), 500))
	}
	return err
}
