// Package filetree lists trees of files, copies them with mode, time and links
// as they are, and removes them whatever rights they took from their owner.
package filetree

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Node is one path of a tree: a directory, a file or a symbolic link. Other
// kinds (sockets, pipes) are not kept.
type Node struct {
	Path   string      `json:"path"` // below the tree's root, with slashes
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size,omitempty"`
	Time   time.Time   `json:"time"`
	Target string      `json:"target,omitempty"` // of a link, as it stands
	Sum    string      `json:"sum,omitempty"`    // sha256 of a file's content
}

// List returns the paths below dir, without its .git. A dir that is not there
// has none.
func List(dir string) (map[string]bool, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	paths := map[string]bool{}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == ".git":
			return Skip(d)
		case p != ".":
			paths[p] = true
		}
		return nil
	})
	return paths, err
}

// Nodes returns what stands at p and below it in root, parents first, except
// what leave says; leave may be nil.
func Nodes(root *os.Root, p string, leave func(string) bool) ([]Node, error) {
	var all []Node
	err := Walk(root, p, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == ".git" {
			return Skip(d)
		}
		if p == "." || leave != nil && leave(p) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n, ok, err := NodeOf(root, p, info)
		if ok {
			all = append(all, n)
		}
		return err
	})
	return all, err
}

// NodeOf returns what stands at p; false where it is of a kind that is not kept.
func NodeOf(root *os.Root, p string, info fs.FileInfo) (n Node, ok bool, err error) {
	n = Node{Path: p, Mode: info.Mode(), Time: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		n.Size = info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		n.Target, err = root.Readlink(p)
	case !info.IsDir():
		return n, false, nil
	}
	return n, err == nil, err
}

// Walk is fs.WalkDir that does not follow a link at p either.
func Walk(root *os.Root, p string, do fs.WalkDirFunc) error {
	info, err := root.Lstat(p)
	if err == nil && info.IsDir() {
		return fs.WalkDir(root.FS(), p, do)
	}
	if err == nil {
		err = do(p, fs.FileInfoToDirEntry(info), nil)
	} else {
		err = do(p, nil, err)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// Skip keeps a walk out of a directory; a file is passed over.
func Skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
