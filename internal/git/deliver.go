package git

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// BranchError is a branch in the user's repository that Forge does not touch.
type BranchError struct{ Branch, Why string }

// Error says which branch and why.
func (e *BranchError) Error() string { return "branch " + e.Branch + " " + e.Why }

// inUser runs a command in the user's checkout.
func (s *Store) inUser(ctx context.Context, c call) (result, error) {
	c.dir = s.root
	return s.user.run(ctx, c)
}

// Deliver makes branch (forge/…) in the user's repository point at commit,
// with all objects it takes. Doing it twice is doing it once. A branch that
// Forge did not make, that was moved since, or that is checked out somewhere
// is left alone. Errors: *BranchError.
func (s *Store) Deliver(ctx context.Context, branch, commit string) error {
	if err := s.deliver(ctx, branch, commit); err != nil {
		return fmt.Errorf("deliver %s: %w", branch, err)
	}
	return nil
}

func (s *Store) deliver(ctx context.Context, branch, commit string) error {
	ref := "refs/heads/" + branch
	if err := errors.Join(checkRef(ref), checkIDs(commit)); err != nil {
		return err
	}
	if !strings.HasPrefix(branch, "forge/") {
		return &BranchError{branch, "is not below forge/"}
	}
	now, err := readRef(ctx, s.user, s.root, ref)
	if err != nil {
		return err
	}
	// Two notes, since Forge may die between the user's reference and its own
	// note of it: what it was about to write, and what it wrote.
	written, err := s.ReadRef(ctx, "refs/forge/delivered/"+branch)
	if err != nil {
		return err
	}
	intended, err := s.ReadRef(ctx, "refs/forge/delivering/"+branch)
	if err != nil {
		return err
	}
	if now != "" && now != commit && now != written && now != intended {
		return &BranchError{branch, "was made or moved by someone else (it is at " + now[:12] + ")"}
	}
	if now != commit {
		trees, err := s.worktrees(ctx)
		if err != nil {
			return err
		}
		for _, t := range trees {
			if t.branch == ref {
				return &BranchError{branch, "is checked out in " + t.path}
			}
		}
		if err := s.bring(ctx, commit); err != nil {
			return err
		}
		if err := s.UpdateRef(ctx, "refs/forge/delivering/"+branch, commit, ""); err != nil {
			return err
		}
		old := firstOf(now, ZeroID)
		if err := s.setUserRef(ctx, ref, commit, old, "forge: result of a run"); err != nil {
			if moved(err) {
				return &BranchError{branch, "was moved at this moment"}
			}
			return err
		}
	}
	return s.UpdateRef(ctx, "refs/forge/delivered/"+branch, commit, "")
}

