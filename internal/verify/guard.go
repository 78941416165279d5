package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/filetree"
)

// guard holds a tree that is being judged against what it was: a command that
// changes a tracked file changes what the next one judges.
type guard struct {
	bench  *Bench
	dir    string
	commit string
	may    []pattern // tracked files that commands may change
	files  map[string]stamp
	had    map[string]stamp  // what setup brought, before the first command
	tools  map[string]string // of that, links and programs of packages, by where they lead or what they hold
	below  *laid             // what setup brought that lies below the folder; nil = nothing
	// watched is evidence that could be written to, as it is before the first
	// command: one that is written to and put back may have judged in between.
	watched map[string]stamp
}

// stamp is what tells an untouched file without reading it. Nobody but the
// kernel sets the time of the last change of a file's record.
type stamp struct {
	Mode    fs.FileMode `json:"mode"`
	Size    int64       `json:"size"`
	Changed int64       `json:"changed"` // nanoseconds; 0 where the system does not tell
	Inode   uint64      `json:"inode"`
}

// newGuard notes every file of dir, which holds exactly those of commit.
func (b *Bench) newGuard(dir, commit string, mayWrite []string) (*guard, error) {
	may, err := compile("may_write", mayWrite)
	if err != nil {
		return nil, err
	}
	g := &guard{bench: b, dir: dir, commit: commit, may: may, files: map[string]stamp{}}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		g.files[filepath.ToSlash(rel)] = stampOf(info)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("note the files of %s: %w", commit, err)
	}
	return g, nil
}

// settled notes what setup brought, once it is over. below may be nil.
func (g *guard) settled(below *laid) error {
	g.had, g.tools, g.below = map[string]stamp{}, map[string]string{}, below
	return g.walk(func(rel string, d fs.DirEntry) error {
		info, err := d.Info()
		if err != nil {
			return err
		}
		g.had[rel] = stampOf(info)
		if isTool(rel, info.Mode()) {
			g.tools[rel], err = toolAt(filepath.Join(g.dir, filepath.FromSlash(rel)))
		}
		return err
	})
}

// watch notes evidence that commands could write to and may not.
func (g *guard) watch(paths []string) error {
	g.watched = map[string]stamp{}
	for _, path := range paths {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		case err != nil:
			return err
		default:
			g.watched[path] = stampOf(info)
		}
	}
	return nil
}

// putBack is the watched evidence whose record was changed since, though its
// content is what it was: nobody but the kernel sets the time of that.
func (g *guard) putBack() ([]string, error) {
	var out []string
	for path, was := range g.watched {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		if stampOf(info) != was {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// walk visits everything in the folder that is not tracked.
func (g *guard) walk(visit func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == g.dir {
			return err
		}
		rel, err := filepath.Rel(g.dir, path)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); g.files[rel] != (stamp{}) {
			return nil
		}
		return visit(rel, d)
	})
}

// check says which tracked files are not what the commit holds; "" when all
// are. An error means that nobody knows.
func (g *guard) check(ctx context.Context) (string, error) {
	var suspects []string
	for path, was := range g.files {
		if g.allowed(path) {
			continue
		}
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		if err == nil && was.Changed != 0 && stampOf(info) == was {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) {
			return "", err
		}
		suspects = append(suspects, path)
	}
	changed, err := g.rewritten()
	if err != nil {
		return "", err
	}
	if len(suspects) > 0 {
		slices.Sort(suspects)
		tracked, err := g.compare(ctx, suspects)
		if err != nil {
			return "", err
		}
		changed = append(tracked, changed...)
	}
	if len(changed) > 0 {
		return "the commands changed what they judge: " + firstOf(changed), nil
	}
	if changed, err = g.putBack(); err != nil || len(changed) == 0 {
		return "", err
	}
	return "the commands wrote to what they judge by, and put it back: " + firstOf(changed) + " (verify.may_write names what they may write)", nil
}

// firstOf names the first few of many files.
func firstOf(all []string) string {
	more := ""
	if n := len(all) - 5; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(all[:min(len(all), 5)], ", ") + more
}

// rewritten are sources that setup brought, such as those of installed
// packages, their programs and links, that are not what they were: the next
// command would load them.
func (g *guard) rewritten() ([]string, error) {
	var out []string
	for path, was := range g.had {
		_, tool := g.tools[path]
		source := was.Mode.IsRegular() && interpreted(path)
		if !tool && !source && !was.Mode.IsDir() || g.allowed(path) {
			continue
		}
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
			// A tool that is gone makes the next command fail.
		case err != nil:
			return nil, err
		case was.Mode.IsDir():
			if info.Mode()&fs.ModeSymlink != 0 {
				out = append(out, path) // all that stood in it is taken from elsewhere
			}
		case stampOf(info) == was:
		case tool:
			// One that a package manager wrote again leads where it did.
			now, err := toolAt(filepath.Join(g.dir, filepath.FromSlash(path)))
			if err != nil {
				return nil, err
			}
			if now != g.tools[path] {
				out = append(out, path)
			}
		default:
			out = append(out, path)
		}
	}
	covered, err := g.covered()
	out = append(out, covered...)
	slices.Sort(out)
	return out, err
}

