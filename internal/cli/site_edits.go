package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"forge/factory/triage"
	pages "forge/factory/web"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// siteEdits keeps what people edit at checkpoints.
type siteEdits struct{ *site }

// editing is a checkpoint that takes edits.
type editing struct {
	cp     work.Checkpoint
	st     *orchestrator.State
	judged string
	repo   *git.Store
}

// noEdits is what a checkpoint answers that takes none.
var noEdits = &pages.Complaint{Status: http.StatusConflict, What: "At this checkpoint files cannot be edited.", Fix: "Comment on the lines, and request changes."}

func (s siteEdits) editing(ctx context.Context, id string) (editing, error) {
	cp, err := siteDesk(s).exact(ctx, id)
	e := editing{cp: cp}
	if err != nil {
		return e, err
	}
	if triage.IsThread(cp.Run) {
		return e, noEdits
	}
	if _, e.st, err = s.p.StandOf(ctx, cp.Run); err != nil {
		return e, err
	}
	var ok bool
	if e.judged, ok = e.st.TakesEdits(cp); !ok {
		return e, noEdits
	}
	e.repo, err = s.store(ctx)
	return e, err
}

// EditFile keeps a file as it is to be. Files that the proof rests on are only
// edited, added and deleted with the rights of an admin.
func (s siteEdits) EditFile(ctx context.Context, id string, revision int, w pages.FileWish) (work.Checkpoint, error) {
	e, err := s.editing(ctx, id)
	if err != nil {
		return e.cp, err
	}
	if len(w.Content) > work.MaxFileEdit {
		return e.cp, &pages.Complaint{Status: http.StatusRequestEntityTooLarge, What: fmt.Sprintf("A file of more than %d KB is not edited here.", work.MaxFileEdit>>10), Fix: "Ask for it in a comment, and request changes."}
	}
	edit := work.FileEdit{Path: w.Path, Delete: w.What == pages.WishDelete, Base: e.judged, By: w.By, At: s.p.Now()}
	if edit.New, err = e.isNew(ctx, w); err != nil {
		// What is there or not may be others' doing.
		return e.cp, cmp.Or(e.cp.Overtaken(w.Path, w.Seen), err)
	}
	if w.Base != "" && w.Base != e.judged {
		if err := e.unmoved(ctx, w.Base, w.Path); err != nil {
			return e.cp, err
		}
	}
	if err := s.allowed(ctx, e, git.FileEdit{Path: w.Path, Content: w.Content, Delete: edit.Delete}, w.Admin); err != nil {
		return e.cp, err
	}
	if !edit.Delete {
		if edit.Blob, err = s.p.Journal.PutBlob(ctx, w.Content); err != nil {
			return e.cp, err
		}
	}
	return s.p.Journal.EditFile(ctx, e.cp.ID, revision, w.Seen, edit, s.p.Now())
}

// isNew says whether what is judged is without the file; it refuses a wish for
// another sort of file than the one that is there.
func (e editing) isNew(ctx context.Context, w pages.FileWish) (bool, error) {
	noFile := &pages.Complaint{Status: http.StatusNotFound, What: "That is no ordinary file of what is judged.", Fix: "The list of files names those that there are."}
	was := e.cp.EditOf(w.Path)
	_, err := e.file(ctx, w.Path)
	var large *git.TooLargeError
	switch {
	case errors.As(err, &large):
		err = nil
	case errors.Is(err, git.ErrNotText) && w.What != pages.WishAdd:
		return false, noFile
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, git.ErrNotText):
		switch {
		case w.What == pages.WishAdd, w.What == pages.WishEdit && was != nil && was.New:
			return true, nil
		case w.What == pages.WishDelete && was != nil:
			return false, &pages.Complaint{Status: http.StatusConflict, What: "That file was added here.", Fix: "Take the edit back, and it is gone."}
		}
		return false, noFile
	}
	if err == nil && w.What == pages.WishAdd {
		return false, &pages.Complaint{Status: http.StatusConflict, What: "There is a file of that name.", Fix: "Edit that one, or choose another name."}
	}
	return false, err
}

// file is an ordinary file of what is judged. What is no path names none.
func (e editing) file(ctx context.Context, path string) ([]byte, error) {
	if !fs.ValidPath(path) || path == "." || strings.ContainsRune(path, 0) {
		return nil, fs.ErrNotExist
	}
	return e.repo.File(ctx, e.judged, path)
}

// unmoved refuses an edit of a file that is another one than in the commit that
// was looked at.
func (e editing) unmoved(ctx context.Context, base, path string) error {
	moved := &pages.Complaint{
		Status: http.StatusConflict, What: "The branch has moved since: " + review.Name(path) + " is another file now than the one that was edited.",
		Fix: "Keep your text, load the file again, and make the edit on it, or take the edit back.",
	}
	if there, err := e.repo.Exists(ctx, base); err != nil || !there {
		return moved // it is not known to be the same
	}
	changed, err := e.repo.Changes(ctx, base, e.judged)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(changed, func(c work.FileChange) bool { return c.Path == path }) {
		return moved
	}
	return nil
}

