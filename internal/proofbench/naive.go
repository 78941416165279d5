package proofbench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Naive is what a gate says that asks only whether the tests are green.
type Naive struct {
	Green  bool
	Wrong  bool // what the oracle says of the tree at the end
	Output string
	Verify time.Duration // the last one that was green
}

// Naive plays a case in a repository without Forge: each change is committed,
// and the verify commands run in a fresh clone. After the first red one nothing
// more is judged; the tree at the end is shown to the oracle all the same.
func (m *Machine) Naive(ctx context.Context, c *Case) (Naive, error) {
	w, err := m.newWorld(ctx, c)
	if w != nil {
		defer w.remove()
	}
	if err != nil {
		return Naive{}, err
	}

	n := Naive{Green: true}
	check := func() error {
		if !n.Green {
			return nil
		}
		began := time.Now()
		n.Green, n.Output, err = w.green(ctx, "HEAD", nil)
		n.Verify = time.Since(began)
		return err
	}
	for i, phases := range w.steps {
		parallel := len(phases) > 1 && len(phases[1].Needs) == 0
		start, err := w.rev(ctx, "HEAD")
		if err != nil {
			return n, err
		}
		for _, p := range phases {
			if parallel {
				err = w.beside(ctx, start, p)
			} else {
				err = w.commit(ctx, p.do, p.sub, p.then)
			}
			if err != nil {
				return n, err
			}
			if w.c.Steps[i].Kind == "person" {
				continue
			}
			if err := check(); err != nil {
				return n, err
			}
		}
	}
	n.Wrong, err = w.wrong(ctx, "HEAD")
	return n, err
}

// remove drops the world's folder. Some caches are read-only on purpose.
func (w *world) remove() {
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o755) // removing tells what is wrong
		}
		return nil
	})
	_ = os.RemoveAll(w.dir) // below a folder that is removed at the end
}

// commit makes one commit of edits.
func (w *world) commit(ctx context.Context, parts ...[]action) error {
	for _, actions := range parts {
		for _, a := range actions {
			if err := w.do(ctx, w.repo, a); err != nil {
				return err
			}
		}
	}
	return w.git(ctx, w.repo, "add -A", "commit -q --allow-empty -m change")
}

// beside makes the commit on a branch of its own and merges it.
func (w *world) beside(ctx context.Context, start string, p played) error {
	if err := w.git(ctx, w.repo, "checkout -q -b side-"+p.Number+" "+start); err != nil {
		return err
	}
	if err := w.commit(ctx, p.do, p.sub, p.then); err != nil {
		return err
	}
	if err := w.git(ctx, w.repo, "checkout -q main"); err != nil {
		return err
	}
	if len(p.resolve) == 0 {
		return w.git(ctx, w.repo, "merge -q --no-edit side-"+p.Number)
	}
	if _, _, err := run(ctx, w.repo, w.env, "git", "merge", "-q", "--no-edit", "side-"+p.Number); err != nil {
		return err
	}
	return w.commit(ctx, p.resolve)
}

// do plays one action in a folder.
func (w *world) do(ctx context.Context, dir string, a action) error {
	path := filepath.Join(dir, a.path)
	switch a.verb {
	case "write":
		_ = os.Remove(path) // a link is replaced, not followed
		return place(path, a.text)
	case "rm":
		return os.RemoveAll(path)
	}
	out, code, err := w.sh(ctx, dir, a.text)
	if err != nil || code != 0 {
		return fmt.Errorf("%s: exit %d: %s %w", a.text, code, out, err)
	}
	return nil
}

// clone is a fresh folder with the files of a commit and the npm packages.
func (w *world) clone(ctx context.Context, commit string) (string, error) {
	dir, err := os.MkdirTemp(w.dir, "clone-")
	if err != nil {
		return "", err
	}
	if err := w.git(ctx, w.repo, "clone -q --no-checkout "+w.repo+" "+dir); err != nil {
		return "", err
	}
	if err := w.git(ctx, dir, "checkout -q --detach "+commit); err != nil {
		return "", err
	}
	if w.c.Ecosystem.Modules == "" {
		return dir, nil
	}
	out, code, err := w.sh(ctx, dir, "test -e node_modules || cp -al "+quote(w.m.Modules[w.c.Ecosystem.Modules])+" node_modules")
	if err != nil || code != 0 {
		return "", fmt.Errorf("npm packages: %s %w", out, err)
	}
	return dir, nil
}

// green runs the verify commands on a commit, with further edits if there are
// any.
func (w *world) green(ctx context.Context, commit string, edits []Op) (bool, string, error) {
	commit, err := w.rev(ctx, commit)
	if err != nil {
		return false, "", err
	}
	dir, err := w.clone(ctx, commit)
	if err != nil {
		return false, "", err
	}
	now, err := readFiles(dir)
	if err != nil {
		return false, "", err
	}
	actions, err := now.apply(edits)
	if err != nil {
		return false, "", fmt.Errorf("weakened: %w", err)
	}
	for _, a := range actions {
		if err := w.do(ctx, dir, a); err != nil {
			return false, "", err
		}
	}
	for _, command := range w.verify {
		out, code, err := w.sh(ctx, dir, command)
		if err != nil || code != 0 {
			return false, out, err
		}
	}
	return true, "", nil
}

// readFiles reads a tree without what git and npm keep in it.
func readFiles(dir string) (files, error) {
	all := files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	return all, err
}

// wrong asks the oracle about a commit. It looks at the product alone: no test
// of the project has a say.
func (w *world) wrong(ctx context.Context, commit string) (bool, error) {
	if len(w.c.Weakened) > 0 {
		green, _, err := w.green(ctx, commit, w.c.Weakened)
		return green, err
	}
	commit, err := w.rev(ctx, commit)
	if err != nil {
		return false, err
	}
	dir, err := w.clone(ctx, commit)
	if err != nil {
		return false, err
	}
	ask := filepath.Join(w.dir, "oracle.sh")
	if err := os.WriteFile(ask, []byte(w.oracle), 0o644); err != nil {
		return false, err
	}
	// A home of its own: what verify left in the other one has no say.
	home, err := os.MkdirTemp(w.dir, "home-")
	if err != nil {
		return false, err
	}
	env := append(slices.Clone(w.env), "HOME="+home)
	if cache := w.c.Ecosystem.Cache; cache != "" {
		env = append(env, "CACHE="+filepath.Join(w.home, cache))
	}
	ctx, cancel := context.WithTimeout(ctx, w.m.Limit)
	defer cancel()
	out, code, err := run(ctx, dir, env, "sh", "-e", ask)
	right, bad := strings.Contains(out, "RIGHT"), strings.Contains(out, "WRONG")
	if err == nil && right != bad {
		return bad, nil
	}
	return false, fmt.Errorf("the oracle cannot tell: exit %d: %s %w", code, out, err)
}
