package git

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/shortage"
	"forge/internal/work"
)

// The user's checkout is moved whole or not at all, whatever dies at whatever
// moment:
//
//  1. Every new file, the new index and a second name for every old file are
//     made in a folder beside the index, the stage. Nothing of the user's has
//     changed; a full disk shows here.
//  2. A record of what is about to happen is made durable in Forge's own
//     repository.
//  3. The index is locked, so that no git of the user's works meanwhile, and the
//     checkout is looked at again.
//  4. Path by path the new file takes the place of the old one, by one rename.
//  5. The branch is moved by compare-and-set.
//  6. The new index takes its place, the lock and the record go.
//
// So as long as there is a record, each path holds the old content or the new
// one, or somebody else wrote it. Before step 5 everything is taken back, after
// it the rest is done (settle.go).

// move is the record.
type move struct {
	ID     string      `json:"id"` // stands in the lock of the index
	Root   string      `json:"root"`
	GitDir string      `json:"git_dir"`
	Branch string      `json:"branch"` // full reference name
	From   string      `json:"from"`
	To     string      `json:"to"`
	Index  string      `json:"index"` // fingerprint of the index before
	Paths  []movedPath `json:"paths"`
	// Made are the folders that are not there before, outer ones first.
	Made []string `json:"made,omitempty"`

	placing bool // step 4 was begun by this process
}

