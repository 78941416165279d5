package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Committed is when a commit was made.
func (s *Store) Committed(ctx context.Context, commit string) (time.Time, error) {
	res, err := s.git(ctx, call{args: []string{"log", "-1", "--format=%ct", commit, "--"}})
	if err != nil {
		return time.Time{}, fmt.Errorf("look when %s was made: %w", commit, err)
	}
	secs, err := strconv.ParseInt(res.line(), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("look when %s was made: %w", commit, err)
	}
	return time.Unix(secs, 0), nil
}

// Blobs maps the paths of the regular files of a commit to the ids of their
// contents.
func (s *Store) Blobs(ctx context.Context, commit string) (map[string]string, error) {
	all, err := s.entries(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", commit, err)
	}
	out := make(map[string]string, len(all))
	for path, entry := range all {
		if part := strings.Split(entry, " "); len(part) == 3 && strings.HasPrefix(part[0], "100") {
			out[path] = part[2]
		}
	}
	return out, nil
}
