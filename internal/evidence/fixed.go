package evidence

import (
	"context"
	"fmt"

	"forge/internal/proof"
	"forge/internal/work"
)

// Fixed implements effect.Evidence.
func (s *Store) Fixed(ctx context.Context, req work.EvidenceRequest, commit string) (trusted, earlier []string, err error) {
	at, err := s.trusted(ctx, req)
	if err == nil {
		trusted, earlier, err = s.fixed(ctx, req, at, commit)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find the evidence of %s that nothing may change: %w", commit, err)
	}
	return trusted, earlier, nil
}

func (s *Store) fixed(ctx context.Context, req work.EvidenceRequest, at, commit string) (trusted, earlier []string, err error) {
	m, err := s.survey(ctx, at, req)
	if err != nil {
		return nil, nil, err
	}
	files, err := s.repo.Files(ctx, commit)
	if err != nil {
		return nil, nil, err
	}
	ofTrusted, err := s.differs(ctx, at, commit)
	if err != nil {
		return nil, nil, err
	}
	ofBase := ofTrusted
	if req.Base != "" && req.Base != at {
		if ofBase, err = s.differs(ctx, req.Base, commit); err != nil {
			return nil, nil, err
		}
	}
	// What a file of the trusted state is, that state knows without reading it.
	var read []string
	for _, path := range files {
		if ofTrusted[path] && !ofBase[path] {
			read = append(read, path)
		}
	}
	contents := map[string][]byte{}
	err = s.repo.Contents(ctx, commit, read, mostFile, func(path string, data []byte) { contents[path] = data })
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		switch {
		case ofTrusted[path] && ofBase[path]:
			// The change itself: other proofs put it back.
		case m.See(path, contents[path]).Class != proof.Evidence:
		case ofTrusted[path]:
			earlier = append(earlier, path)
		default:
			trusted = append(trusted, path)
		}
	}
	return trusted, earlier, nil
}

// differs are the paths that are not in commit what they are in from.
func (s *Store) differs(ctx context.Context, from, commit string) (map[string]bool, error) {
	changes, err := s.repo.Changes(ctx, from, commit)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, c := range changes {
		all[c.Path] = true
	}
	return all, nil
}
