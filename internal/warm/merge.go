package warm

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"forge/internal/filetree"
)

// merge reads folders that lie over each other, the first on top.
type merge struct {
	present map[string]bool // what a folder above holds
	ends    map[string]bool // of present or taken away: nothing below it is seen
	closed  map[string]bool // folders of which nothing of those below is seen
}

func newMerge() *merge {
	return &merge{present: map[string]bool{}, ends: map[string]bool{}, closed: map[string]bool{}}
}

// hidden says that a folder above what is asked about hides path.
func (m *merge) hidden(at string) bool {
	if m.present[at] {
		return true
	}
	for a := at; a != "."; a = path.Dir(a) {
		if m.ends[a] || a != at && m.closed[a] {
			return true
		}
	}
	return false
}

// read returns what root has of places and nothing above hides, parents first.
func (m *merge) read(root *os.Root, places []Place) ([]filetree.Node, error) {
	var all []filetree.Node
	var gone, closed []string
	seen := map[string]bool{} // places may lie in one another
	for _, p := range places {
		if real, err := isReal(root, p.Dir); err != nil {
			return nil, err
		} else if !real {
			continue
		}
		err := filetree.Walk(root, p.Dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch left, err := p.leaves(root, at, d.IsDir()); {
			case err != nil:
				return err
			case left:
				return filetree.Skip(d)
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if whiteout(info) {
				gone = append(gone, at)
				return nil
			}
			if seen[at] || m.hidden(at) && !d.IsDir() {
				return nil
			}
			if d.IsDir() {
				shut, err := opaque(root, at)
				if err != nil {
					return err
				}
				if shut {
					closed = append(closed, at)
				}
			}
			if m.hidden(at) {
				return nil // a folder that is there already; what is in it may be new
			}
			seen[at] = true
			n, ok, err := filetree.NodeOf(root, at, info)
			if ok {
				all = append(all, n)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, n := range all {
		m.present[n.Path] = true
		m.ends[n.Path] = !n.Mode.IsDir()
	}
	for _, at := range gone {
		m.ends[at] = true
	}
	for _, at := range closed {
		m.closed[at] = true
	}
	return all, nil
}

// isReal says that dir is a folder and no part of its path a link: what the owner
// shares by [sandbox] stands behind links, and is his own.
func isReal(root *os.Root, dir string) (bool, error) {
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil || !info.IsDir() {
			return false, err
		}
	}
	return true, nil
}
