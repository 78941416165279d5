package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	pages "forge/factory/web"
	"forge/internal/approval"
	"forge/internal/git"
	"forge/internal/work"
	"forge/review"
)

// edits keeps what people edit at checkpoints.
type edits struct{ *view }

func (s edits) service() approval.Edits { return approval.Edits{Project: s.p, Repo: s.store} }

// EditFile keeps a file as it is to be. Files that the proof rests on are only
// edited, added and deleted with the rights of an admin.
func (s edits) EditFile(ctx context.Context, id string, revision int, w pages.FileWish) (work.Checkpoint, error) {
	cp, err := s.service().Keep(ctx, id, revision, approval.FileWish(w))
	return cp, forEdit(err)
}

// DropEdit takes an edit back.
func (s edits) DropEdit(ctx context.Context, id string, revision int, path, seen string) (work.Checkpoint, error) {
	return s.service().Drop(ctx, id, revision, path, seen)
}

// EditedFile is a file as it is edited at a checkpoint, and else as it is
// judged; without a path, whether a file may be added.
func (s edits) EditedFile(ctx context.Context, id, path string) (pages.Editing, error) {
	f, err := s.service().File(ctx, id, path)
	return pages.Editing(f), err
}

// editComplaints are what a person is told who wants a file that there cannot be.
var editComplaints = []struct {
	err  error
	told pages.Complaint
}{
	{approval.ErrNoEdits, pages.Complaint{Status: http.StatusConflict, What: "At this checkpoint files cannot be edited.", Fix: "Comment on the lines, and request changes."}},
	{approval.ErrLargeFile, pages.Complaint{Status: http.StatusRequestEntityTooLarge, What: fmt.Sprintf("A file of more than %d KB is not edited here.", work.MaxFileEdit>>10), Fix: "Ask for it in a comment, and request changes."}},
	{approval.ErrNoFile, pages.Complaint{Status: http.StatusNotFound, What: "That is no ordinary file of what is judged.", Fix: "The list of files names those that there are."}},
	{approval.ErrAddedHere, pages.Complaint{Status: http.StatusConflict, What: "That file was added here.", Fix: "Take the edit back, and it is gone."}},
	{approval.ErrFileExists, pages.Complaint{Status: http.StatusConflict, What: "There is a file of that name.", Fix: "Edit that one, or choose another name."}},
	{approval.ErrProofFile, pages.Complaint{Status: http.StatusForbidden, What: "The proof rests on this file: only an admin changes it.", Fix: "Comment on it, and request changes."}},
}

// forEdit is err as a person is told it who wants a file that there cannot be.
func forEdit(err error) error {
	for _, c := range editComplaints {
		if errors.Is(err, c.err) {
			return &c.told
		}
	}
	var moved *approval.MovedError
	var wrong *git.EditError
	switch {
	case errors.As(err, &moved):
		return &pages.Complaint{
			Status: http.StatusConflict, What: "The branch has moved since: " + review.Name(moved.Path) + " is another file now than the one that was edited.",
			Fix: "Keep your text, load the file again, and make the edit on it, or take the edit back.",
		}
	case errors.As(err, &wrong):
		return &pages.Complaint{Status: http.StatusUnprocessableEntity, What: review.Name(wrong.Path) + " " + wrong.What + ".", Fix: "Choose another name, or take another edit back first."}
	}
	return err
}
