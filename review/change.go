package review

import "strings"

// Change is what a phase did, file by file, in the order of git's list. Its
// hunks point into the text that it was read from.
type Change struct{ Files []File }

// Status says what became of a file.
type Status byte

// The letters are git's own.
const (
	Added    Status = 'A'
	Copied   Status = 'C'
	Deleted  Status = 'D'
	Modified Status = 'M'
	Renamed  Status = 'R'
	Retyped  Status = 'T' // a file became a link, or the like
)

// File is one file of a change. Names are bytes as git has them.
type File struct {
	Path    string // of the new side; of a deleted file, the old one
	OldPath string // of a renamed or copied file, else ""
	Status  Status
	OldMode string // six octal digits, zeros where there is no file
	NewMode string
	Binary  bool // git shows no lines of it
	Cut     bool // the text ended before all of its lines were there
	Hunks   []Hunk
}

// Hunk is a run of lines that changed, with those around it.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	// Body holds the lines as git printed them: each with its mark and its
	// line end.
	Body []byte
}

// Only is c with the files alone whose new or old path is among paths.
func (c Change) Only(paths []string) Change {
	among := make(map[string]bool, len(paths))
	for _, p := range paths {
		among[p] = true
	}
	var out Change
	for _, f := range c.Files {
		if among[f.Path] || f.OldPath != "" && among[f.OldPath] {
			out.Files = append(out.Files, f)
		}
	}
	return out
}

// oldSide says that lines are those of the old file, since the change leaves
// none in the new one: it was deleted or emptied.
func (f *File) oldSide() bool {
	for _, h := range f.Hunks {
		if h.NewLines > 0 {
			return false
		}
	}
	return len(f.Hunks) > 0
}

// lines are the first and last line of h that a finding may name; last is 0
// when there is none.
func (h *Hunk) lines(old bool) (first, last int) {
	if old {
		return h.OldStart, h.OldStart + h.OldLines - 1
	}
	return h.NewStart, h.NewStart + h.NewLines - 1
}

// place says whether a finding may point at line, and the last line up to
// which it may reach from there. Only lines inside hunks count: those that
// were added and those beside them, of the new file; of a file that is gone or
// empty now, the old one's. A file without hunks (renamed, another mode,
// empty) has line 1, which stands for the file.
func (f *File) place(line int) (end int, ok bool) {
	if len(f.Hunks) == 0 {
		return 1, line == 1
	}
	old := f.oldSide()
	for i := range f.Hunks {
		if first, last := f.Hunks[i].lines(old); line >= first && line <= last {
			return last, true
		}
	}
	return 0, false
}

// find returns the file that a reviewer means by name: as it was shown, bare,
// or as a patch writes it.
func (c Change) find(name string) *File {
	for _, try := range []string{name, strings.TrimPrefix(name, "./"), strings.TrimPrefix(name, "b/"), strings.TrimPrefix(name, "a/")} {
		for i := range c.Files {
			if f := &c.Files[i]; f.Path == try || strings.HasPrefix(try, `"`) && Name(f.Path) == try {
				return f
			}
		}
	}
	return nil
}
