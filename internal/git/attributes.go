package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Marked are those of paths for which the attributes in a commit set one of names to
// true. They are read from an index of the commit: git reads those of commits
// themselves only since 2.40.
func (s *Store) Marked(ctx context.Context, commit string, paths []string, names ...string) (map[string]bool, error) {
	if err := checkIDs(commit); err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	out := map[string]bool{}
	if len(paths) == 0 {
		return out, nil
	}
	tmp, drop, err := s.tempDir()
	if err != nil {
		return nil, err
	}
	defer drop()
	env := append(noAttributes(s.own.env), "GIT_INDEX_FILE="+filepath.Join(tmp, "index"))
	if _, err := s.git(ctx, call{args: []string{"read-tree", commit}, env: env}); err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	args := append([]string{"check-attr", "-z", "--stdin", "--cached"}, names...)
	res, err := s.git(ctx, call{args: args, env: env, stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00")})
	if err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	fields := splitZ(res.out)
	for i := 0; i+2 < len(fields); i += 3 {
		if value := fields[i+2]; value == "set" || value == "true" {
			out[fields[i]] = true
		}
	}
	return out, nil
}