// movedPath is one path of the result that differs from the base. Old and New
// are fingerprints; "" is no file.
type movedPath struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`

	seen fs.FileInfo // what Old was read from, nil = nothing
}

// notMoved says why the checkout is as it was before.
type notMoved struct {
	why string
	err error // the cause, may be nil
}

func (e *notMoved) Error() string { return e.why }
func (e *notMoved) Unwrap() error { return e.err }

func (m *move) stage(name ...string) string {
	return filepath.Join(append([]string{stageDir(m.GitDir)}, name...)...)
}

// stageDir lies beside the index, which is on the disk of the checkout but for
// rare layouts, and where no git looks for files.
func stageDir(gitDir string) string { return filepath.Join(gitDir, "forge-move") }

// moveCheckout moves the user's checkout from base to commit. Errors:
// *notMoved, then nothing has changed. Whoever calls it holds the moves.
func (s *Store) moveCheckout(ctx context.Context, held *os.File, base work.Base, commit string) error {
	m, diff, err := s.planMove(ctx, base, commit)
	if err != nil {
		return err
	}
	if err := s.roomFor(ctx, m, diff); err != nil {
		return err
	}
	if err := s.prepareMove(ctx, held, m, diff); err != nil {
		if errors.As(err, new(*notMoved)) {
			return errors.Join(err, s.forgetMove(m))
		}
		return notMovedBy(m, err, s.forgetMove(m))
	}
	if err := s.carryOut(ctx, held, m); err != nil {
		var left []string
		undone := m.unlockIndex()
		if m.placing {
			left, undone = s.takeBack(ctx, m)
		}
		if undone == nil {
			undone = s.forgetMove(m)
		}
		if undone != nil {
			return fmt.Errorf("%w; what was begun is taken back by the next forge command: %w", err, undone)
		}
		if len(left) > 0 {
			return &notMoved{why: err.Error() + "; " + tellLeft(left, m), err: err}
		}
		return notMovedBy(m, err, nil)
	}
	if err := s.finishMove(ctx, m); err != nil {
		return fmt.Errorf("branch %s was moved, and its index not yet, which the next forge command does: %w", m.branch(), err)
	}
	return nil
}

// notMovedBy is err as a reason: what ran out, or what git says.
func notMovedBy(m *move, err, undone error) error {
	why := err.Error()
	var said *CommandError
	var already *notMoved
	switch {
	case errors.As(err, &already):
	case shortage.Of(err) != "":
		why = strings.ReplaceAll(shortage.Of(err), m.stage(), m.Root) + "; make room and merge it then"
	case errors.As(err, &said):
		why = "git refused: " + strings.ReplaceAll(said.Stderr, "\n", " ")
	}
	if undone != nil {
		return fmt.Errorf("%s: %w", why, undone)
	}
	return &notMoved{why: why, err: err}
}

// planMove says what would be moved, and where it is prepared.
func (s *Store) planMove(ctx context.Context, base work.Base, commit string) (*move, comparison, error) {
	diff, err := s.compare(ctx, base.Commit, commit)
	if err != nil {
		return nil, comparison{}, err
	}
	var id [12]byte
	rand.Read(id[:]) // never fails since Go 1.24
	return &move{
		ID: hex.EncodeToString(id[:]), Root: s.root, GitDir: s.gitDir,
		Branch: "refs/heads/" + base.Branch, From: base.Commit, To: commit,
	}, diff, nil
}

// moveMargin is what has to be free beside the files of a result: folders, the
// references and their logs.
const moveMargin = 256 << 10

// roomFor looks for the room that the stage takes.
func (s *Store) roomFor(ctx context.Context, m *move, diff comparison) error {
	var ids strings.Builder
	for i, id := range diff.blobs {
		if mode := diff.modes[i][1]; mode != modeLink && mode != modeNone {
			ids.WriteString(id + "\n")
		}
	}
	res, err := s.git(ctx, call{args: []string{"cat-file", "--batch-check=%(objectsize)"}, stdin: strings.NewReader(ids.String())})
	if err != nil {
		return err
	}
	const block = 4096
	bytes, files := uint64(moveMargin), uint64(2*len(diff.files)+100)
	for _, line := range splitLines(res.out) {
		if size, err := strconv.ParseUint(line, 10, 63); err == nil {
			bytes += (size + block - 1) / block * block
		}
	}
	// It is written twice more: by git, and with the times that the files have.
	if info, err := os.Stat(filepath.Join(m.GitDir, "index")); err == nil {
		bytes += 3 * uint64(info.Size())
	}
	for _, dir := range []string{m.GitDir, m.Root} {
		if err := shortage.Lacks(dir, bytes, files); err != nil {
			return &notMoved{why: err.Error() + "; make room and merge it then", err: err}
		}
	}
	return nil
}

const (
	modeLink = "160000" // a submodule
	modeNone = "000000"
)

// prepareMove makes the stage and the record. Nothing of the user's changes.
func (s *Store) prepareMove(ctx context.Context, held *os.File, m *move, diff comparison) error {
	if err := removeAll(m.stage()); err != nil {
		return err
	}
	for _, dir := range []string{"", "new", "old"} {
		if err := os.Mkdir(m.stage(dir), 0o700); err != nil {
			return err
		}
	}
	var err error
	if m.Index, err = fingerprint(m.GitDir, "index"); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(m.GitDir, "index"), m.stage("index")); err != nil {
		return err
	}
	// Git itself writes the files, into an empty folder in the place of the
	// checkout: filters, line ends, modes, links and what a sparse checkout
	// leaves out are its own, and the index that it leaves is the new one.
	_, err = s.user.run(ctx, call{
		dir: m.stage("new"), held: held,
		args: []string{"read-tree", "-m", "-u", "--no-recurse-submodules", m.From, m.To},
		env:  []string{"GIT_DIR=" + m.GitDir, "GIT_WORK_TREE=" + m.stage("new"), "GIT_INDEX_FILE=" + m.stage("index")},
	})
	if err != nil {
		// Git does not always say why a file could not be written; the half of
		// one is still there.
		return errors.Join(err, shortage.Lacks(m.GitDir, moveMargin/4, 4))
	}
	if err := m.list(diff); err != nil {
		return err
	}
	for n, p := range m.Paths {
		if p.Old != "" {
			if err := keepOld(filepath.Join(m.Root, filepath.FromSlash(p.Path)), m.old(n)); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(m.stage("lock"), []byte("forge "+m.ID+"\n"), 0o600); err != nil {
		return err
	}
	if err := syncTree(m.stage(), len(m.Paths)); err != nil {
		return err
	}
	return s.writeMove(m)
}

// old is where the n-th path's old content is kept.
func (m *move) old(n int) string { return m.stage("old", strconv.Itoa(n)) }

// list fills Paths and Made from what lies in the checkout and in the stage.
func (m *move) list(diff comparison) error {
	made := map[string]bool{}
	for i, c := range diff.files {
		p := movedPath{Path: c.Path}
		var err error
		if p.Old, p.seen, err = look(m.Root, c.Path); err != nil {
			return err
		}
		if p.seen != nil && p.seen.Mode().Type()&^fs.ModeSymlink != 0 {
			return &notMoved{why: c.Path + " is no file any more"}
		}
		if p.New, err = fingerprint(m.stage("new"), c.Path); err != nil {
			return err
		}
		if after := diff.modes[i][1]; after == modeLink {
			made[c.Path] = true
		} else if p.New == "" && after != modeNone {
			// A sparse checkout leaves it out.
			if p.Old != "" {
				return &notMoved{why: "file " + c.Path + " is there although the sparse checkout leaves it out"}
			}
			continue
		}
		if p.New != "" {
			for up := path.Dir(c.Path); up != "."; up = path.Dir(up) {
				made[up] = true
			}
		}
		if p.Old != p.New {
			m.Paths = append(m.Paths, p)
		}
	}
	for dir := range made {
		info, err := os.Lstat(filepath.Join(m.Root, filepath.FromSlash(dir)))
		if err != nil || !info.IsDir() {
			m.Made = append(m.Made, dir)
		}
	}
	slices.Sort(m.Made)
	return nil
}

// carryOut is steps 3 to 5. After an error it is to be taken back.
func (s *Store) carryOut(ctx context.Context, held *os.File, m *move) error {
	if err := m.lockIndex(ctx); err != nil {
		return err
	}
	if why, err := s.changedSince(ctx, m); err != nil || why != "" {
		if err == nil {
			err = &notMoved{why: why}
		}
		return err
	}
	m.placing = true
	if err := m.place(); err != nil {
		return err
	}
	return s.moveBranch(ctx, held, m)
}

// changedSince looks at the checkout once more, now that no git can change it.
func (s *Store) changedSince(ctx context.Context, m *move) (string, error) {
	head, err := s.inUser(ctx, call{args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	if err != nil {
		return "", err
	}
	if head.line() != m.Branch {
		return "branch " + m.branch() + " is not checked out any more", nil
	}
	if now, err := fingerprint(m.GitDir, "index"); err != nil {
		return "", err
	} else if now != m.Index {
		return "the index was changed at this moment", nil
	}
	return s.inTheWay(ctx, m.From, m.To)
}

// moveBranch moves the branch, as a merge does: with its log and ORIG_HEAD.
func (s *Store) moveBranch(ctx context.Context, held *os.File, m *move) error {
	locks := append(s.locksOf(m.Branch, m.To), m.origLock()...)
	locks = append(locks, refLock{filepath.Join(m.GitDir, "HEAD.lock"), ""})
	n := strconv.Itoa(len(forced))
	return s.changeRefs(ctx, locks, call{
		held:  held,
		args:  []string{"update-ref", "-m", "merge " + m.To + ": Fast-forward", "--stdin"},
		stdin: strings.NewReader(fmt.Sprintf("update %s %s %s\nupdate ORIG_HEAD %s\n", m.Branch, m.To, m.From, m.From)),
		env:   []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(forced)+1), "GIT_CONFIG_KEY_" + n + "=core.fsync", "GIT_CONFIG_VALUE_" + n + "=reference"},
	})
}

func (m *move) origLock() []refLock {
	return []refLock{{filepath.Join(m.GitDir, "ORIG_HEAD.lock"), m.From}}
}

// finishMove is step 6: the branch is at the result.
func (s *Store) finishMove(ctx context.Context, m *move) error {
	if err := m.lockIndex(ctx); err != nil {
		return err
	}
	if err := s.installIndex(ctx, m); err != nil {
		return err
	}
	if err := m.unlockIndex(); err != nil {
		return err
	}
	m.syncPlaces()
	return s.forgetMove(m)
}

// installIndex puts the new index in its place, unless it is there already.
func (s *Store) installIndex(ctx context.Context, m *move) error {
	if _, err := os.Lstat(m.stage("index")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	now, err := fingerprint(m.GitDir, "index")
	if err != nil {
		return err
	}
	env := []string{"GIT_DIR=" + m.GitDir, "GIT_WORK_TREE=" + m.Root, "GIT_INDEX_FILE=" + m.stage("index")}
	if now != m.Index {
		// Somebody wrote it after Forge had died: what they did stays.
		if err := copyFile(filepath.Join(m.GitDir, "index"), m.stage("index")); err != nil {
			return err
		}
		if _, err := s.inUser(ctx, call{args: []string{"read-tree", "-i", "-m", m.From, m.To}, env: env}); err != nil {
			return err
		}
	}
	// A rename changes a file's times, and git would read each file again. An
	// index that is not refreshed is right all the same.
	_, _ = s.inUser(ctx, call{args: []string{"update-index", "-q", "--refresh"}, env: env})
	return os.Rename(m.stage("index"), filepath.Join(m.GitDir, "index"))
}

// lockWait is how long another git may hold a lock before Forge gives up.
const lockWait = 3 * time.Second
