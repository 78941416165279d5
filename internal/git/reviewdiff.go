package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// MaxReviewBytes is where the text of a change to be reviewed is cut. A change
// of 100,000 lines has about five million.
const MaxReviewBytes = 64 << 20

// ReviewDiff returns the change from one commit to another as git lists and
// prints it: the list of files with their names byte by byte, each followed by
// NUL, and the patch, with full object ids and renames followed. cut says that
// the end is missing. No file of the project and no setting of the user has a
// say in it: an attribute can neither hide lines nor run a program.
func (s *Store) ReviewDiff(ctx context.Context, from, to string) (text []byte, cut bool, err error) {
	if err := checkIDs(from, to); err != nil {
		return nil, false, fmt.Errorf("diff for review: %w", err)
	}
	args := []string{
		"diff-tree", "-r", "-z", "--raw", "-p", "-M", "-l1000", "--full-index", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers",
		"--no-indent-heuristic", "--submodule=short", "--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/",
		"--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", from, to, "--",
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &cutWriter{max: MaxReviewBytes, over: func() { cancel(errDiffCut) }}
	_, err = s.git(ctx, call{args: args, env: noAttributes(s.own.env), stdout: out})
	if err != nil && !errors.Is(err, errDiffCut) {
		return nil, false, fmt.Errorf("diff %s %s for review: %w", from, to, err)
	}
	return bytes.Join(out.pieces, nil), out.cut, nil
}

// noAttributes adds settings to those that env gives to git already. Those of
// info/attributes stay: they are the user's own and no commit can change them.
func noAttributes(env []string) []string {
	count := "0"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "GIT_CONFIG_COUNT="); ok {
			count = v
		}
	}
	var n int
	_, _ = fmt.Sscan(count, &n) // written by cleanEnv
	return []string{
		"GIT_ATTR_NOSYSTEM=1",
		fmt.Sprintf("GIT_CONFIG_KEY_%d=core.attributesFile", n), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, os.DevNull),
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1),
	}
}

// Differ lists the paths whose content or mode is not the same in two commits,
// sorted by bytes; of a rename, both names.
func (s *Store) Differ(ctx context.Context, from, to string) ([]string, error) {
	if err := checkIDs(from, to); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", "--no-relative", from, to, "--"}})
	if err != nil {
		return nil, fmt.Errorf("compare %s %s: %w", from, to, err)
	}
	return strings.FieldsFunc(string(res.out), func(r rune) bool { return r == 0 }), nil
}

// CloseFolder removes a phase folder with all that belongs to it. One that is
// not there is no error.
func (s *Store) CloseFolder(dir string) error {
	f, err := s.folder(dir)
	if err != nil {
		return fmt.Errorf("close folder: %w", err)
	}
	defer f.mu.Unlock()
	f.at, f.subs = "", nil
	if err := errors.Join(removeAll(dir), removeAll(f.index())); err != nil {
		return fmt.Errorf("close folder: %w", err)
	}
	return nil
}
