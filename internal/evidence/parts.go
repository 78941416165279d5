package evidence

import (
	"context"
	"slices"

	"forge/internal/proof"
	"forge/internal/work"
)

// judgeParts says whether the proof with the evidence of parts of the work is due:
// where that evidence is what it was, the work's own proof ran with it.
func (s *Store) judgeParts(ctx context.Context, m *proof.Map, req work.EvidenceRequest, rep *work.EvidenceReport) error {
	if len(req.Parts) == 0 {
		return nil
	}
	mixed, paths, err := s.mixParts(ctx, m, req)
	if err != nil || len(paths) == 0 {
		return err
	}
	with, err := s.repo.TreeOf(ctx, mixed)
	if err != nil {
		return err
	}
	as, err := s.repo.TreeOf(ctx, req.Commit)
	if err != nil || with == as {
		return err
	}
	rep.Parts, rep.Floors = paths, append(rep.Floors, work.OnParts)
	return nil
}

// mixParts is req.Commit with the evidence that each part of the work brought or
// changed as that part had it, the last part's word counting, and the paths of it.
func (s *Store) mixParts(ctx context.Context, m *proof.Map, req work.EvidenceRequest) (mixed string, paths []string, err error) {
	mixed = req.Commit
	for _, part := range req.Parts {
		mine, err := s.ofPart(ctx, part, req)
		if err != nil {
			return "", nil, err
		}
		all, err := s.compare(ctx, m, part.Commit, req)
		if err != nil {
			return "", nil, err
		}
		all = slices.DeleteFunc(all, func(one seen) bool {
			return !mine[one.path] || one.added || one.stays(work.OnParts) || !one.back && !one.content
		})
		if mixed, err = s.mix(ctx, work.OnParts, part.Commit, all, mixed); err != nil {
			return "", nil, err
		}
		for _, one := range all {
			paths = append(paths, one.path)
		}
	}
	slices.Sort(paths)
	return mixed, slices.Compact(paths), nil
}

// ofPart are the paths that a part changed, and nobody else since: where others
// landed a change of the same file, that part's file as a whole would take theirs
// back.
func (s *Store) ofPart(ctx context.Context, part work.ProvenPart, req work.EvidenceRequest) (map[string]bool, error) {
	mine, err := s.differs(ctx, part.Base, part.Commit)
	if err != nil {
		return nil, err
	}
	if before, err := s.holds(ctx, part.Base, req.Base); err != nil || before {
		return mine, err // nobody landed anything since
	}
	others, err := s.differs(ctx, part.Base, req.Base)
	if err != nil {
		return nil, err
	}
	for path := range others {
		delete(mine, path)
	}
	return mine, nil
}
