package work

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Bounds of the files that a person edits at a checkpoint; bytes of each.
const (
	MaxFileEdits = 20
	MaxFileEdit  = 512 << 10
)

// FileEdit is a file as a person wants it: edited, added or deleted. It changes
// nothing by itself: it is kept with the checkpoint, and the work goes on from
// it when changes are requested. It is proven like the agent's own work.
type FileEdit struct {
	Path   string    `json:"path"`
	Blob   string    `json:"blob,omitempty"` // its content
	Delete bool      `json:"delete,omitempty"`
	New    bool      `json:"new,omitempty"`  // it is not in what is judged
	Base   string    `json:"base,omitempty"` // the commit that was judged when it was written
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// Did is what was done to the file, as a word.
func (e FileEdit) Did() string {
	switch {
	case e.Delete:
		return "deleted"
	case e.New:
		return "added"
	}
	return "edited"
}

// Sum tells what is made of the file from anything else: its blob, or "deleted".
func (e FileEdit) Sum() string { return cmp.Or(e.Blob, e.Did()) }

// OvertakenError refuses what somebody does to a file without having seen what
// others made of it meanwhile. It is an ErrConflict.
type OvertakenError struct {
	Path string
	Now  *FileEdit // what stands; nil = the edit that was seen was taken back
}

func (e *OvertakenError) Error() string {
	if e.Now == nil {
		return fmt.Sprintf("%v: the edit of %s was taken back meanwhile", ErrConflict, e.Path)
	}
	return fmt.Sprintf("%v: %s %s %s meanwhile", ErrConflict, e.Now.By, e.Now.Did(), e.Path)
}

func (e *OvertakenError) Unwrap() error { return ErrConflict }

// Overtaken is an *OvertakenError when what stands of a file is not what was
// seen: the Sum of its edit, "" = nobody edited it.
func (c Checkpoint) Overtaken(path, seen string) error {
	now, sum := c.EditOf(path), ""
	if now != nil {
		sum = now.Sum()
	}
	if sum == seen {
		return nil
	}
	return &OvertakenError{Path: path, Now: now}
}

// Edited is the commit that holds a checkpoint's edits.
type Edited struct {
	Base   string   `json:"base"` // what was judged: the parent of Commit
	Commit string   `json:"commit"`
	Files  []string `json:"files"`
	Sum    string   `json:"sum"` // see Checkpoint.EditsSum
	// Conflicts are the files in which Commit holds both sides with markers.
	Conflicts []string `json:"conflicts,omitempty"`
}

// EditOf is the edit of a file; nil = nobody edited it.
func (c Checkpoint) EditOf(path string) *FileEdit {
	for i := range c.Edits {
		if c.Edits[i].Path == path {
			return &c.Edits[i]
		}
	}
	return nil
}

// EditFile is c with a file as it is to be. An edit takes the place of an
// earlier one only of who has seen that: seen is its Sum, "" of none. It refuses
// as JudgeFiles does, and with an *OvertakenError. What stands already is kept as
// it is: a form that is sent twice is no second edit.
func (c Checkpoint) EditFile(revision int, seen string, e FileEdit, now time.Time) (Checkpoint, error) {
	if err := c.open(revision, now); err != nil {
		return c, err
	}
	if e.Path == "" || e.Delete != (e.Blob == "") || e.Delete && e.New {
		return c, fmt.Errorf("%w: it is no file", ErrConflict)
	}
	if was := c.EditOf(e.Path); was != nil && was.Sum() == e.Sum() && was.New == e.New && was.Base == e.Base {
		return c, nil
	}
	if err := c.Overtaken(e.Path, seen); err != nil {
		return c, err
	}
	e.At = e.At.UTC()
	c.Edits = slices.DeleteFunc(slices.Clone(c.Edits), func(old FileEdit) bool { return old.Path == e.Path })
	if c.Edits = append(c.Edits, e); len(c.Edits) > MaxFileEdits {
		return c, fmt.Errorf("%w: at most %d files are edited at once", ErrTooLong, MaxFileEdits)
	}
	return c, nil
}

// DropEdit is c without the edit of a file, when it is the one that was seen. It
// refuses as EditFile does. An edit that is gone already is taken back.
func (c Checkpoint) DropEdit(revision int, path, seen string, now time.Time) (Checkpoint, error) {
	if err := c.open(revision, now); err != nil {
		return c, err
	}
	if c.EditOf(path) == nil {
		return c, nil
	}
	if err := c.Overtaken(path, seen); err != nil {
		return c, err
	}
	c.Edits = slices.DeleteFunc(slices.Clone(c.Edits), func(old FileEdit) bool { return old.Path == path })
	return c, nil
}

// EditsSum tells the edits of a checkpoint from others; "" of none. An answer
// is about just the edits that its commit holds.
func (c Checkpoint) EditsSum() string {
	if len(c.Edits) == 0 {
		return ""
	}
	sorted := slices.Clone(c.Edits)
	slices.SortFunc(sorted, func(a, b FileEdit) int { return cmp.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, e := range sorted {
		fmt.Fprintf(h, "%q %s\n", e.Path, e.Sum())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// HoldsEdits says that an answer takes the edits of c along where it has to.
func (c Checkpoint) HoldsEdits(a Answer) error {
	have := ""
	if a.Edited != nil {
		have = a.Edited.Sum
	}
	if a.Status == CheckpointChangesRequested && have != c.EditsSum() {
		return fmt.Errorf("%w: a file was edited meanwhile", ErrConflict)
	}
	return nil
}
