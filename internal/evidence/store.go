package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"forge/internal/atomicfile"
	"forge/internal/git"
	"forge/internal/opened"
	"forge/internal/proof"
	"forge/internal/work"
)

// Store judges changes in one repository. It may be used by several phases at
// once.
type Store struct {
	repo *git.Store
	dir  string // maps of trusted states, by content; may be removed at any time
	seen opened.Store

	// turn is whose it is to bring a trusted state up: runs that begin together would each
	// do what the first one does for all of them.
	turn chan struct{}

	mu    sync.Mutex
	maps  map[string]*proof.Map
	moves map[string][]work.TrustMove // by their record
}

// New returns a store that keeps what it learns of trusted states in dir.
func New(repo *git.Store, dir string) *Store {
	return &Store{repo: repo, dir: dir, turn: make(chan struct{}, 1), maps: map[string]*proof.Map{}, moves: map[string][]work.TrustMove{}}
}

// Traced returns a store that knows from dir which files the proofs of trees
// opened. Without it, data is told from evidence by what sources name alone.
func (s *Store) Traced(dir string) *Store {
	s.seen = opened.New(dir)
	return s
}

// tree is a commit as internal/proof reads it.
type tree struct {
	ctx    context.Context // of the one call that reads it
	repo   *git.Store
	commit string
	paths  []string
	files  map[string][]byte // those that were read at once
}

// What is read of a tree at once: texts, and not more of them than fit.
const (
	mostFile  = 512 << 10
	mostFiles = 256 << 20
)

// Paths are all files of the commit.
func (t *tree) Paths() []string { return t.paths }

// Read returns a file; one that is too large to be read as text says nothing.
func (t *tree) Read(path string) ([]byte, error) {
	if data, ok := t.files[path]; ok {
		return data, nil
	}
	data, err := t.repo.Show(t.ctx, t.commit, path)
	if large := (*git.TooLargeError)(nil); errors.As(err, &large) {
		return nil, nil
	}
	return data, err
}

// survey returns the map of a trusted state, which is made once for each
// content and settings.
func (s *Store) survey(ctx context.Context, commit string, req work.EvidenceRequest) (*proof.Map, error) {
	set := settingsOf(req)
	tree, err := s.repo.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	set.Opened = s.seen.Of(tree)
	key, err := keyOf(tree, set)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.maps[key]; m != nil {
		return m, nil
	}
	file := filepath.Join(s.dir, key+".json")
	if data, err := os.ReadFile(file); err == nil {
		if m, err := proof.ReadMap(data); err == nil {
			s.maps[key] = m
			return m, nil
		}
	}
	files, err := s.open(ctx, commit)
	if err != nil {
		return nil, err
	}
	m, err := proof.Survey(files, set)
	if err != nil {
		return nil, fmt.Errorf("survey the evidence of %s: %w", commit, err)
	}
	s.maps[key] = m
	s.keep(file, m)
	return m, nil
}

// keep stores a map. That it cannot be kept costs the next process time, no
// more.
func (s *Store) keep(file string, m *proof.Map) {
	data, err := m.JSON()
	if err != nil || os.MkdirAll(s.dir, 0o700) != nil {
		return
	}
	_ = atomicfile.Write(file, data, 0o600)
}

func (s *Store) open(ctx context.Context, commit string) (*tree, error) {
	paths, err := s.repo.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	t, total := &tree{ctx: ctx, repo: s.repo, commit: commit, paths: paths, files: map[string][]byte{}}, 0
	err = s.repo.Contents(ctx, commit, paths, mostFile, func(path string, data []byte) {
		if total += len(data); total <= mostFiles {
			t.files[path] = data
		}
	})
	return t, err
}

// keyOf names a tree and the settings that it is seen with.
func keyOf(tree string, set proof.Settings) (string, error) {
	text, err := json.Marshal(set)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(tree+"\n"), text...))
	return hex.EncodeToString(sum[:16]), nil
}

func settingsOf(req work.EvidenceRequest) proof.Settings {
	return proof.Settings{
		Product: req.Proof.Product, Evidence: append(append([]string(nil), req.Proof.Evidence...), ownGlobs(req.Protected)...), Commands: req.Commands,
	}
}

// readAll returns the changed files as a rule reads them, in one pass, without
// those whose status says that the commit does not have them. One that is not
// there is too large, or a submodule: nobody knows what it holds.
func (s *Store) readAll(ctx context.Context, commit string, changes []work.FileChange, without string) (map[string][]byte, error) {
	var paths []string
	for _, c := range changes {
		if c.Status != without {
			paths = append(paths, c.Path)
		}
	}
	all := map[string][]byte{}
	if len(paths) == 0 {
		return all, nil
	}
	err := s.repo.Contents(ctx, commit, paths, git.MaxShowBytes, func(path string, data []byte) { all[path] = data })
	return all, err
}
