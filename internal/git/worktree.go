package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FindCommit returns the commit that a revision names in the user's
// repository, "" when there is none.
func (s *Store) FindCommit(ctx context.Context, rev string) (string, error) {
	if id, ok := s.userCommit(rev); ok {
		return id, nil
	}
	res, err := s.user.run(ctx, call{dir: s.root, args: []string{"rev-parse", "--quiet", "--verify", "--end-of-options", rev + "^{commit}"}, ok: []int{1, 128}})
	if err != nil {
		return "", fmt.Errorf("find %q: %w", rev, err)
	}
	if res.code != 0 || !isID(res.line()) {
		return "", nil
	}
	return res.line(), nil
}

// Upstream is the full name of what the checked-out branch follows, "" when it
// follows nothing.
func (s *Store) Upstream(ctx context.Context) (string, error) {
	res, err := s.user.run(ctx, call{dir: s.root, args: []string{"rev-parse", "--quiet", "--verify", "--symbolic-full-name", "@{upstream}"}, ok: []int{1, 128}})
	if err != nil || res.code != 0 {
		return "", err
	}
	return res.line(), nil
}

// MergeBase is the commit that two commits grew out of, "" when they share none or
// the user's clone is too shallow to show it. Where one of them is in Forge's own
// repository alone, that is looked at, which knows nothing of a shallow clone.
func (s *Store) MergeBase(ctx context.Context, one, other string) (string, error) {
	if err := checkIDs(one, other); err != nil {
		return "", fmt.Errorf("find the merge base: %w", err)
	}
	look := func(c call) (result, error) {
		c.dir = s.root
		return s.user.run(ctx, c)
	}
	for _, id := range []string{one, other} {
		if there, err := s.FindCommit(ctx, id); err != nil {
			return "", err
		} else if there == "" {
			look = func(c call) (result, error) { return s.git(ctx, c) }
		}
	}
	res, err := look(call{args: []string{"merge-base", one, other}, ok: []int{1}})
	if err != nil {
		return "", fmt.Errorf("find the merge base of %s and %s: %w", one, other, err)
	}
	return res.line(), nil
}

// WorkTree records what the user's checkout holds at this moment as a commit
// on head, in Forge's own repository: changed and untracked files as well as
// what was committed, .forge/ too, but no ignored files. With nothing to record
// it is head itself. left names what is there and git cannot record. The user's
// repository, index and files are only read.
func (s *Store) WorkTree(ctx context.Context, head string) (commit string, left []string, err error) {
	commit, left, err = s.workTree(ctx, head)
	if err != nil {
		return "", nil, fmt.Errorf("record the working tree of %s: %w", s.root, err)
	}
	return commit, left, nil
}

func (s *Store) workTree(ctx context.Context, head string) (string, []string, error) {
	before, err := s.treeOf(ctx, head)
	if err != nil {
		return "", nil, err
	}
	tmp, drop, err := s.tempDir()
	if err != nil {
		return "", nil, err
	}
	defer drop()
	// Under another name the private index lies beside that name, not in the
	// user's folders. It begins empty: a copy of the user's would lose the time
	// by which git tells that a file was written just before it.
	f := &folder{dir: filepath.Join(tmp, "tree")}
	if err := os.Symlink(s.root, f.dir); err != nil {
		return "", nil, err
	}
	if _, err := s.inFolder(ctx, f, call{args: []string{"read-tree", head}}); err != nil {
		return "", nil, err
	}
	if err := s.skipAbsent(ctx, f); err != nil {
		return "", nil, err
	}
	res, err := s.inFolder(ctx, f, call{args: []string{"add", "--all", "--ignore-errors"}, ok: []int{1, 128}})
	if err != nil {
		return "", nil, err
	}
	if res.code == 128 {
		if err := s.addOneByOne(ctx, f, res); err != nil {
			return "", nil, err
		}
	}
	var left []string
	if res.code != 0 || res.cut || strings.Contains(res.stderr, "ermission denied") {
		if left, err = s.leftOut(ctx, f, res.stderr); err != nil {
			return "", nil, err
		}
	}
	tree, err := s.inFolder(ctx, f, call{args: []string{"write-tree"}})
	if err != nil || tree.line() == before {
		return head, left, err
	}
	commit, err := s.commit(ctx, tree.line(), []string{head}, "the working tree\n", "", nil)
	return commit, left, err
}

// skipAbsent takes over which files a sparse checkout leaves out: they are not
// deleted.
func (s *Store) skipAbsent(ctx context.Context, f *folder) error {
	res, err := s.user.run(ctx, call{dir: s.root, args: []string{"ls-files", "-t", "-z"}})
	if err != nil {
		return err
	}
	var absent []string
	for _, rec := range splitZ(res.out) {
		if path, ok := strings.CutPrefix(rec, "S "); ok {
			absent = append(absent, path)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	if res, err = s.inFolder(ctx, f, call{args: []string{"ls-files", "-z"}}); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, path := range splitZ(res.out) {
		known[path] = true
	}
	if absent = slices.DeleteFunc(absent, func(path string) bool { return !known[path] }); len(absent) == 0 {
		return nil
	}
	_, err = s.inFolder(ctx, f, call{args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, stdin: strings.NewReader(strings.Join(absent, "\x00") + "\x00")})
	return err
}
