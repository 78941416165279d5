package warm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/filetree"
)

// ahead is how far in the future the files of go's build cache are dated. Go
// dates what it uses anew once an hour, for which an overlay copies the file.
const ahead = 10 * 365 * 24 * time.Hour

// expireName is the file in which go keeps the time before which results of tests
// do not count: what "go clean -testcache" writes.
const expireName = "testexpire.txt"

// Left is what commands left in one area.
type Left struct {
	Area string
	// Dirs hold it, what was written last first. Below all of them lies what
	// was lent.
	Dirs []string
}

// Keep makes the next layer of key: what commands on accepted work left in
// places, over what they were lent. mark says where it is from; a layer is not
// made when the lent one was filled from there already, or when nothing is new.
// loan may be nil. That another process made the next layer meanwhile is no
// error.
func (s *Store) Keep(ctx context.Context, key string, loan *Loan, mark string, places []Place, left []Left) error {
	if loan.Filled(mark) {
		return nil
	}
	if err := s.keep(ctx, key, loan, mark, places, left); err != nil {
		return fmt.Errorf("keep a warm cache: %w", err)
	}
	return nil
}

func (s *Store) keep(ctx context.Context, key string, loan *Loan, mark string, places []Place, left []Left) (err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(s.dir, partialPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, filetree.RemoveAll(partial)) }() // not there any more when it took its name
	next := &layer{dir: partial, loan: loan, now: s.now(), files: map[string][]filetree.Node{}}
	if loan != nil {
		next.about = loan.about
		if next.was, err = loan.files(); err != nil {
			return err
		}
	} else {
		next.about.Born = s.now()
	}
	for _, l := range left {
		if err := next.gather(ctx, l, places); err != nil {
			return err
		}
	}
	if next.fresh == 0 || loan == nil && next.bytes > s.bytes {
		return nil
	}
	next.about.Version, next.about.Bytes, next.about.Filled = layerVersion, next.bytes, append(slices.Clone(next.about.Filled), mark)
	if err := next.write(); err != nil {
		return err
	}
	_, number, err := s.newest(key)
	if err != nil {
		return err
	}
	if err := os.Rename(partial, filepath.Join(s.dir, nameOf(key, number+1))); err != nil {
		return nil // another was first: its layer is as good
	}
	return s.Prune(0, false, nil)
}

// layer is one that is being made.
type layer struct {
	dir   string
	loan  *Loan
	now   time.Time
	was   map[string][]filetree.Node // of the loan
	about about
	files map[string][]filetree.Node
	bytes int64
	fresh int // files that the loan has not
}

// gather puts what was left in one area, and lent of it, into the layer.
func (n *layer) gather(ctx context.Context, left Left, places []Place) error {
	roots, err := openRoots(left.Dirs)
	if err != nil {
		return err
	}
	defer closeRoots(roots)
	to := filepath.Join(n.dir, left.Area)
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	mine := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.Area != left.Area })
	m := newMerge()
	var all []filetree.Node
	for i, root := range roots {
		found, err := m.read(root, mine)
		if err == nil {
			err = n.take(ctx, left.Area, left.Dirs[i], to, found)
		}
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	lent := slices.DeleteFunc(slices.Clone(n.was[left.Area]), func(f filetree.Node) bool {
		return m.hidden(f.Path) || path.Base(f.Path) == expireName && inGoBuild(f.Path, mine)
	})
	if err := n.link(left.Area, to, lent); err != nil {
		return err
	}
	all = append(all, lent...)
	slices.SortFunc(all, func(a, b filetree.Node) int { return cmp.Compare(a.Path, b.Path) })
	if err := finish(to, all); err != nil {
		return err
	}
	for _, f := range all {
		n.bytes += f.Size
	}
	n.files[left.Area] = all
	return n.expire(left.Area, to, mine)
}

