package git

import (
	"context"
	"fmt"
	"strings"
)

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
