package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/runner"
	"forge/internal/text"
	"forge/internal/work"
)

// mostReport bounds one file that a runner writes; a longer one is cut, and the
// tests behind the cut are not reported.
const mostReport = 64 << 20

// errSetup says that a folder could not be made ready.
var errSetup = errors.New("the folder could not be made ready")

// outOf is the folder for what the runs of dir write, out of the tree.
func outOf(dir string) string { return filepath.Clean(dir) + ".out" }

// tidy removes what a run leaves. What stays is removed by the next one, which
// fails if it cannot.
func (c *control) tidy() {
	c.shell.close()
	_ = filetree.RemoveAll(c.req.Dir)
	_ = filetree.RemoveAll(workOf(c.req.Dir))
	dropHome(homeOf(c.req.Dir))
	_ = filetree.RemoveAll(outOf(c.req.Dir))
}

// trial is one run of one runner.
type trial struct {
	commit  string
	ask     runner.Ask
	what    string            // for people
	overlay map[string][]byte // what stands in place of the commit's content; nil = nothing
	prepare bool              // run the verify commands before
	trusted bool              // the commit and the overlay hold nothing of an agent
	before  func() error      // called when the folder is ready
}

// run runs one trial in a folder of its own.
func (c *control) run(ctx context.Context, t trial) (runner.Report, error) {
	c.say("%s: %s", t.ask.Key(), t.what)
	sh, err := c.ready(ctx, t.commit, t.trusted && c.req.Accepted)
	if err != nil {
		return runner.Report{}, err
	}
	if err := writeOver(c.req.Dir, t.overlay); err != nil {
		return runner.Report{}, err
	}
	out, err := makeOut(c.req.Dir, t.ask.Files)
	if err != nil {
		return runner.Report{}, err
	}
	if t.before != nil {
		if err := t.before(); err != nil {
			return runner.Report{}, err
		}
	}
	if t.prepare {
		if _, err := sh.run(ctx, c.req.Commands); err != nil {
			return runner.Report{}, err
		}
	}
	if err := c.askIn(ctx, sh, t.ask, out); err != nil {
		return runner.Report{}, err
	}
	files, err := readOut(out)
	if err != nil {
		return runner.Report{}, err
	}
	// The first is enough: libraries are what costs.
	if err := c.fill(ctx, sh, "control "+t.ask.Key()); err != nil {
		return runner.Report{}, err
	}
	kind, ok := runner.Lookup(t.ask.Runner)
	if !ok {
		return runner.Report{}, fmt.Errorf("no runner is called %q", t.ask.Runner)
	}
	return kind.Parse(files), nil
}

// ready makes the folder hold commit, set up as for a verify. fills says that
// what is left in caches of tools is to be kept.
func (c *control) ready(ctx context.Context, commit string, fills bool) (*shell, error) {
	c.shell.close()
	c.shell = nil
	if err := c.write(ctx, commit); err != nil {
		return nil, err
	}
	c.written = "" // what runs in it changes it
	sh, rep, err := c.open(ctx, folder{
		dir: c.req.Dir, checkout: c.req.Checkout, env: c.req.Env,
		phase: c.req.Phase, mark: c.req.Mark, out: c.out,
		worktree: c.req.Worktree, sandbox: c.req.Sandbox, hide: c.req.Hide, caches: c.req.Caches, fills: fills,
	})
	c.shell = sh
	if err != nil {
		return nil, err
	}
	if !rep.OK {
		return nil, fmt.Errorf("%w: %s", errSetup, rep.Problem)
	}
	sh.kind, sh.timeout = "control", timeout(c.req.TimeoutSecs)
	sh.fixed, sh.top = c.fixed(ctx, sh.level()).in(c.req.Dir), c.req.Dir
	return sh, nil
}

// fixed is what the runs can only read, as the commands of the verify before.
func (c *control) fixed(ctx context.Context, level proc.Level) fixed {
	return c.fixedOf(ctx, level, work.VerifyRequest{Dir: c.req.Dir, Evidence: c.req.Evidence, Earlier: c.req.Earlier, Base: c.req.Began, MayWrite: c.req.MayWrite})
}

// write makes the folder hold exactly a commit. One in which nothing ran since it
// was written does.
func (c *control) write(ctx context.Context, commit string) error {
	if c.written == commit {
		return nil
	}
	c.written = ""
	if err := filetree.RemoveAll(c.req.Dir); err != nil {
		return err
	}
	if err := c.checkout.Materialize(ctx, c.req.Dir, commit); err != nil {
		return err
	}
	c.written = commit
	return nil
}

