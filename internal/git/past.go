package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mainline returns the commits that led to a commit, each by its first parent,
// the newest first, at most so many. Parents are those of each.
func (s *Store) Mainline(ctx context.Context, from string, most int) (all []Commit, parents [][]string, err error) {
	if err := checkIDs(from); err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"log", "--first-parent", fmt.Sprintf("-%d", most), "-z", "--format=%H%x00%P%x00%B", from, "--"}})
	if err != nil {
		return nil, nil, fmt.Errorf("read the history of %s: %w", from, err)
	}
	fields := splitZ(res.out)
	if len(fields)%3 != 0 {
		return nil, nil, fmt.Errorf("read the history of %s: fields are missing", from)
	}
	for i := 0; i < len(fields); i += 3 {
		all = append(all, Commit{ID: fields[i], Message: fields[i+2]})
		parents = append(parents, strings.Fields(fields[i+1]))
	}
	return all, parents, nil
}

// Past makes dir, which must not be there, a repository of its own on branch at
// commit, with everything that the commit grew from and nothing besides: no object
// of a later commit is in it.
func (s *Store) Past(ctx context.Context, dir, branch, commit string) error {
	if err := checkIDs(commit); err != nil {
		return fmt.Errorf("make a repository of the past: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a repository of the past: %w", err)
	}
	list, err := s.git(ctx, call{args: []string{"rev-list", "--objects", commit}})
	if err != nil {
		return fmt.Errorf("list what %s grew from: %w", commit, err)
	}
	var ids strings.Builder
	has := map[string]bool{}
	for _, line := range splitLines(list.out) {
		id, _, _ := strings.Cut(line, " ")
		ids.WriteString(id + "\n")
		has[id] = true
	}
	own := s.user.with("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if _, err := own.run(ctx, call{dir: dir, args: []string{"init", "--quiet", "--initial-branch", branch, "--template="}}); err != nil {
		return fmt.Errorf("make a repository of the past: %w", err)
	}
	if err := s.endLikeUs(dir, has); err != nil {
		return fmt.Errorf("make a repository of the past: %w", err)
	}
	pack, err := os.CreateTemp(dir, ".pack-")
	if err != nil {
		return fmt.Errorf("pack the past of %s: %w", commit, err)
	}
	defer func() { _ = os.Remove(pack.Name()) }() // it is taken over, or the folder goes
	defer func() { _ = pack.Close() }()
	if _, err := s.git(ctx, call{args: []string{"pack-objects", "--stdout", "--quiet"}, stdin: strings.NewReader(ids.String()), stdout: pack}); err != nil {
		return fmt.Errorf("pack the past of %s: %w", commit, err)
	}
	if _, err := pack.Seek(0, 0); err != nil {
		return fmt.Errorf("pack the past of %s: %w", commit, err)
	}
	if _, err := own.run(ctx, call{dir: dir, args: []string{"index-pack", "--stdin", "--strict"}, stdin: pack}); err != nil {
		return fmt.Errorf("unpack the past of %s: %w", commit, err)
	}
	for _, args := range [][]string{
		{"config", "user.name", s.name}, {"config", "user.email", s.email},
		{"update-ref", "refs/heads/" + branch, commit}, {"reset", "--quiet", "--hard", commit},
	} {
		if _, err := own.run(ctx, call{dir: dir, args: args}); err != nil {
			return fmt.Errorf("make a repository of the past: %w", err)
		}
	}
	return nil
}

// endLikeUs lets a repository end where the history of a shallow one does, at
// commits that it has.
func (s *Store) endLikeUs(dir string, has map[string]bool) error {
	ends, err := readSmall(filepath.Join(s.repo, "shallow"))
	if err != nil {
		return err
	}
	var own strings.Builder
	for _, id := range splitLines(ends) {
		if has[id] {
			own.WriteString(id + "\n")
		}
	}
	if own.Len() == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, ".git", "shallow"), []byte(own.String()), 0o600)
}
