package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/proc"
	"forge/internal/text"
)

// source is the user's checkout, which is only read.
type source struct {
	dir  string // real path
	root *os.Root
	env  []string // of git
}

func (b *Bench) openSource(ctx context.Context, checkout string) (*source, error) {
	if checkout == "" {
		return nil, badSetting("copy and link need a checkout to take from")
	}
	dir, err := filepath.EvalSymlinks(checkout)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	env := append(proc.BaseEnv(b.environ, nil), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	return &source{dir: dir, root: root, env: env}, ctx.Err()
}

// find returns the ignored paths that texts name, sorted, directories whole.
// Tracked files are passed over, since every folder has them. A pattern that
// names only files that are neither is a bad setting: they would become part
// of the agent's work. to, when not nil, is the folder they are wanted in.
func (s *source) find(ctx context.Context, name string, texts []string, to *os.Root) ([]string, error) {
	patterns, err := compile(name, texts)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range patterns {
		found, err := p.match(s.root)
		if err == nil {
			found, err = s.passOver(ctx, p, found)
		}
		if err != nil {
			return nil, err
		}
		ignored, err := s.ignored(ctx, found)
		if err != nil {
			return nil, err
		}
		if len(ignored) == 0 && to != nil {
			for _, f := range found {
				if _, err := to.Lstat(f); errors.Is(err, fs.ErrNotExist) {
					return nil, badSetting("%s: %s is not ignored by git, so it would become part of the work: add it to .gitignore", name, f)
				}
			}
		}
		all = append(all, ignored...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// passOver drops what p found by ** inside ignored directories that it does
// not name: "**/.env" does not mean the packages in node_modules.
func (s *source) passOver(ctx context.Context, p pattern, found []string) ([]string, error) {
	if !strings.Contains(p.text, "**") {
		return found, nil
	}
	var above []string
	for _, f := range found {
		for d := path.Dir(f); d != p.start && below(d, p.start) && d != "."; d = path.Dir(d) {
			above = append(above, d)
		}
	}
	slices.Sort(above)
	is, err := s.checkIgnore(ctx, slices.Compact(above))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(f string) bool {
		for d := path.Dir(f); d != p.start && below(d, p.start) && d != "."; d = path.Dir(d) {
			if is[d] {
				return true
			}
		}
		return false
	}), nil
}

// ignored returns those of paths that git ignores. Of a directory that is not
// ignored it returns what is ignored inside.
func (s *source) ignored(ctx context.Context, paths []string) ([]string, error) {
	var all []string
	for len(paths) > 0 {
		is, err := s.checkIgnore(ctx, paths)
		if err != nil {
			return nil, err
		}
		var inside []string
		for _, p := range paths {
			if is[p] {
				all = append(all, p)
				continue
			}
			if info, err := s.root.Lstat(p); err != nil || !info.IsDir() {
				continue
			}
			entries, err := fs.ReadDir(s.root.FS(), p)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.Name() != ".git" {
					inside = append(inside, path.Join(p, e.Name()))
				}
			}
		}
		paths = inside
	}
	return all, nil
}

func (s *source) checkIgnore(ctx context.Context, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	said := proc.NewTail(2<<10, 2<<10)
	res, err := proc.Run(ctx, proc.Spec{
		Path: "git",
		// The checkout is the user's own; which settings of it git would run
		// is of no use for this question.
		Args: []string{"-C", s.dir, "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "check-ignore", "-z", "--stdin"},
		Dir:  s.dir, Env: s.env,
		Stdin:  strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
		Stdout: &out, Stderr: said,
		Limits: proc.Limits{Total: time.Minute},
	})
	if err != nil {
		return nil, err
	}
	// 1 says that none is ignored.
	if res.ExitCode == nil || *res.ExitCode > 1 {
		return nil, fmt.Errorf("ask git which files are ignored: %s", text.ClipLine(said.String(), mostLine))
	}
	is := map[string]bool{}
	for _, p := range strings.Split(out.String(), "\x00") {
		is[p] = true
	}
	return is, nil
}

// below says whether p is dir or lies in it.
func below(p, dir string) bool {
	return p == dir || dir == "." || strings.HasPrefix(p, dir+"/")
}
