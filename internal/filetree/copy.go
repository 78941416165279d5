package filetree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
)

// ErrDamaged says that a file is not what its Node says.
var ErrDamaged = errors.New("content differs from its record")

// Copier copies nodes between two trees with mode, time and links as they are.
// What stands in the destination already stays, and nothing is ever written
// through a link there, nor outside of it.
type Copier struct {
	From, To *os.Root
	// Plain keeps mode and time in the nodes only, so that all can be read
	// and removed.
	Plain bool
	// Known says of a file that it is what it was when its sum was made: it is
	// not read for its sum again. nil = no file is.
	Known func(n Node, info fs.FileInfo) bool

	dirs map[string]bool // of To: usable or blocked by something else
	made []string        // in To, parents first
}

// OpenCopier opens both directories; Close ends it.
func OpenCopier(from, to string) (*Copier, error) {
	f, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	t, err := os.OpenRoot(to)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Copier{From: f, To: t}, nil
}

// Close closes both directories.
func (c *Copier) Close() error { return errors.Join(c.From.Close(), c.To.Close()) }

// Copy copies all, which must have parents before children. Sums are checked
// where they are given and filled in where not.
func (c *Copier) Copy(ctx context.Context, all []Node) error {
	c.dirs = map[string]bool{".": true}
	planned := map[string]bool{} // globs may overlap
	var files, dirs []*Node
	for i := range all {
		n := &all[i]
		if !fs.ValidPath(n.Path) {
			return fmt.Errorf("copy %q, which is no path below a folder: %w", n.Path, ErrDamaged)
		}
		if ok, err := c.ensure(path.Dir(n.Path)); err != nil {
			return err
		} else if !ok {
			continue
		}
		switch {
		case n.Mode.IsDir():
			had := c.dirs[n.Path]
			made := len(c.made)
			if _, err := c.ensure(n.Path); err != nil {
				return err
			}
			if !had && len(c.made) > made {
				dirs = append(dirs, n)
			}
		case n.Mode&fs.ModeSymlink != 0:
			if err := c.To.Symlink(n.Target, n.Path); err == nil {
				c.made = append(c.made, n.Path)
			} else if !errors.Is(err, fs.ErrExist) {
				return err
			}
		default:
			if _, err := c.To.Lstat(n.Path); errors.Is(err, fs.ErrNotExist) && !planned[n.Path] {
				planned[n.Path] = true
				files = append(files, n)
				c.made = append(c.made, n.Path)
			}
		}
	}
	if err := c.files(ctx, files); err != nil {
		return err
	}
	// Last, and children before parents: a directory may be read-only, and
	// filling it changes its time.
	for _, n := range slices.Backward(dirs) {
		if err := c.finish(n); err != nil {
			return err
		}
	}
	return nil
}

// ensure makes dir in the destination; false when something else stands there
// or above.
func (c *Copier) ensure(dir string) (bool, error) {
	if ok, known := c.dirs[dir]; known {
		return ok, nil
	}
	ok, err := c.ensure(path.Dir(dir))
	if err != nil {
		return false, err
	}
	if ok {
		err = c.To.Mkdir(dir, 0o700)
		if err == nil {
			c.made = append(c.made, dir)
		} else if errors.Is(err, fs.ErrExist) {
			info, statErr := c.To.Lstat(dir)
			if statErr != nil {
				return false, statErr
			}
			ok = info.IsDir()
		} else {
			return false, err
		}
	}
	c.dirs[dir] = ok
	return ok, nil
}

func (c *Copier) files(ctx context.Context, files []*Node) error {
	next := make(chan *Node)
	errs := make([]error, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range errs {
		wg.Go(func() {
			for n := range next {
				if errs[i] == nil {
					errs[i] = c.file(n)
				}
				if errs[i] != nil {
					stop()
				}
			}
		})
	}
	for _, n := range files {
		if ctx.Err() != nil {
			break
		}
		next <- n
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *Copier) file(n *Node) (err error) {
	in, err := c.From.Open(n.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.To.OpenFile(n.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			err = c.finish(n)
		}
	}()
	// File to file, so that a file system that can shares the blocks; the
	// source is in memory when it is read again for its sum.
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if c.known(n, in) {
		return nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, in)
	if err != nil {
		return err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if n.Sum != "" && (n.Sum != got || n.Size != size) {
		return fmt.Errorf("copy %s: %w", n.Path, ErrDamaged)
	}
	n.Sum, n.Size = got, size
	return nil
}

// known says that the file, which was read to its end, needs no sum.
func (c *Copier) known(n *Node, in *os.File) bool {
	if c.Known == nil || n.Sum == "" {
		return false
	}
	info, err := in.Stat()
	return err == nil && c.Known(*n, info)
}

func (c *Copier) finish(n *Node) error {
	if c.Plain {
		return nil
	}
	if err := c.To.Chtimes(n.Path, n.Time, n.Time); err != nil {
		return err
	}
	return c.To.Chmod(n.Path, n.Mode.Perm())
}

// Undo removes what Copy made.
func (c *Copier) Undo() error {
	var errs []error
	for _, p := range slices.Backward(c.made) {
		if info, err := c.To.Lstat(p); err == nil && info.IsDir() {
			_ = c.To.Chmod(p, 0o700) // a removal below it fails otherwise, and says so
		}
	}
	for _, p := range slices.Backward(c.made) {
		if err := c.To.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// CopyAll copies the content of one folder into another.
func CopyAll(ctx context.Context, from, to string) error {
	cp, err := OpenCopier(from, to)
	if err != nil {
		return err
	}
	all, err := Nodes(cp.From, ".", nil)
	if err == nil {
		err = cp.Copy(ctx, all)
	}
	return errors.Join(err, cp.Close())
}