// askIn runs the ask's command. How it exits says nothing: the names do.
func (c *control) askIn(ctx context.Context, sh *shell, ask runner.Ask, out string) error {
	one, inside := sh.withOut(out)
	one.dir = filepath.Join(sh.dir, filepath.FromSlash(ask.Dir))
	if info, err := os.Stat(one.dir); err != nil || !info.IsDir() {
		return nil // the folder is gone with its tests, which the names say
	}
	one.watch = nil // said already, in fewer words
	_, _, err := one.runOne(ctx, asked(ask.Command, inside))
	return err
}

// withOut returns a shell whose commands may write to the folder out, and what
// they call it.
func (s *shell) withOut(out string) (shell, string) {
	one := *s
	if s.box == nil {
		return one, out
	}
	box, top := *s.box, filepath.Dir(out)
	if len(box.Places) > 0 {
		box.Places = maps.Clone(box.Places)
		box.Places[insideOut] = top
		out = filepath.Join(insideOut, filepath.Base(out))
	} else {
		box.Write = append(slices.Clone(box.Write), top)
	}
	one.box = &box
	return one, out
}

// asked is the command of an ask that writes to the folder called out.
func asked(command, out string) string { return strings.ReplaceAll(command, "{out}", out) }

// readOut returns the regular files right below dir, and one folder deeper.
func readOut(dir string) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // taken away while it was read: not reported
		}
		if d.IsDir() && strings.Count(p, "/") > 1 {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := root.Open(p)
		if err != nil {
			return nil
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, mostReport))
		if err == nil {
			files[p] = data
		}
		return err
	})
	return files, err
}

// writeOver lays files over the tree at dir. It never writes through a link.
func writeOver(dir string, overlay map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for path, data := range overlay {
		mode := fs.FileMode(0o644)
		if info, err := root.Lstat(path); err == nil {
			mode = info.Mode().Perm()
			if err := root.Remove(path); err != nil {
				return err
			}
		}
		if data == nil {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}

// folderTree is the files of a folder.
type folderTree struct {
	root  string
	paths []string
}

func (t folderTree) Paths() []string { return t.paths }

func (t folderTree) Read(path string) ([]byte, error) {
	root, err := os.OpenRoot(t.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(path)
	if err != nil {
		// Whatever is in the way, there is no file of that name.
		return nil, fs.ErrNotExist
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(path)
		return []byte(target), err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return root.ReadFile(path)
}

// text is the content of a file, "" where there is none that can be read.
func (t folderTree) text(file string) string {
	data, err := t.Read(file)
	if err != nil {
		return ""
	}
	return string(data)
}

// files makes the folder hold a commit, not set up, and lists it.
func (c *control) files(ctx context.Context, commit string) (folderTree, error) {
	if err := c.write(ctx, commit); err != nil {
		return folderTree{}, err
	}
	return listFolder(c.req.Dir)
}

// listFolder lists the files at dir.
func listFolder(dir string) (folderTree, error) {
	t := folderTree{root: dir}
	// By the names that the file system has, which need not be text.
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		t.paths = append(t.paths, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(t.paths)
	return t, err
}

// read returns the content of paths; one that is not there has none.
func (t folderTree) read(paths []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, p := range paths {
		data, err := t.Read(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[p] = data
	}
	return all, nil
}

// word is a name that nobody can know before. It looks like one of a person's.
func word() string {
	const consonants, vowels = "bdfglmnprstvz", "aeiou"
	var b strings.Builder
	for range 6 {
		b.WriteByte(consonants[rand.IntN(len(consonants))])
		b.WriteByte(vowels[rand.IntN(len(vowels))])
	}
	return b.String()
}

// names sorts and bounds a list of an event.
func names(all []string) []string {
	const most, longest = 1000, 300
	slices.Sort(all)
	all = slices.Compact(all)
	for i := range all {
		all[i] = text.Clip(all[i], longest)
	}
	if len(all) > most {
		all = append(all[:most:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return all
}

func places(all []work.Place) []work.Place {
	const most = 1000
	slices.SortFunc(all, func(a, b work.Place) int {
		if d := strings.Compare(a.Path, b.Path); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	return work.CutPlaces(all, most)
}

// toolPrint says which programs a command would run: their size and time by
// where PATH leads.
func toolPrint(environ []string, command string) string {
	var b strings.Builder
	path := variable(environ, "PATH")
	for _, w := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=;&|", r) }) {
		if w == "" || strings.ContainsRune(w, '/') {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			real, err := filepath.EvalSymlinks(filepath.Join(dir, w))
			if err != nil {
				continue
			}
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				fmt.Fprintln(&b, w, real, info.Size(), info.ModTime().UnixNano())
				break
			}
		}
	}
	return b.String()
}