// bring puts what commit takes and the user's repository lacks into it, and
// checks that nothing is missing then.
func (s *Store) bring(ctx context.Context, commit string) error {
	// Not by the heads of other worktrees: one that is being made, or was left half
	// made, has one that names nothing, and git stops at it.
	whole := call{args: []string{"rev-list", "--objects", "--quiet", commit, "--not", "--single-worktree", "--all"}}
	there := whole
	there.ok = []int{1, 128}
	if res, err := s.inUser(ctx, there); err != nil || res.code == 0 {
		return err
	}
	tmp, drop, err := s.tempDir()
	if err != nil {
		return err
	}
	defer drop()
	n, err := s.packMissing(ctx, commit, filepath.Join(tmp, "pack"))
	if err != nil {
		return err
	}
	packs, err := fs.Glob(os.DirFS(tmp), "*.pack")
	if err != nil || len(packs) != n {
		return errors.Join(err, fmt.Errorf("pack objects: %d packs announced, %d written", n, len(packs)))
	}
	for _, pack := range packs {
		f, err := os.Open(filepath.Join(tmp, pack))
		if err != nil {
			return err
		}
		args := []string{"index-pack", "--stdin"}
		if small, err := isSmall(f); err != nil {
			return errors.Join(err, f.Close())
		} else if small {
			args = []string{"-c", "core.fsync=loose-object", "-c", "core.fsyncMethod=batch", "unpack-objects", "-q"}
		}
		_, err = s.inUser(ctx, call{args: args, stdin: f})
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	_, err = s.inUser(ctx, whole)
	return err
}

// smallPack is how many objects git itself does not keep as a pack, where it fetches them
// (transfer.unpackLimit). Each pack is looked through by every git from then on, and
// those of results, of which each has a few, become many.
const smallPack = 100

// isSmall says that a pack has fewer objects than that. It is read from the beginning
// afterwards.
func isSmall(pack io.ReadSeeker) (bool, error) {
	var head [12]byte // "PACK", version, number of objects
	if _, err := io.ReadFull(pack, head[:]); err != nil {
		return false, fmt.Errorf("read a pack: %w", err)
	}
	_, err := pack.Seek(0, io.SeekStart)
	return binary.BigEndian.Uint32(head[8:]) < smallPack, err
}

// worktree is one checkout of the user's repository.
type worktree struct{ path, branch string }

func (s *Store) worktrees(ctx context.Context) ([]worktree, error) {
	res, err := s.inUser(ctx, call{args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	return parseWorktrees(res.out), nil
}

// parseWorktrees reads "worktree list --porcelain -z".
func parseWorktrees(out []byte) []worktree {
	var all []worktree
	for _, field := range splitZ(out) {
		if path, ok := strings.CutPrefix(field, "worktree "); ok {
			all = append(all, worktree{path: path})
		} else if branch, ok := strings.CutPrefix(field, "branch "); ok && len(all) > 0 {
			all[len(all)-1].branch = branch
		}
	}
	return all
}

// KeepBase keeps commit, where a run starts, from being pruned out of the
// user's repository while the run lives.
func (s *Store) KeepBase(ctx context.Context, run, commit string) error {
	ref := keptBases + run
	if err := errors.Join(checkRef(ref), checkIDs(commit)); err != nil {
		return fmt.Errorf("keep base of run %s: %w", run, err)
	}
	keep := func() error { return s.setUserRef(ctx, ref, commit, "", "forge: base of a run") }
	if err := keep(); err != nil {
		// One that was fetched from a code host is not there yet.
		if err := s.bring(ctx, commit); err != nil {
			return fmt.Errorf("keep base of run %s: %w", run, err)
		}
		if err := keep(); err != nil {
			return fmt.Errorf("keep base of run %s: %w", run, err)
		}
	}
	s.mu.Lock()
	s.bases[commit] = true
	s.mu.Unlock()
	return nil
}

// keptBases is what the names of their references begin with; the run follows.
const keptBases = "refs/forge/keep/"

// KeptBases are the runs whose base is kept: of this project, and of others that
// share the user's repository.
func (s *Store) KeptBases(ctx context.Context) ([]string, error) {
	if kept, ok := refsIn(s.commonDir, keptBases); ok {
		runs := slices.Sorted(maps.Keys(kept))
		for i := range runs {
			runs[i] = strings.TrimPrefix(runs[i], keptBases)
		}
		return runs, nil
	}
	res, err := s.inUser(ctx, call{args: []string{"for-each-ref", "--format=%(refname:lstrip=3)", keptBases}})
	if err != nil {
		return nil, fmt.Errorf("list the bases that are kept: %w", err)
	}
	return slices.DeleteFunc(splitLines(res.out), func(run string) bool { return run == "" }), nil
}

// DropBase ends KeepBase. A base that is not kept is no error.
func (s *Store) DropBase(ctx context.Context, run string) error {
	ref := keptBases + run
	if err := checkRef(ref); err != nil {
		return fmt.Errorf("drop base of run %s: %w", run, err)
	}
	if err := s.setUserRef(ctx, ref, "", "", ""); err != nil {
		return fmt.Errorf("drop base of run %s: %w", run, err)
	}
	return nil
}

// pushTimeout bounds a push.
const pushTimeout = 5 * time.Minute

// Push pushes a delivered branch from the user's repository to one of its
// remotes, with the user's own credentials and without a question. It never
// forces. It takes at most five minutes.
func (s *Store) Push(ctx context.Context, remote, branch string) error {
	ref := "refs/heads/" + branch
	if err := checkRef(ref); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if remote == "" || strings.HasPrefix(remote, "-") || strings.ContainsAny(remote, "\x00\n") {
		return fmt.Errorf("push: not a remote: %q", remote)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("no answer in %v", pushTimeout))
	defer cancel()
	_, err := s.inUser(ctx, call{
		args: []string{"push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--", remote, ref + ":" + ref},
		env:  s.push,
	})
	if err != nil {
		return fmt.Errorf("push %s to %s: %w", branch, remote, refused(remote, branch, err))
	}
	return nil
}
