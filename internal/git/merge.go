package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"forge/internal/work"
)

// Merge merges two commits with their own merge base, without a folder. With
// conflicts the tree holds files with markers; ours is the upper side.
func (s *Store) Merge(ctx context.Context, ours, theirs string) (work.Merged, error) {
	if err := checkIDs(ours, theirs); err != nil {
		return work.Merged{}, fmt.Errorf("merge: %w", err)
	}
	if ours == theirs {
		tree, err := s.treeOf(ctx, ours) // often known already
		return work.Merged{Tree: tree}, err
	}
	res, err := s.git(ctx, call{
		args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs},
		ok:   []int{1},
	})
	if err != nil {
		return work.Merged{}, fmt.Errorf("merge %s into %s: %w", theirs, ours, err)
	}
	fields := splitZ(res.out)
	if len(fields) == 0 || !isID(fields[0]) || res.code == 0 && len(fields) != 1 || res.code == 1 && len(fields) < 2 {
		return work.Merged{}, fmt.Errorf("merge %s into %s: answer of git not understood: %.200q", theirs, ours, res.out)
	}
	return work.Merged{Tree: fields[0], Conflicts: fields[1:]}, nil
}

// ConflictFolder makes the content of the phase folder dir the merge of
// theirs into ours, with conflict markers, and returns the paths in conflict.
// The throw-away repository stands at ours. The snapshot that follows has
// ours as its parent.
func (s *Store) ConflictFolder(ctx context.Context, dir, ours, theirs string) ([]string, error) {
	merged, err := s.Merge(ctx, ours, theirs)
	if err != nil {
		return nil, err
	}
	f, err := s.folder(dir)
	if err != nil {
		return nil, fmt.Errorf("open conflict folder: %w", err)
	}
	defer f.mu.Unlock()
	if standing(dir) != nil {
		err = errors.Join(removeAll(dir), os.MkdirAll(dir, 0o755))
	}
	if err == nil {
		err = s.layOver(ctx, f, merged.Tree)
	}
	if err == nil {
		err = s.makeAgentRepo(ctx, f, ours)
	}
	if err != nil {
		return nil, fmt.Errorf("open conflict folder %s: %w", dir, err)
	}
	return merged.Conflicts, nil
}

// CommitTree commits tree as Forge and points ref at it; ref "" is none.
func (s *Store) CommitTree(ctx context.Context, tree string, parents []string, message, ref string) (string, error) {
	return s.checkedCommit(ctx, tree, parents, message, ref, nil)
}

// Squash commits tree on parent in the user's name and points ref at it; ref
// "" is none. When parent has that very tree there is nothing to commit, and
// parent is returned; ref then points at parent.
func (s *Store) Squash(ctx context.Context, tree, parent, message, ref string) (string, error) {
	was, err := s.treeOf(ctx, parent)
	if err != nil {
		return "", fmt.Errorf("squash: %w", err)
	}
	if was == tree {
		if ref == "" {
			return parent, nil
		}
		return parent, s.UpdateRef(ctx, ref, parent, "")
	}
	return s.checkedCommit(ctx, tree, []string{parent}, message, ref, []string{
		"GIT_AUTHOR_NAME=" + s.name, "GIT_AUTHOR_EMAIL=" + s.email,
		"GIT_COMMITTER_NAME=" + s.name, "GIT_COMMITTER_EMAIL=" + s.email,
	})
}

func (s *Store) checkedCommit(ctx context.Context, tree string, parents []string, message, ref string, env []string) (string, error) {
	err := checkIDs(append([]string{tree}, parents...)...)
	if err == nil && ref != "" {
		err = checkRef(ref)
	}
	var id string
	if err == nil {
		id, err = s.commit(ctx, tree, parents, message, ref, env)
	}
	if err != nil {
		return "", fmt.Errorf("commit tree %s: %w", tree, err)
	}
	return id, nil
}

// WithFilesFrom returns a commit on commit whose tree is commit's with paths
// as they are in base; a path that base does not have is removed. It returns
// commit itself when nothing differs.
func (s *Store) WithFilesFrom(ctx context.Context, commit, base string, paths []string) (string, error) {
	return s.WithParts(ctx, commit, []Part{{base, paths}})
}

// Part is some of the files of a commit.
type Part struct {
	Commit string
	Paths  []string
}

// WithParts is WithFilesFrom of one part after the other, at the cost of a single one.
func (s *Store) WithParts(ctx context.Context, commit string, parts []Part) (string, error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return len(p.Paths) == 0 })
	id, err := s.withParts(ctx, commit, parts)
	if err != nil {
		return "", fmt.Errorf("take files of other commits into %s: %w", commit, err)
	}
	return id, nil
}

func (s *Store) withParts(ctx context.Context, commit string, parts []Part) (string, error) {
	if err := checkIDs(commit); err != nil || len(parts) == 0 {
		return commit, err
	}
	var info strings.Builder
	for _, p := range parts {
		entries, err := s.entries(ctx, p.Commit)
		if err != nil {
			return "", fmt.Errorf("list the files of %s: %w", p.Commit, err)
		}
		for _, path := range p.Paths { // removals first: a file may make room for a folder
			if _, ok := entries[path]; !ok {
				info.WriteString("0 " + ZeroID + "\t" + path + "\x00")
			}
		}
		for _, path := range p.Paths {
			if e, ok := entries[path]; ok {
				info.WriteString(e + "\t" + path + "\x00")
			}
		}
	}
	return s.withEntries(ctx, commit, info.String(), "files of "+parts[len(parts)-1].Commit+"\n")
}
