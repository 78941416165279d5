package approval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// shorter is the way out where too much goes with a message.
const shorter = "name fewer lines, or say the path in your words: an agent reads the files of the project itself"

// attach is what goes with a message, with its text: what somebody brought as it is,
// and the rest as it stands in the last snapshot of the phase.
func attach(ctx context.Context, p *project.Checkout, s *orchestrator.State, m work.Message) ([]work.Attached, error) {
	out := slices.Clone(m.Attached)
	commit := s.SnapshotOf(m.Phase)
	var repo *git.Store
	for i := range out {
		a := &out[i]
		if err := a.Check(); err != nil {
			return nil, notAttached(*a, err)
		}
		a.Commit = ""
		if a.From == 0 && a.Text != "" {
			continue
		}
		if a.Text != "" {
			return nil, notAttached(*a, errors.New("lines are taken from the phase's last snapshot, and not from a text"))
		}
		if repo == nil {
			var err error
			if repo, err = p.Repo(ctx); err != nil {
				return nil, err
			}
		}
		data, err := repo.File(ctx, commit, a.Path)
		var large *git.TooLargeError
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, git.ErrNotText):
			return nil, notAttached(*a, fmt.Errorf("there is no such file in the last snapshot of phase %s, %s", m.Phase, text.Short(commit)))
		case errors.As(err, &large):
			return nil, notAttached(*a, err)
		case err != nil:
			return nil, err
		}
		if a.Text, err = linesOf(string(data), a.From, a.To); err != nil {
			return nil, notAttached(*a, err)
		}
		a.Commit = commit
	}
	if err := work.CheckAttached(out); err != nil {
		return nil, refusal.New(shorter, "nothing was said, since a file cannot go with it: %v", err)
	}
	return out, nil
}

// notAttached is what is told where one of them cannot go with a message.
func notAttached(a work.Attached, why error) error {
	return refusal.New(shorter, "nothing was said, since a file cannot go with it: %s: %v", text.OneLine(cmp.Or(a.String(), `""`), 120), why)
}

// linesOf are some lines of a file, or all where from is 0.
func linesOf(data string, from, to int) (string, error) {
	if from == 0 {
		return data, nil
	}
	lines := strings.SplitAfter(strings.TrimSuffix(data, "\n"), "\n")
	if to = max(from, to); to > len(lines) {
		return "", fmt.Errorf("it has %s", text.Number(len(lines), "line"))
	}
	return strings.Join(lines[from-1:to], ""), nil
}

// Named is what a person at a terminal names, from dir: files that they bring, and what
// stands in the phase's last snapshot, as work.ParseAttached reads it.
func Named(p *project.Checkout, dir string, files, at []string) ([]work.Attached, error) {
	out, err := bring(p.Base.RepoRoot, dir, files)
	if err != nil {
		return nil, err
	}
	return Quoted(out, at)
}

// Quoted adds to all what texts name in the phase's last snapshot.
func Quoted(all []work.Attached, texts []string) ([]work.Attached, error) {
	for _, said := range texts {
		a, err := work.ParseAttached(said)
		if err != nil {
			return nil, notAttached(a, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// bring reads files that a person names from dir. They lie below root, the project's
// folder, also where a link on the way points elsewhere.
func bring(root, dir string, paths []string) ([]work.Attached, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as git names the project's folder
	}
	below, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the project's folder: %w", err)
	}
	defer below.Close()
	var out []work.Attached
	for _, path := range paths {
		a := work.Attached{Path: path}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if rel, err := filepath.Rel(root, path); err == nil {
			a.Path = filepath.ToSlash(rel)
		}
		if err := a.Check(); err != nil {
			return nil, notAttached(a, err)
		}
		if a.Text, err = readBelow(below, a.Path); err != nil {
			return nil, notAttached(a, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// readBelow reads a small file.
func readBelow(root *os.Root, path string) (string, error) {
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file")
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // a pipe would be waited for
		return "", errors.New("it is no ordinary file")
	}
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, work.MaxAttachedBytes+1))
	switch {
	case err != nil:
		return "", err
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("it is no text")
	case len(data) > work.MaxAttachedBytes:
		return "", fmt.Errorf("it has %d bytes, at most about %d go with a message", info.Size(), work.MaxAttachedBytes)
	}
	return string(data), nil
}
