package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settleWait is how long it may take until it is somebody's turn with the user's
// references and checkout: a factory has dozens that wait, each for a few gits, and a
// git of a dead Forge has to end by itself. lockWait is it where nothing waits for that.
const settleWait = time.Minute

// SettleMove ends what a Forge that died had begun in the user's checkout: a
// move of it (FastForward) is finished when the branch was moved already, else
// taken back. It says what it did, "" when there was nothing to do or another
// Forge is at it. Content that is neither the old nor the new one is somebody
// else's; it is left alone and named.
func (s *Store) SettleMove(ctx context.Context) (string, error) {
	begun := false
	for _, sign := range []string{s.notes("move.json"), s.notes("refs.json"), stageDir(s.gitDir)} {
		if _, err := os.Lstat(sign); !errors.Is(err, fs.ErrNotExist) {
			begun = true
		}
	}
	if !begun {
		return "", nil
	}
	held, err := s.holdMoves(ctx, lockWait)
	if errors.As(err, new(*notMoved)) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("settle the checkout: %w", err)
	}
	defer func() { _ = held.Close() }()
	said, err := s.settle(ctx, held)
	if err != nil {
		return "", fmt.Errorf("settle the checkout %s, in which a result was being put when Forge died: %w", s.root, err)
	}
	return said, nil
}

// settle is SettleMove for whoever holds the moves.
func (s *Store) settle(ctx context.Context, held *os.File) (string, error) {
	if err := s.freeRefs(ctx); err != nil {
		return "", err
	}
	// Notes that were not finished.
	unfinished, _ := filepath.Glob(s.notes(".tmp-*"))
	for _, path := range unfinished {
		_ = os.Remove(path)
	}
	m, err := s.readMove()
	if err != nil {
		return "", err
	}
	if m == nil {
		// It did not come to a record, so that nothing was changed.
		return "", removeAll(stageDir(s.gitDir))
	}

	at, err := readRef(ctx, s.user, s.root, m.Branch)
	if err != nil {
		return "", err
	}
	head, err := s.inUser(ctx, call{args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	switch {
	case err != nil:
		return "", err
	case head.line() == m.Branch && at == m.To:
		return s.settleForward(ctx, held, m)
	case head.line() == m.Branch && at == m.From:
		return s.settleBack(ctx, m)
	}
	return s.settleNot(m)
}

// settleForward finishes a move: the branch is at the result already.
func (s *Store) settleForward(ctx context.Context, held *os.File, m *move) (string, error) {
	// Git may have died between the two references that it writes.
	orig := call{args: []string{"update-ref", "ORIG_HEAD", m.From}, held: held}
	if err := s.changeRefs(ctx, m.origLock(), orig); err != nil {
		return "", err
	}
	if err := s.finishMove(ctx, m); err != nil {
		return "", err
	}
	return "the move of " + m.branch() + " to " + m.To[:12] + " was finished", nil
}

// settleBack takes a move back: the branch is where it was.
func (s *Store) settleBack(ctx context.Context, m *move) (string, error) {
	left, err := s.takeBack(ctx, m)
	if err == nil {
		err = s.forgetMove(m)
	}
	if err != nil {
		return "", err
	}
	said := "a half-done move of " + m.branch() + " to " + m.To[:12] + " was taken back"
	if len(left) > 0 {
		said += "; " + tellLeft(left, m)
	}
	return said, nil
}

// settleNot touches nothing: somebody has gone on from what was there, so that
// it is theirs now.
func (s *Store) settleNot(m *move) (string, error) {
	paths, err := m.placed()
	if err == nil {
		err = errors.Join(m.unlockIndex(), s.forgetMove(m))
	}
	if err != nil {
		return "", err
	}
	said := "branch " + m.branch() + " was moved, or another one was checked out, after Forge had died in a move of it to " + m.To[:12] + "; nothing was touched"
	if len(paths) > 0 {
		said += ", and these files may be of the result: " + clipPaths(paths)
	}
	return said, nil
}

func (m *move) branch() string { return strings.TrimPrefix(m.Branch, "refs/heads/") }

// takeBack makes the checkout what it was before the move. left are the paths
// that somebody else wrote meanwhile.
func (s *Store) takeBack(ctx context.Context, m *move) (left []string, err error) {
	// Where nothing was placed yet, the lock may be another git's.
	if now, err := m.placed(); err != nil || len(now) == 0 {
		return nil, errors.Join(err, m.unlockIndex())
	}
	if err := m.lockIndex(ctx); err != nil {
		return nil, err
	}
	if left, err = m.putBack(); err != nil {
		return nil, err
	}
	m.syncPlaces()
	return left, m.unlockIndex()
}

// placed are the paths that do not hold their old content.
func (m *move) placed() ([]string, error) {
	var all []string
	for _, p := range m.Paths {
		now, err := fingerprint(m.Root, p.Path)
		if err != nil {
			return nil, err
		}
		if now != p.Old {
			all = append(all, p.Path)
		}
	}
	return all, nil
}

func tellLeft(left []string, m *move) string {
	return fmt.Sprintf("left alone, since somebody changed it meanwhile: %s (git restore --source=%s -- FILE takes one back)", clipPaths(left), m.From[:12])
}

// clipPaths lists a few paths for a person.
func clipPaths(paths []string) string {
	const most = 10
	if len(paths) > most {
		return strings.Join(paths[:most], ", ") + fmt.Sprintf(" and %d more", len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
