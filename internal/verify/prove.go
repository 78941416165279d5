package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"forge/internal/filetree"
	"forge/internal/text"
	"forge/internal/work"
)

// prove runs commands in order, each in a home as setup left it, and holds the
// tree against its commit before the first and after each.
func (s *shell) prove(ctx context.Context, g *guard, commands []string, oneHome bool) (work.CommandsReport, error) {
	rep := work.CommandsReport{Sandbox: string(s.level())}
	if err := errors.Join(g.settled(s.laid), g.watch(s.fixed.watched)); err != nil {
		return rep, err
	}
	if what, err := g.check(ctx); err != nil || what != "" {
		return disturbed(rep, "setup: "+what), err
	}
	fresh := len(commands) > 1 && !oneHome
	if fresh {
		if err := s.keepHome(ctx); err != nil {
			return rep, fmt.Errorf("keep the home of the commands: %w", err)
		}
	}
	for i, command := range commands {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		if fresh && i > 0 {
			if err := s.freshHome(ctx); err != nil {
				return rep, err
			}
		}
		began := time.Now()
		hears, err := s.hears(g, i == 0, oneHome)
		if err != nil {
			return rep, err
		}
		one, problem, err := s.runCommand(ctx, command, hears)
		if err != nil {
			return rep, err
		}
		one.Millis = time.Since(began).Milliseconds()
		rep.Ran = append(rep.Ran, one)
		what, err := g.check(ctx)
		switch {
		case err != nil:
			return rep, err
		case what != "":
			return disturbed(rep, what), s.out.note("# " + what)
		case !one.OK:
			rep.Problem = problem
			return rep, nil
		}
		if i < len(commands)-1 {
			if err := s.takeOut(g); err != nil {
				return rep, err
			}
		}
	}
	rep.OK = true
	return rep, nil
}

// takeOut removes what the last command left for the next one to load.
func (s *shell) takeOut(g *guard) error {
	gone, err := g.takeOut()
	if err != nil {
		return fmt.Errorf("take out what a command left: %w", err)
	}
	if len(gone) == 0 {
		return nil
	}
	return s.out.note("# taken out before the next command: " + text.ClipLine(strings.Join(gone, ", "), mostLine))
}

func disturbed(rep work.CommandsReport, what string) work.CommandsReport {
	rep.OK, rep.Problem, rep.Disturbed = false, what, what
	return rep
}

// copyHome copies a home with its links as they are.
func copyHome(ctx context.Context, from, to string) error {
	if err := errors.Join(filetree.RemoveAll(to), os.MkdirAll(to, 0o700)); err != nil {
		return err
	}
	return filetree.CopyAll(ctx, from, to)
}

// loadable says of a path that appeared while commands ran whether another
// command could load it as part of its judgement. What was built is none of
// that, wherever it lies.
func loadable(file string, isDir bool) bool {
	name := path.Base(file)
	switch {
	case strings.HasPrefix(name, "."):
		// Settings of tools, and folders of them. Caches of tools are loaded too.
		return true
	case isDir:
		return name == "__pycache__" || name == "__tests__" || name == "__mocks__" || strings.HasSuffix(name, ".dist-info") || strings.HasSuffix(name, ".egg-info")
	}
	switch path.Ext(name) {
	case ".pyc", ".pyo", ".pth", ".ini", ".cfg", ".mk":
		return true
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case name == "sitecustomize.py", name == "usercustomize.py", name == "conftest.py", name == "Makefile", name == "makefile", name == "GNUmakefile":
		return true
	case strings.Contains(name, ".config."), strings.Contains(name, ".setup."), strings.Contains(name, ".test."), strings.Contains(name, ".spec."):
		return true
	case strings.HasPrefix(stem, "test_"), strings.HasSuffix(stem, "_test"), strings.HasSuffix(stem, "_spec"), strings.HasSuffix(stem, "Test"):
		return true
	}
	return false
}

// interpreted says that a file is run as it stands.
func interpreted(file string) bool {
	switch path.Ext(file) {
	case ".py", ".js", ".mjs", ".cjs", ".rb", ".php", ".pl", ".sh", ".lua":
		return true
	}
	return false
}

// covers says that the pattern matches file, or a folder above it.
func (p pattern) covers(file string) bool {
	for at := file; at != "." && at != "/"; at = path.Dir(at) {
		for _, g := range p.globs {
			if g.Match(at) {
				return true
			}
		}
	}
	return false
}
