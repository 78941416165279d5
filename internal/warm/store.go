// Package warm keeps the caches of a project's tools, filled by commands that ran
// on accepted work alone, and lends them to commands on any work.
//
// # Who fills, and who reads
//
// A layer is the caches as they were after commands on accepted work. It never
// changes: what adds to it is the next layer, which takes its name by one rename
// when all of it is on the disk. A command gets a layer below a folder of its own
// (an overlay) or as a copy whose sums are checked; what it writes is in that
// folder and dropped with it. So nothing that ran on an agent's commit is ever
// read by anything else.
//
// # What is kept
//
// What a tool finds by name and version, or by the content of everything that it
// was made of: downloads and compiled objects (Places). Never what says that
// something passed: results of tests and of other tasks are left out, since a
// tool does not know of everything that they depend on.
package warm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forge/internal/filetree"
)

const (
	layerVersion  = 1 // of the form of a layer
	aboutName     = "about.json"
	filesName     = "files.json"
	partialPrefix = ".new-"
	partialAge    = 24 * time.Hour // older ones belong to nobody
)

// Bounds of what is kept for a project.
const (
	// MostBytes is how large a layer may become before it is begun anew.
	MostBytes = 8 << 30
	// MostAge is how long layers grow from one another before one is begun
	// anew, which leaves behind what is not used any more.
	MostAge = 30 * 24 * time.Hour
	// mostKeys is how many toolchains are kept, those used last.
	mostKeys = 4
)

// Store keeps layers in one folder, which must be out of every agent's reach.
// Several processes may use it at once.
type Store struct {
	dir   string
	now   func() time.Time
	bytes int64
}

// New returns the store in dir, which is made when needed.
func New(dir string) *Store { return &Store{dir: dir, now: time.Now, bytes: MostBytes} }

// At is the store by another clock.
func (s *Store) At(now func() time.Time) *Store {
	other := *s
	other.now = now
	return &other
}

// about is what a layer says of itself.
type about struct {
	Version int       `json:"version"`
	Born    time.Time `json:"born"` // of the first of the layers that it grew from
	Bytes   int64     `json:"bytes"`
	Filled  []string  `json:"filled"` // what filled it, in the words of Keep
}

// Loan is a layer that stays until Return is called, whoever prunes.
type Loan struct {
	store *Store
	dir   string
	key   string
	held  *os.File
	about about
}

// Lend returns the newest layer of key, nil when there is none that can be used.
// refill says that what follows will be kept, and so that a layer which became
// too old or too large is left out: the next one begins anew.
func (s *Store) Lend(key string, refill bool) (*Loan, error) {
	for range 10 {
		name, _, err := s.newest(key)
		if err != nil || name == "" {
			return nil, err
		}
		loan, err := s.hold(key, filepath.Join(s.dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // pruned since it was listed
		case err != nil:
			return nil, fmt.Errorf("lend a warm cache: %w", err)
		case loan == nil:
			return nil, nil
		}
		if refill && (loan.about.Bytes > s.bytes || s.now().Sub(loan.about.Born) > MostAge) {
			loan.Return()
			return nil, nil
		}
		return loan, nil
	}
	return nil, nil
}

// hold takes the lock of a layer. A layer that says nothing that can be read is
// dropped, and nil is returned.
func (s *Store) hold(key, dir string) (*Loan, error) {
	held, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	l := &Loan{store: s, dir: dir, key: key, held: held}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		l.Return()
		return nil, fs.ErrNotExist // it is being removed
	}
	// It may have been removed, and its name be another's, before the lock.
	mine, err := held.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(dir); err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		l.Return()
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, aboutName))
	if err != nil || json.Unmarshal(data, &l.about) != nil || l.about.Version != layerVersion {
		l.Return()
		return nil, s.drop(dir)
	}
	now := s.now()
	_ = os.Chtimes(dir, now, now) // only orders what prune removes
	return l, nil
}

// Return gives the layer back. A nil loan has nothing to give back.
func (l *Loan) Return() {
	if l != nil {
		filetree.Release(l.held)
	}
}

// Below returns the folder of the layer that holds area, for an overlay, and ""
// when the layer has nothing there. Nobody may write to it.
func (l *Loan) Below(area string) string {
	dir := filepath.Join(l.dir, area)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// Filled says whether the layer holds what was kept under mark.
func (l *Loan) Filled(mark string) bool { return l != nil && slices.Contains(l.about.Filled, mark) }

// CopyTo copies what the layer holds of area into dir, and holds each file
// against its sum. With an error dir holds some of it. A layer that is not what
// it was is dropped.
func (l *Loan) CopyTo(ctx context.Context, area, dir string) error {
	from := l.Below(area)
	if from == "" {
		return nil
	}
	files, err := l.files()
	if err == nil {
		err = copyNodes(ctx, from, dir, files[area])
	}
	if errors.Is(err, filetree.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(err, l.store.rename(l.dir))
	}
	if err != nil {
		return fmt.Errorf("copy a warm cache: %w", err)
	}
	return nil
}

func copyNodes(ctx context.Context, from, to string, all []filetree.Node) error {
	c, err := filetree.OpenCopier(from, to)
	if err != nil {
		return err
	}
	return errors.Join(c.Copy(ctx, all), c.Close())
}

// files are the nodes of the layer by area.
func (l *Loan) files() (map[string][]filetree.Node, error) {
	data, err := os.ReadFile(filepath.Join(l.dir, filesName))
	if err != nil {
		return nil, err
	}
	var all map[string][]filetree.Node
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", filesName, filetree.ErrDamaged)
	}
	return all, nil
}

// newest returns the name of the newest layer of key and its number.
func (s *Store) newest(key string) (name string, number int, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	for _, e := range entries {
		if k, n, ok := parse(e.Name()); ok && k == key && n > number {
			name, number = e.Name(), n
		}
	}
	return name, number, err
}

// parse takes the name of a layer apart: key, a dash, its number.
func parse(name string) (key string, number int, ok bool) {
	key, rest, ok := strings.Cut(name, "-")
	if !ok || key == "" {
		return "", 0, false
	}
	number, err := strconv.Atoi(rest)
	return key, number, err == nil && number > 0
}

func nameOf(key string, number int) string { return fmt.Sprintf("%s-%d", key, number) }
