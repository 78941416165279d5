package installed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forge/internal/proof"
)

// Sums are the sums of what tests are run with, by what it is called for people:
// the name of a package, or the path of a file.
type Sums map[string]Sum

// Sum is of all packages of one name.
type Sum struct {
	Of []string `json:"of"` // of each that is installed, sorted
	// Tests says that one of them at least is there for tests alone.
	Tests bool `json:"tests,omitempty"`
}

// Changed are those of the trusted sums that are there for tests alone and not the
// same in now, and what starts by itself and is new there, in words.
func (trusted Sums) Changed(now Sums) []string {
	var out []string
	for name, was := range trusted {
		switch is, ok := now[name]; {
		case !was.Tests:
		case !ok:
			out = append(out, name+" is not installed")
		case !slices.Equal(is.Of, was.Of):
			out = append(out, name+" is installed as something else")
		}
	}
	for name := range now {
		if _, ok := trusted[name]; !ok && startsByItself(name) {
			out = append(out, name+" is new, and starts by itself")
		}
	}
	slices.Sort(out)
	return out
}

// Find sums up what lies in trees, such as the folder of a commit after its
// setup and its home. Manifests are those of the commit, by path. Where nothing
// is found, Sums is empty.
func Find(trees []fs.FS, manifests map[string][]byte) (Sums, error) {
	sums := Sums{}
	for i, tree := range trees {
		f := finder{tree: tree, sums: sums}
		if i > 0 {
			f.label = fmt.Sprintf("home %d: ", i)
		}
		if err := f.all(manifests); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// finder sums up one tree.
type finder struct {
	tree  fs.FS
	label string // in front of names
	sums  Sums
}

func (f *finder) all(manifests map[string][]byte) error {
	node, other := map[string]proof.Wanted{}, proof.Wanted{}
	for file, content := range manifests {
		w, ok := proof.WantedBy(file, content)
		switch {
		case !ok:
		case path.Base(file) == "package.json":
			node[path.Dir(file)] = w
		default:
			other.Tests = append(other.Tests, w.Tests...)
			other.Product = append(other.Product, w.Product...)
		}
	}
	if err := f.node(node); err != nil {
		return err
	}
	return f.libraries(other)
}

// most bounds how deep below a tree libraries are looked for: deeper ones belong
// to what is installed already.
const most = 8

// libraries sums up the packages in each folder of libraries that setup made for
// Python, PHP or Ruby.
func (f *finder) libraries(w proof.Wanted) error {
	return fs.WalkDir(f.tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".cache" || strings.Count(p, "/") > most:
			return fs.SkipDir
		case d.Name() == "site-packages":
			if err := f.python(p, w); err != nil {
				return err
			}
			return fs.SkipDir
		case d.Name() == "gems":
			return f.ruby(p)
		case d.Name() == "composer" && path.Base(path.Dir(p)) == "vendor":
			return f.composer(path.Dir(p))
		}
		return nil
	})
}

// put notes the sum of what lies at paths below dir, each a file or a folder; a
// package within another is one by itself.
func (f *finder) put(name string, tests bool, dir string, paths ...string) error {
	sum := sha256.New()
	for _, p := range paths {
		top := path.Join(dir, p)
		// A walk would follow a link that it begins with.
		if info, err := fs.Lstat(f.tree, top); err == nil && !info.IsDir() {
			if err := f.file(sum, top, p, fs.FileInfoToDirEntry(info)); err != nil {
				return fmt.Errorf("sum up %s: %w", name, err)
			}
			continue
		}
		err := fs.WalkDir(f.tree, top, func(at string, d fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(strings.TrimPrefix(at, dir), "/")
			switch {
			case errors.Is(err, fs.ErrNotExist):
				_, err = fmt.Fprintf(sum, "%q is gone\n", rel)
				return err
			case err != nil:
				return err
			case d.IsDir():
				if d.Name() == "__pycache__" || d.Name() == "node_modules" {
					return fs.SkipDir
				}
				return nil
			}
			return f.file(sum, at, rel, d)
		})
		if err != nil {
			return fmt.Errorf("sum up %s: %w", name, err)
		}
	}
	one := f.sums[f.label+name]
	one.Tests = one.Tests || tests
	one.Of = append(one.Of, hex.EncodeToString(sum.Sum(nil)))
	slices.Sort(one.Of)
	one.Of = slices.Compact(one.Of)
	f.sums[f.label+name] = one
	return nil
}

func (f *finder) file(sum io.Writer, p, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(sum, "%q %s %d\n", rel, info.Mode().String(), size(info)); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(f.tree, p)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%q\n", target)
		return err
	case !info.Mode().IsRegular() || volatile(path.Base(p)):
		return nil
	}
	from, err := f.tree.Open(p)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it is only read
	_, err = io.Copy(sum, from)
	return err
}

func size(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() && !volatile(info.Name()) {
		return info.Size()
	}
	return 0
}

// volatile are records of an installer that differ from one time to the next.
func volatile(base string) bool {
	switch base {
	case "RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", ".package-lock.json":
		return true
	}
	return false
}

// startsByItself says that an interpreter runs a file without being asked to.
func startsByItself(name string) bool {
	base := path.Base(name)
	return path.Ext(base) == ".pth" || base == "sitecustomize.py" || base == "usercustomize.py"
}
