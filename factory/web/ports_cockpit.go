package web

import (
	"context"

	"forge/internal/work"
	"forge/review"
)

// Cockpit is what pages need beside Questions and Code to show what was done and to
// speak about it line by line.
type Cockpit interface {
	// Change is the change from one commit to another, line by line. No file of
	// the project has a say in what is shown of it.
	Change(ctx context.Context, from, to string) (review.Change, error)
	// Say puts an event into words: one line, and below it named facts. ""
	// says nothing to a person.
	Say(e work.Event) (head string, facts [][2]string, err error)
	// Papers are the documents of a job as they stand now.
	Papers(ctx context.Context, run string) (Papers, error)
	// CommentLine keeps a comment with a checkpoint until that is answered. It
	// refuses as Questions.JudgeFiles does, and with work.ErrTooLong.
	CommentLine(ctx context.Context, id string, revision int, l work.LineComment) (work.Checkpoint, error)
	// DropComment takes one back; by "" is everybody's.
	DropComment(ctx context.Context, id string, revision, comment int, by string) (work.Checkpoint, error)
}

// Papers are the documents of a job.
type Papers struct {
	Commit    string
	Plan      string // Markdown; "" = not written yet
	Workspace string // Markdown
	Todos     []Todo
	Problems  []string // what is wrong with the todos
	Documents []string
	Archive   []string
	Tools     []string
}

// Todo is one of a job's todos.
type Todo struct {
	Title string
	State string // done, in_progress, open
	Needs []string
}

// Edits keeps files that people edit, add and delete at a checkpoint. They
// become a commit in their name when changes are requested, and the work goes on
// from it.
type Edits interface {
	// EditedFile is a file as it is to be edited: as somebody edited it, else as
	// it is judged.
	EditedFile(ctx context.Context, id, path string) (Editing, error)
	// EditFile keeps an edit. One of a file that the proof rests on takes an
	// admin. What others made of it unseen is not written over: a
	// *work.OvertakenError, of DropEdit likewise.
	EditFile(ctx context.Context, id string, revision int, w FileWish) (work.Checkpoint, error)
	DropEdit(ctx context.Context, id string, revision int, path, seen string) (work.Checkpoint, error)
}

// Editing is a file before it is edited.
type Editing struct {
	// May says that this checkpoint, and where a path was given this file, takes
	// edits.
	May     bool
	Content []byte
	Base    string         // the commit that is judged
	Edit    *work.FileEdit // what somebody made of the file already; nil = nothing
}

// What is done to a file.
const (
	WishEdit   = "edit"
	WishAdd    = "add"
	WishDelete = "delete"
)

// FileWish is a file as somebody wants it.
type FileWish struct {
	Path    string
	What    string // WishEdit, WishAdd or WishDelete
	Content []byte
	// Base is the commit that was looked at; "" = whatever is judged now. Where
	// the file is another one meanwhile, the wish is refused.
	Base string
	// Seen is what stood of the file, the Sum of its edit; "" = nobody had edited
	// it.
	Seen  string
	By    string
	Admin bool
}
