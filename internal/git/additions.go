package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// WithFiles returns a commit on commit, by Forge, with files added or replaced
// by their paths, and points ref at it; ref "" is none. Without a change it is
// commit itself.
func (s *Store) WithFiles(ctx context.Context, commit string, files map[string][]byte, message, ref string) (string, error) {
	if err := checkIDs(commit); err != nil {
		return "", fmt.Errorf("add files to %s: %w", commit, err)
	}
	var info strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(path) || strings.Contains(path, "\x00") {
			return "", fmt.Errorf("add files to %s: not a path: %q", commit, path)
		}
		id, err := s.writeHere(object{"blob", files[path]})
		if err != nil {
			return "", fmt.Errorf("add files to %s: %w", commit, err)
		}
		info.WriteString("100644 blob " + id + "\t" + path + "\x00")
	}
	made, err := s.withEntries(ctx, commit, info.String(), message)
	if err == nil && ref != "" {
		err = s.UpdateRef(ctx, ref, made, "")
	}
	if err != nil {
		return "", fmt.Errorf("add files to %s: %w", commit, err)
	}
	return made, nil
}

// Alone returns a commit without parents, by Forge, that holds files by their paths
// and nothing else.
func (s *Store) Alone(ctx context.Context, files map[string][]byte, message string) (string, error) {
	empty, err := s.git(ctx, call{args: []string{"mktree", "-z"}, stdin: strings.NewReader("")})
	if err != nil {
		return "", fmt.Errorf("commit files alone: %w", err)
	}
	root, err := s.CommitTree(ctx, empty.line(), nil, message, "")
	if err != nil {
		return "", err
	}
	return s.WithFiles(ctx, root, files, message, "")
}

// ErrNotText is what stands at a path that holds no ordinary file.
var ErrNotText = errors.New("not an ordinary file")

// File returns the content of the ordinary file at path of a commit. Errors:
// fs.ErrNotExist; ErrNotText for a folder, a link or a submodule;
// *TooLargeError.
func (s *Store) File(ctx context.Context, commit, path string) ([]byte, error) {
	if err := checkIDs(commit); err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	if strings.Contains(path, "\x00") || path == "" {
		return nil, fmt.Errorf("%q is no path: %w", path, fs.ErrNotExist)
	}
	how, err := s.entry(ctx, commit, path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %q of %s: %w", path, commit, err)
	case how == "":
		return nil, fmt.Errorf("read %q of %s: %w", path, commit, fs.ErrNotExist)
	case !strings.HasPrefix(how, "100"):
		return nil, fmt.Errorf("read %q of %s: %w", path, commit, ErrNotText)
	}
	return s.Show(ctx, commit, path)
}

// entry is what a commit has at a path, as "mode type id"; "" = nothing.
func (s *Store) entry(ctx context.Context, commit, path string) (string, error) {
	if all, ok := s.known(commit); ok && all[path] != "" {
		return all[path], nil
	}
	res, err := s.git(ctx, call{args: []string{"ls-tree", "-z", "--full-tree", commit, "--", path}, env: []string{"GIT_LITERAL_PATHSPECS=1"}})
	entry, _, _ := strings.Cut(string(res.out), "\x00")
	how, name, ok := strings.Cut(entry, "\t")
	if err != nil || !ok || name != path {
		return "", err
	}
	return how, nil
}

// Ignored are those of paths, relative to the user's checkout, that its ignore
// rules leave out.
func (s *Store) Ignored(ctx context.Context, paths []string) ([]string, error) {
	res, err := s.user.run(ctx, call{
		dir: s.root, args: []string{"check-ignore", "-z", "--stdin"}, ok: []int{1},
		stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
	})
	if err != nil {
		return nil, fmt.Errorf("ask what is ignored: %w", err)
	}
	return splitZ(res.out), nil
}
