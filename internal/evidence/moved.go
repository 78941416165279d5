package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/git"
	"forge/internal/work"
)

// moved are the changes since a head that move the trusted state: people's own
// commits, and results that a person approved. Each path is in one of them, the
// last one that moved it.
func (s *Store) moved(ctx context.Context, from, to string) ([]git.Part, error) {
	commits, err := s.repo.History(ctx, from, to)
	if err != nil {
		return nil, err
	}
	accepted, err := s.accepted(ctx, commits)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, c := range commits {
		ids = append(ids, c.ID)
	}
	touched, err := s.repo.TouchedBy(ctx, ids)
	if err != nil {
		return nil, err
	}
	last := map[string]string{} // the commit that moved a path last
	others := map[string]bool{} // paths that a commit changed which moves nothing
	for _, c := range commits {
		mark := func(path string) { last[path] = c.ID }
		if forges(c.Message) {
			mark = func(path string) { others[path] = true }
		}
		for _, path := range touched[c.ID] {
			mark(path)
		}
		for _, move := range accepted[c.ID] {
			paths, err := s.movedBy(ctx, move)
			if err != nil {
				return nil, err
			}
			for _, path := range paths {
				last[path] = c.ID
			}
		}
	}
	return changesOf(last, others, to), nil
}

// changesOf gathers paths by the commit that their content is taken from. A
// path that people alone changed stands in the last commit, to, as all of them
// left it, however their branches came together.
func changesOf(last map[string]string, others map[string]bool, to string) []git.Part {
	by := map[string][]string{}
	for path, commit := range last {
		if !others[path] {
			commit = to
		}
		by[commit] = append(by[commit], path)
	}
	var out []git.Part
	for _, commit := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[commit])
		out = append(out, git.Part{Commit: commit, Paths: by[commit]})
	}
	return out
}

// forges says that a commit is Forge's own, by its trailer.
func forges(message string) bool {
	return slices.ContainsFunc(strings.Split(message, "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), ForgeTrailer)
	})
}

// accepted are the moves on record that lead to one of these commits, by it. A record
// has the commits of its moves as parents: one of others is not read, or each run would
// read what all before it had accepted.
func (s *Store) accepted(ctx context.Context, commits []git.Commit) (map[string][]work.TrustMove, error) {
	out := map[string][]work.TrustMove{}
	if len(commits) == 0 {
		return out, nil
	}
	tips, err := s.repo.TipsBelow(ctx, acceptedRefs)
	if err != nil {
		return nil, err
	}
	among := map[string]bool{}
	for _, c := range commits {
		among[c.ID] = true
	}
	for _, tip := range tips {
		if !slices.ContainsFunc(tip.Parents, func(id string) bool { return among[id] }) {
			continue
		}
		moves, err := s.recorded(ctx, tip)
		if err != nil {
			return nil, err
		}
		for _, m := range moves {
			out[m.To] = append(out[m.To], m)
		}
	}
	return out, nil
}

// mostMoves is how many records are remembered.
const mostMoves = 10_000

// recorded are the moves of a record.
func (s *Store) recorded(ctx context.Context, tip git.Tip) (moves []work.TrustMove, err error) {
	s.mu.Lock()
	known, ok := s.moves[tip.Commit]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	data, err := s.repo.Show(ctx, tip.Commit, movesFile)
	if err == nil {
		err = json.Unmarshal(data, &moves)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tip.Ref, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.moves) >= mostMoves {
		clear(s.moves)
	}
	s.moves[tip.Commit] = moves
	return moves, nil
}

// Accept implements effect.Evidence.
func (s *Store) Accept(ctx context.Context, run string, moves []work.TrustMove) error {
	data, err := json.Marshal(moves)
	if err != nil {
		return fmt.Errorf("accept evidence: %w", err)
	}
	var parents []string
	for _, m := range moves {
		for _, id := range []string{m.From, m.To} {
			if !slices.Contains(parents, id) {
				parents = append(parents, id)
			}
		}
	}
	id, err := s.repo.CommitRecord(ctx, map[string][]byte{movesFile: data}, parents, "evidence accepted with run "+run+"\n")
	if err == nil {
		err = s.repo.SetRefs(ctx, map[string]string{acceptedRefs + run: id})
	}
	if err != nil {
		return fmt.Errorf("accept evidence: %w", err)
	}
	return nil
}
