package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/filetree"
	"forge/internal/work"
)

// brought is what the user's checkout gave to a folder.
type brought struct {
	targets []string // real paths that the links need to be readable
	print   string   // hash of it, for the cache key
}

// Links returns the real paths in checkout that the links of w lead to, which
// a sandbox around an agent has to show read-only. Words of w that cannot be
// followed are an error here; Setup reports them.
func (b *Bench) Links(ctx context.Context, checkout string, w work.Worktree) ([]string, error) {
	if len(w.Link) == 0 {
		return nil, nil
	}
	src, err := b.openSource(ctx, checkout)
	if err != nil {
		return nil, err
	}
	defer src.root.Close()
	found, err := src.find(ctx, "link", w.Link, nil)
	if err != nil {
		return nil, err
	}
	var targets []string
	for _, p := range found {
		targets = append(targets, filepath.Join(src.dir, filepath.FromSlash(p)))
	}
	return targets, nil
}

// bring copies and links into dir what w says. What dir has already stays:
// files of the commit win.
func (b *Bench) bring(ctx context.Context, checkout, dir string, w work.Worktree) (brought, error) {
	var in brought
	if len(w.Copy)+len(w.Link) == 0 {
		return in, nil
	}
	src, err := b.openSource(ctx, checkout)
	if err != nil {
		return in, err
	}
	defer src.root.Close()
	to, err := filetree.OpenCopier(src.dir, dir)
	if err != nil {
		return in, err
	}
	defer func() { _ = to.Close() }() // its files are closed one by one
	copies, err := src.find(ctx, "copy", w.Copy, to.To)
	if err != nil {
		return in, err
	}
	links, err := src.find(ctx, "link", w.Link, to.To)
	if err != nil {
		return in, err
	}
	var all []filetree.Node
	for _, p := range links {
		linked, err := src.link(p)
		if err != nil {
			return in, err
		}
		all = append(all, linked...)
		in.targets = append(in.targets, filepath.Join(src.dir, filepath.FromSlash(p)))
	}
	for _, p := range copies {
		copied, err := filetree.Nodes(src.root, p, nil)
		if err != nil {
			return in, err
		}
		if i := slices.IndexFunc(copied, leadsOut); i >= 0 {
			return in, badSetting("copy: %s is a link to %s, out of the checkout", copied[i].Path, copied[i].Target)
		}
		all = append(all, copied...)
	}
	if err := to.Copy(ctx, all); err != nil {
		return in, err
	}
	for i := range all {
		all[i].Time = time.Time{} // content counts
	}
	text, err := json.Marshal(all)
	if err != nil {
		return in, err
	}
	sum := sha256.Sum256(text)
	in.print = hex.EncodeToString(sum[:])
	return in, nil
}

// link returns the nodes that stand for the ignored path p in a folder. A
// directory becomes a directory of links: a pattern such as "node_modules/" in
// .gitignore covers no link of that name, which would then be part of the work.
func (s *source) link(p string) ([]filetree.Node, error) {
	info, err := s.root.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		n, err := s.linkTo(p, p)
		return []filetree.Node{n}, err
	}
	all := []filetree.Node{{Path: p, Mode: fs.ModeDir | 0o755, Time: info.ModTime()}}
	entries, err := fs.ReadDir(s.root.FS(), p)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		n, err := s.linkTo(path.Join(p, e.Name()), p)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// linkTo returns a link to p, which is, or lies in, the linked path top. A
// link that leads from top to elsewhere in the checkout stays as it is, and so
// leads to the folder's own files.
func (s *source) linkTo(p, top string) (filetree.Node, error) {
	n := filetree.Node{Path: p, Mode: fs.ModeSymlink | 0o777}
	info, err := s.root.Lstat(p)
	if err != nil {
		return n, err
	}
	n.Target = filepath.Join(s.dir, filepath.FromSlash(p))
	if info.Mode()&fs.ModeSymlink == 0 {
		return n, nil
	}
	own := n
	if own.Target, err = s.root.Readlink(p); err != nil {
		return n, err
	}
	if leadsOut(own) {
		return n, badSetting("link: %s is a link to %s, out of the checkout", p, own.Target)
	}
	if !below(path.Join(path.Dir(p), own.Target), top) {
		return own, nil
	}
	return n, nil
}

// leadsOut says whether n is a link out of the tree that holds it.
func leadsOut(n filetree.Node) bool {
	if n.Mode&fs.ModeSymlink == 0 {
		return false
	}
	return path.IsAbs(n.Target) || !filepath.IsLocal(path.Join(path.Dir(n.Path), n.Target))
}
