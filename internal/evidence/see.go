package evidence

import (
	"context"
	"fmt"

	"forge/internal/proof"
	"forge/internal/work"
)

// See says how paths are seen by the rules of a trusted state, with the content
// that they have in commit; they need not be there.
func (s *Store) See(ctx context.Context, trusted, commit string, settings work.EvidenceRequest, paths []string) ([]proof.Seen, error) {
	m, err := s.survey(ctx, trusted, settings)
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	err = s.repo.Contents(ctx, commit, paths, mostFile, func(path string, data []byte) { contents[path] = data })
	if err != nil {
		return nil, fmt.Errorf("see what is evidence: %w", err)
	}
	all := make([]proof.Seen, 0, len(paths))
	for _, path := range paths {
		all = append(all, m.See(path, contents[path]))
	}
	return all, nil
}
