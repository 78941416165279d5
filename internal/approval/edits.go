package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// Edits are the files that people edit at the checkpoints of a project. What
// they want and cannot have is one of the errors of this file, a *MovedError, a
// *git.EditError, or one of work's.
type Edits struct {
	Project *project.Checkout
	// Repo opens Forge's own repository, or returns it when it is open.
	Repo func(ctx context.Context) (*git.Store, error)
}

// Why a file is not edited as somebody wants it.
var (
	ErrNoEdits    = errors.New("at this checkpoint files cannot be edited")
	ErrLargeFile  = fmt.Errorf("a file of more than %d KB is not edited at a checkpoint", work.MaxFileEdit>>10)
	ErrNoFile     = errors.New("that is no ordinary file of what is judged")
	ErrAddedHere  = errors.New("that file was added at this checkpoint")
	ErrFileExists = errors.New("there is a file of that name")
	ErrProofFile  = errors.New("the proof rests on this file: only an admin changes it")
)

// MovedError says that the branch has moved since a file was looked at: it is
// another one now.
type MovedError struct{ Path string }

// Error names the file.
func (e *MovedError) Error() string {
	return "the branch has moved since: " + review.Name(e.Path) + " is another file now than the one that was edited"
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

// EditedFile is a file as it is edited at a checkpoint, and else as it is judged.
type EditedFile struct {
	// May says that this checkpoint, and where a path was given this file, takes
	// edits.
	May     bool
	Content []byte
	Base    string         // the commit that is judged
	Edit    *work.FileEdit // what somebody made of the file already; nil = nothing
}

// editing is a checkpoint that takes edits.
type editing struct {
	cp     work.Checkpoint
	st     *orchestrator.State
	judged string
	repo   *git.Store
}

func (s Edits) editing(ctx context.Context, id string) (editing, error) {
	cp, err := Exact(ctx, s.Project, id)
	e := editing{cp: cp}
	if err != nil {
		return e, err
	}
	if triage.IsThread(cp.Run) {
		return e, ErrNoEdits
	}
	if _, e.st, err = s.Project.StandOf(ctx, cp.Run); err != nil {
		return e, err
	}
	var ok bool
	if e.judged, ok = e.st.TakesEdits(cp); !ok {
		return e, ErrNoEdits
	}
	e.repo, err = s.Repo(ctx)
	return e, err
}

// Keep keeps a file as it is to be. Files that the proof rests on are only
// edited, added and deleted with the rights of an admin.
func (s Edits) Keep(ctx context.Context, id string, revision int, w FileWish) (work.Checkpoint, error) {
	e, err := s.editing(ctx, id)
	if err != nil {
		return e.cp, err
	}
	if len(w.Content) > work.MaxFileEdit {
		return e.cp, ErrLargeFile
	}
	edit := work.FileEdit{Path: w.Path, Delete: w.What == WishDelete, Base: e.judged, By: w.By, At: s.Project.Now()}
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
		if edit.Blob, err = s.Project.Journal.PutBlob(ctx, w.Content); err != nil {
			return e.cp, err
		}
	}
	return s.Project.Journal.EditFile(ctx, e.cp.ID, revision, w.Seen, edit, s.Project.Now())
}

// isNew says whether what is judged is without the file; it refuses a wish for
// another sort of file than the one that is there.
func (e editing) isNew(ctx context.Context, w FileWish) (bool, error) {
	was := e.cp.EditOf(w.Path)
	_, err := e.file(ctx, w.Path)
	var large *git.TooLargeError
	switch {
	case errors.As(err, &large):
		err = nil
	case errors.Is(err, git.ErrNotText) && w.What != WishAdd:
		return false, ErrNoFile
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, git.ErrNotText):
		switch {
		case w.What == WishAdd, w.What == WishEdit && was != nil && was.New:
			return true, nil
		case w.What == WishDelete && was != nil:
			return false, ErrAddedHere
		}
		return false, ErrNoFile
	}
	if err == nil && w.What == WishAdd {
		return false, ErrFileExists
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
	moved := &MovedError{Path: path}
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
func (s Edits) allowed(ctx context.Context, e editing, edit git.FileEdit, admin bool) error {
	var others []git.FileEdit
	for _, o := range e.cp.Edits {
		if o.Path == edit.Path {
			continue
		}
		one, err := asFile(ctx, s.Project, o)
		if err != nil {
			return err
		}
		others = append(others, one)
	}
	without, err := e.repo.Edited(ctx, e.judged, others)
	if err != nil {
		return err
	}
	with, err := e.repo.Edited(ctx, e.judged, append(others, edit))
	if err != nil {
		return err
	}
	set := e.st.Spec.Settings
	set.Proof = e.st.ProofSettings()
	touched, gone, err := project.TouchedBetween(ctx, e.repo, evidence.New(e.repo, filepath.Join(s.Project.State, "cache", "evidence")).Traced(filepath.Join(s.Project.State, "cache", "opened")), set, without, with, nil)
	if err != nil {
		return err
	}
	if len(touched)+len(gone) > 0 && !admin {
		return ErrProofFile
	}
	return nil
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

// Drop takes an edit back.
func (s Edits) Drop(ctx context.Context, id string, revision int, path, seen string) (work.Checkpoint, error) {
	cp, err := Exact(ctx, s.Project, id)
	if err != nil {
		return cp, err
	}
	return s.Project.Journal.DropEdit(ctx, cp.ID, revision, path, seen, s.Project.Now())
}

// File is a file as it is edited at a checkpoint, and else as it is
// judged; without a path, whether a file may be added.
func (s Edits) File(ctx context.Context, id, path string) (EditedFile, error) {
	e, err := s.editing(ctx, id)
	if errors.Is(err, ErrNoEdits) {
		return EditedFile{}, nil
	}
	out := EditedFile{Base: e.judged, Edit: e.cp.EditOf(path)}
	switch {
	case err != nil:
		return out, err
	case path == "":
		out.May = true
		return out, nil
	case out.Edit != nil && !out.Edit.Delete:
		out.May = true
		out.Content, err = s.Project.Journal.Blob(ctx, out.Edit.Blob)
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
			var moved *MovedError
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
	if p.Travels != nil {
		return p.Travels.Send(ctx, p, cp.Run)
	}
	return nil
}