// take copies what one of the folders holds. What the loan has as well is linked:
// files of layers never change.
func (n *layer) take(ctx context.Context, area, from, to string, found []filetree.Node) error {
	lent := map[string]filetree.Node{}
	for _, f := range n.was[area] {
		lent[f.Path] = f
	}
	var linked, copied []filetree.Node
	for k := range found {
		f := &found[k]
		if was, ok := lent[f.Path]; ok && sameNode(was, *f) {
			f.Sum = was.Sum
			linked = append(linked, *f)
			continue
		}
		if f.Mode.IsRegular() {
			n.fresh++
		}
		copied = append(copied, *f)
	}
	if err := n.link(area, to, linked); err != nil {
		return err
	}
	c, err := filetree.OpenCopier(from, to)
	if err != nil {
		return err
	}
	c.Plain = true // rights and times come last, when all is there
	if err := errors.Join(c.Copy(ctx, copied), c.Close()); err != nil {
		return err
	}
	sums := map[string]filetree.Node{}
	for _, f := range copied {
		sums[f.Path] = f
	}
	for k := range found {
		if f, ok := sums[found[k].Path]; ok {
			found[k].Sum, found[k].Size = f.Sum, f.Size
		}
	}
	return nil
}

func sameNode(a, b filetree.Node) bool {
	return a.Mode == b.Mode && a.Size == b.Size && a.Target == b.Target && a.Time.Equal(b.Time)
}

// link puts files of the loan into the layer.
func (n *layer) link(area, to string, all []filetree.Node) error {
	for _, f := range all {
		at := filepath.Join(to, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		var err error
		switch {
		case f.Mode.IsDir():
			err = os.MkdirAll(at, 0o700)
		case f.Mode&fs.ModeSymlink != 0:
			err = os.Symlink(f.Target, at)
		default:
			err = os.Link(filepath.Join(n.loan.dir, area, filepath.FromSlash(f.Path)), at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish gives files and folders their rights and times, children first.
func finish(dir string, all []filetree.Node) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range slices.Backward(all) {
		if f.Mode&fs.ModeSymlink != 0 {
			continue
		}
		// Links to files of an older layer have theirs already.
		if info, err := root.Lstat(f.Path); err == nil && info.Mode() == f.Mode && info.ModTime().Equal(f.Time) {
			continue
		}
		if err := errors.Join(root.Chtimes(f.Path, f.Time, f.Time), root.Chmod(f.Path, f.Mode.Perm())); err != nil {
			return err
		}
	}
	return nil
}

// expire makes go take no result of a test for its own: what a test reads is not
// all known to go, so the same result in another tree proves nothing.
func (n *layer) expire(area, to string, places []Place) error {
	for _, p := range places {
		dir := filepath.Join(to, filepath.FromSlash(p.Dir))
		if info, err := os.Lstat(dir); p.kind != goBuild || err != nil || !info.IsDir() {
			continue
		}
		for k := range n.files[area] {
			f := &n.files[area][k]
			if !f.Mode.IsRegular() || !strings.HasPrefix(f.Path, p.Dir+"/") || f.Time.After(n.now.Add(ahead/2)) {
				continue
			}
			f.Time = n.now.Add(ahead)
			if err := os.Chtimes(filepath.Join(to, filepath.FromSlash(f.Path)), f.Time, f.Time); err != nil {
				return err
			}
		}
		text := strconv.FormatInt(n.now.UnixNano(), 10) + "\n"
		if err := os.WriteFile(filepath.Join(dir, expireName), []byte(text), 0o600); err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(text))
		n.files[area] = append(n.files[area], filetree.Node{
			Path: path.Join(p.Dir, expireName), Mode: 0o600, Time: n.now, Size: int64(len(text)), Sum: hex.EncodeToString(sum[:]),
		})
	}
	return nil
}

func inGoBuild(at string, places []Place) bool {
	return slices.ContainsFunc(places, func(p Place) bool { return p.kind == goBuild && path.Dir(at) == p.Dir })
}

// write writes what the layer says of itself, and all of it to the disk.
func (n *layer) write() error {
	for name, value := range map[string]any{aboutName: n.about, filesName: n.files} {
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(n.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return syncAll(n.dir)
}

func openRoots(dirs []string) (roots []*os.Root, err error) {
	for _, dir := range dirs {
		r, err := os.OpenRoot(dir)
		if err != nil {
			closeRoots(roots)
			return nil, err
		}
		roots = append(roots, r)
	}
	return roots, nil
}

func closeRoots(roots []*os.Root) {
	for _, r := range roots {
		_ = r.Close() // only read from
	}
}
