package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"forge/internal/atomicfile"
)

// Mirror is what a machine without the user's checkout has of a project: a bare
// repository with what is at an address, and plain checkouts of single commits, each
// in a folder of its own. It stands for the user's repository there. Processes that
// share it wait for each other.
type Mirror struct {
	dir  string // of the bare repository
	at   string // the address
	run  *runner
	push []string
}

// mirrorRefs are where a mirror keeps what it fetched: never as branches, which nobody
// there works on.
const mirrorRefs = "refs/forge/mirror/"

// OpenMirror makes the mirror in dir of what is at the address, or opens it. environ is
// Forge's environment.
func OpenMirror(ctx context.Context, dir, at string, environ []string) (*Mirror, error) {
	if !filepath.IsAbs(dir) || at == "" || strings.HasPrefix(at, "-") {
		return nil, fmt.Errorf("open mirror: %q of %q", dir, at)
	}
	r, err := newRunner(environ)
	if err != nil {
		return nil, err
	}
	m := &Mirror{dir: dir, at: at, run: r, push: pick(environ, letThroughPush)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	return m, m.locked(func(held *os.File) error {
		// Doing it twice is doing it once, also after one that was killed at it.
		_, err := m.git(ctx, held, "init", "--quiet", "--bare", "--initial-branch=none", ".")
		return err
	})
}

// Dir is the bare repository.
func (m *Mirror) Dir() string { return m.dir }

// Fetch brings the branches that are at the address.
func (m *Mirror) Fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("no answer in %v", pushTimeout))
	defer cancel()
	return m.locked(func(held *os.File) error {
		if err := m.fetch(ctx, held, m.at, "+refs/heads/*:"+mirrorRefs+"heads/*"); err != nil {
			return &UnreachableError{Remote: m.at, Err: err}
		}
		return nil
	})
}

func (m *Mirror) fetch(ctx context.Context, held *os.File, from, refs string) error {
	_, err := m.git(ctx, held, "fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--", from, refs)
	return err
}

// CheckOut makes dir a checkout of commit, on no branch. The mirror has the commit:
// KeepBase of a Store whose user's repository it is sees to that. One that is there
// stays as it is.
func (m *Mirror) CheckOut(ctx context.Context, commit, dir string) error {
	if err := checkIDs(commit); err != nil {
		return fmt.Errorf("check out: %w", err)
	}
	err := m.locked(func(held *os.File) error {
		if whole, err := os.ReadFile(wholeMark(dir)); err == nil && string(whole) == commit {
			return nil
		}
		if err := m.drop(ctx, held, dir); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return err
		}
		if _, err := m.git(ctx, held, "worktree", "add", "--quiet", "--detach", "--force", dir, commit); err != nil {
			return err
		}
		return atomicfile.Write(wholeMark(dir), []byte(commit), 0o600)
	})
	if err != nil {
		return fmt.Errorf("check %s out of the mirror: %w", commit, err)
	}
	return nil
}

// wholeMark is a file that is there for as long as a checkout is whole: a process that
// died may have left half of one.
func wholeMark(dir string) string { return dir + ".whole" }

// Drop removes a checkout.
func (m *Mirror) Drop(ctx context.Context, dir string) error {
	if err := m.locked(func(held *os.File) error { return m.drop(ctx, held, dir) }); err != nil {
		return fmt.Errorf("remove a checkout of the mirror: %w", err)
	}
	return nil
}

func (m *Mirror) drop(ctx context.Context, held *os.File, dir string) error {
	if err := removeAll(wholeMark(dir)); err != nil {
		return err
	}
	if err := removeAll(dir); err != nil {
		return err
	}
	_, err := m.git(ctx, held, "worktree", "prune", "--expire=now")
	return err
}

// locked runs do while no other process changes the mirror.
func (m *Mirror) locked(do func(held *os.File) error) error {
	lock, err := os.OpenFile(filepath.Join(m.dir, "forge.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the mirror: %w", err)
	}
	defer lock.Close()
	// Inherited by git: free when it is dead as well.
	err = syscall.EINTR
	for err == syscall.EINTR { //nolint:errorlint // as the system returns it
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return fmt.Errorf("lock the mirror: %w", err)
	}
	return do(lock)
}

func (m *Mirror) git(ctx context.Context, held *os.File, args ...string) (result, error) {
	return m.run.run(ctx, call{dir: m.dir, args: args, env: m.push, held: held})
}