// covered are sources below the folder in whose place stands something else:
// the folder holds what a command changed of them, and no more.
func (g *guard) covered() ([]string, error) {
	if g.below == nil {
		return nil, nil
	}
	var out []string
	err := g.walk(func(rel string, d fs.DirEntry) error {
		was, lies := g.below.files[rel]
		source := was.Mode.IsRegular() && interpreted(rel) || isTool(rel, was.Mode) || was.Mode.IsDir() && d.Type()&fs.ModeSymlink != 0
		if _, had := g.had[rel]; had || !lies || !source || g.allowed(rel) {
			return nil
		}
		if d.Type()&fs.ModeCharDevice != 0 {
			return nil // taken away: a tool that is gone makes the next command fail
		}
		at := filepath.FromSlash(rel)
		// One that was opened to be written and was not is here as it is below.
		same, err := sameFile(filepath.Join(g.dir, at), filepath.Join(g.below.folder, at))
		if err == nil && !same {
			out = append(out, rel)
		}
		return err
	})
	return out, err
}

// isTool says of something that setup brought that it is a link, which may lead
// to a program or a package, or a program of packages without an ending.
func isTool(path string, mode fs.FileMode) bool {
	return mode&fs.ModeSymlink != 0 || mode.IsRegular() && mode&0o111 != 0 && ofPackages(path)
}

// ofPackages says that a file stands where packages put their programs.
func ofPackages(file string) bool {
	dir := path.Dir(file)
	switch path.Base(dir) {
	case ".bin":
		return true
	case "bin":
		return slices.Contains([]string{"node_modules", "vendor", ".venv", "venv", "env"}, path.Base(path.Dir(dir)))
	}
	return false
}

// toolAt is where a link leads, or what a program holds.
func toolAt(file string) (string, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(file)
		return "-> " + to, err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}
	data, err := os.ReadFile(file)
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%v %x", info.Mode(), sum), err
}

// compare reads the commit's files once more, beside the folder, and returns
// which of paths differ from them.
func (g *guard) compare(ctx context.Context, paths []string) ([]string, error) {
	beside := filepath.Clean(g.dir) + ".asked"
	defer func() { _ = filetree.RemoveAll(beside) }() // the next call removes it, or fails
	if err := filetree.RemoveAll(beside); err != nil {
		return nil, err
	}
	if err := g.bench.checkout.Materialize(ctx, beside, g.commit); err != nil {
		return nil, err
	}
	var changed []string
	for _, path := range paths {
		same, err := sameFile(filepath.Join(g.dir, filepath.FromSlash(path)), filepath.Join(beside, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		if !same {
			changed = append(changed, path)
		}
	}
	return changed, nil
}

// takeOut removes what a command left behind that another could load as part
// of its judgement: tests, settings, start-up files, byte code. What it built
// stays.
func (g *guard) takeOut() ([]string, error) {
	var out []string
	err := g.walk(func(rel string, d fs.DirEntry) error {
		if g.brought(rel) || g.allowed(rel) || !loadable(rel, d.IsDir()) {
			return nil
		}
		out = append(out, rel)
		if err := filetree.RemoveAll(filepath.Join(g.dir, filepath.FromSlash(rel))); err != nil {
			return err
		}
		return filetree.Skip(d)
	})
	return out, err
}

// untouched says that the folder holds what it held before the first command and
// nothing else: what the next one says, it says of that.
func (g *guard) untouched() (bool, error) {
	same, seen := true, 0
	err := g.walk(func(rel string, d fs.DirEntry) error {
		was, had := g.had[rel]
		if !had {
			same = false
			return fs.SkipAll
		}
		seen++
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err == nil && stampOf(info) != was {
			same = false
		}
		return err
	})
	return same && seen == len(g.had), err
}

// brought says that setup left something at path.
func (g *guard) brought(path string) bool {
	if _, had := g.had[path]; had || g.below == nil {
		return had
	}
	_, lies := g.below.files[path]
	return lies
}

// allowed says that commands may write path.
func (g *guard) allowed(path string) bool {
	return slices.ContainsFunc(g.may, func(p pattern) bool { return p.covers(path) })
}

func sameFile(a, b string) (bool, error) {
	one, err := os.Lstat(a)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	other, err := os.Lstat(b)
	if err != nil {
		return false, err
	}
	if one.Mode() != other.Mode() {
		return false, nil
	}
	if one.Mode()&fs.ModeSymlink != 0 {
		x, err := os.Readlink(a)
		if err != nil {
			return false, err
		}
		y, err := os.Readlink(b)
		return x == y, err
	}
	if !one.Mode().IsRegular() || one.Size() != other.Size() {
		return false, nil
	}
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return string(x) == string(y), err
}