// allowed says why an edit cannot be made beside the others of its checkpoint,
// or not by somebody who is no admin.
func (s siteEdits) allowed(ctx context.Context, e editing, edit git.FileEdit, admin bool) error {
	var others []git.FileEdit
	for _, o := range e.cp.Edits {
		if o.Path == edit.Path {
			continue
		}
		one, err := asFile(ctx, s.p, o)
		if err != nil {
			return err
		}
		others = append(others, one)
	}
	without, err := e.repo.Edited(ctx, e.judged, others)
	if err != nil {
		return forEdit(err)
	}
	with, err := e.repo.Edited(ctx, e.judged, append(others, edit))
	if err != nil {
		return forEdit(err)
	}
	touched, gone, err := project.TouchedBetween(ctx, e.repo, evidence.New(e.repo, filepath.Join(s.p.State, "cache", "evidence")), e.st.Spec.Settings, without, with, nil)
	if err != nil {
		return err
	}
	if len(touched)+len(gone) > 0 && !admin {
		return &pages.Complaint{Status: http.StatusForbidden, What: "The proof rests on this file: only an admin changes it.", Fix: "Comment on it, and request changes."}
	}
	return nil
}

// forEdit is what a person is told who wants a file that there cannot be.
func forEdit(err error) error {
	var wrong *git.EditError
	if !errors.As(err, &wrong) {
		return err
	}
	return &pages.Complaint{Status: http.StatusUnprocessableEntity, What: review.Name(wrong.Path) + " " + wrong.What + ".", Fix: "Choose another name, or take another edit back first."}
}

// asFile is an edit with its content.
func asFile(ctx context.Context, p *project.Checkout, e work.FileEdit) (git.FileEdit, error) {
	out := git.FileEdit{Path: e.Path, Delete: e.Delete}
	var err error
	if !e.Delete {
		out.Content, err = p.Journal.Blob(ctx, e.Blob)
	}
	return out, err
}

func (s siteEdits) DropEdit(ctx context.Context, id string, revision int, path, seen string) (work.Checkpoint, error) {
	cp, err := siteDesk(s).exact(ctx, id)
	if err != nil {
		return cp, err
	}
	return s.p.Journal.DropEdit(ctx, cp.ID, revision, path, seen, s.p.Now())
}

// EditedFile is a file as it is edited at a checkpoint, and else as it is
// judged; without a path, whether a file may be added.
func (s siteEdits) EditedFile(ctx context.Context, id, path string) (pages.Editing, error) {
	e, err := s.editing(ctx, id)
	if errors.Is(err, noEdits) {
		return pages.Editing{}, nil
	}
	out := pages.Editing{Base: e.judged, Edit: e.cp.EditOf(path)}
	switch {
	case err != nil:
		return out, err
	case path == "":
		out.May = true
		return out, nil
	case out.Edit != nil && !out.Edit.Delete:
		out.May = true
		out.Content, err = s.p.Journal.Blob(ctx, out.Edit.Blob)
		return out, err
	}
	out.Content, err = e.file(ctx, path)
	var large *git.TooLargeError
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, git.ErrNotText) || errors.As(err, &large) {
		return out, nil
	}
	out.May = err == nil && len(out.Content) <= work.MaxFileEdit
	return out, err
}

// withEdits puts the commit that holds a checkpoint's edits into an answer that
// requests changes. What was edited since is refused by the journal; an edit of
// a file that the branch brought anew since is refused here.
func withEdits(ctx context.Context, p *project.Checkout, cp work.Checkpoint, ans *work.Answer) error {
	if ans.Status != work.CheckpointChangesRequested || len(cp.Edits) == 0 {
		return nil
	}
	_, st, err := p.StandOf(ctx, cp.Run)
	if err != nil {
		return err
	}
	judged, ok := st.TakesEdits(cp)
	if !ok {
		return refusal.New("take the edits back", "at this checkpoint files cannot be edited")
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	now := editing{cp: cp, st: st, judged: judged, repo: repo}
	out := &work.Edited{Base: judged, Sum: cp.EditsSum()}
	var edits []git.FileEdit
	var authors []string
	for _, e := range cp.Edits {
		if e.Base != judged {
			var moved *pages.Complaint
			if err := now.unmoved(ctx, e.Base, e.Path); errors.As(err, &moved) {
				return refusal.New("edit it again on what is judged now, or take the edit back", "the branch has moved since %s was %s: it is another file now", e.Path, e.Did())
			} else if err != nil {
				return err
			}
		}
		one, err := asFile(ctx, p, e)
		if err != nil {
			return err
		}
		edits = append(edits, one)
		out.Files = append(out.Files, e.Path)
		if !slices.Contains(authors, e.By) {
			authors = append(authors, e.By)
		}
	}
	message := fmt.Sprintf("Edited at checkpoint %s\n\nBy %s\n", cp.ID, strings.Join(authors, ", "))
	out.Commit, err = repo.Edit(ctx, judged, edits, authors[len(authors)-1], message, orchestrator.Ref(cp.Run, "edit-"+strings.TrimPrefix(cp.ID, cp.Run+".")))
	var wrong *git.EditError
	if errors.As(err, &wrong) {
		return refusal.New("take one of the edits back", "the edits do not go together: %v", wrong)
	}
	if err != nil {
		return err
	}
	ans.Edited = out
	return nil
}
