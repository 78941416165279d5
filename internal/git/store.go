// Package git keeps a project's snapshots in a bare repository of Forge's own,
// gives agents folders that are made from it, and hands results to the user's
// repository; it works through the git command line, but for objects and references
// that lie in files of their own, and trusts nothing that an agent can write to.
package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Config says where the two repositories are.
type Config struct {
	// StateDir is the project's state folder; repo.git is made in it.
	StateDir string
	// Root is the root of the user's checkout (work.Base.RepoRoot).
	Root string
	// Environ is Forge's environment; nil is os.Environ(). Only a fixed list
	// of its variables reaches git.
	Environ []string
	// Also are further folders with objects that can be read, of other repositories
	// of a run. Nobody who makes commits sees them: what lies there alone may go.
	Also []string
}

// Store is Forge's own repository of one project. Its methods may be called
// from several goroutines; calls on the same folder wait for each other. One
// Forge at a time may work in a folder. Nothing needs to be closed.
type Store struct {
	user *runner // git in the user's repository, with the user's configuration
	own  *runner // git in repo.git, with repo.git's configuration alone
	push []string

	repo      string // STATE/repo.git
	root      string // the user's checkout
	commonDir string // the .git folder that the user's worktrees share
	gitDir    string // the one of this worktree
	objects   []string
	also      []string // Config.Also
	excludes  []byte   // the user's info/exclude
	settings  []setting
	name      string // the user's identity for squash commits
	email     string
	nameless  bool // the user has no identity configured
	started   time.Time

	mu      sync.Mutex
	trees   map[string]string // commit → tree
	lists   listings
	folders map[string]*folder // by path
	bases   map[string]bool    // commits that the user's repository holds
}

// forgeEmail is whose the commits are that Forge makes in its own name.
const forgeEmail = "forge@localhost"

// Open makes STATE/repo.git when it is missing, brings its configuration and
// its link to the user's objects up to date, and returns it. Errors:
// *StateError when the user's configuration cannot be used safely.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if !filepath.IsAbs(cfg.StateDir) || !filepath.IsAbs(cfg.Root) {
		return nil, fmt.Errorf("open git store: %q and %q must be absolute", cfg.StateDir, cfg.Root)
	}
	environ := cfg.Environ
	if environ == nil {
		environ = os.Environ()
	}
	r, err := newRunner(environ)
	if err != nil {
		return nil, err
	}
	s := &Store{
		user: r, push: pick(environ, letThroughPush), root: cfg.Root, also: cfg.Also,
		repo:  filepath.Join(cfg.StateDir, "repo.git"),
		trees: map[string]string{}, folders: map[string]*folder{}, bases: map[string]bool{}, started: time.Now(),
	}
	if err := s.readUser(ctx); err != nil {
		return nil, fmt.Errorf("open git store: %w", err)
	}
	s.own = r.with("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_DIR="+s.repo,
		"GIT_AUTHOR_NAME=Forge", "GIT_AUTHOR_EMAIL="+forgeEmail, "GIT_COMMITTER_NAME=Forge", "GIT_COMMITTER_EMAIL="+forgeEmail)
	if len(cfg.Also) > 0 {
		s.own = s.own.with("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join(cfg.Also, string(os.PathListSeparator)))
	}
	s.user = r.with("GIT_COMMITTER_NAME="+s.name, "GIT_COMMITTER_EMAIL="+s.email, "GIT_AUTHOR_NAME="+s.name, "GIT_AUTHOR_EMAIL="+s.email)
	if err := s.makeRepo(); err != nil {
		return nil, fmt.Errorf("make %s: %w", s.repo, err)
	}
	return s, nil
}

// Identity is who squash commits are by. ok is false when the user has no
// user.name and user.email; then it is Forge <forge@localhost>.
func (s *Store) Identity() (name, email string, ok bool) { return s.name, s.email, !s.nameless }

// ObjectPaths are the folders with the user's git objects, which the git of a
// phase folder reads: a sandbox shows them read-only.
func (s *Store) ObjectPaths() []string { return append([]string(nil), s.objects...) }

func (s *Store) readUser(ctx context.Context) error {
	res, err := s.user.run(ctx, call{dir: s.root, args: []string{"config", "--list", "-z", "--includes"}})
	if err != nil {
		return err
	}
	s.settings = parseConfig(res.out)
	if err := checkCommands(s.root, s.settings); err != nil {
		return err
	}
	if !s.placesHere() {
		if err := s.places(ctx); err != nil {
			return err
		}
	}
	s.name, s.email = last(s.settings, "author.name", "user.name"), last(s.settings, "author.email", "user.email")
	if !usableIdent(s.name) || !usableIdent(s.email) {
		s.name, s.email, s.nameless = "Forge", "forge@localhost", true
	}
	s.excludes, err = readSmall(filepath.Join(s.commonDir, "info", "exclude"))
	return err
}

// places asks git where the user's repository is, where it stands and which bases are
// kept: HEAD and these bound what is walked when objects are handed on.
func (s *Store) places(ctx context.Context) error {
	// In one process. Where HEAD ends and the bases begin is told by what stands between
	// them.
	res, err := s.user.run(ctx, call{dir: s.root, args: []string{
		"rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--git-path", "objects",
		"--revs-only", "HEAD", "HEAD^{tree}", "--is-inside-work-tree", "--glob=" + keptBases + "*",
	}})
	if err != nil {
		return err
	}
	said := splitLines(res.out)
	// A path with a line break in it would be taken for two.
	if len(said) < 3 || slices.ContainsFunc(said[:3], func(dir string) bool { return !filepath.IsAbs(dir) }) {
		return fmt.Errorf("ask git for the folders of %s: it says %q", s.root, said)
	}
	s.commonDir, s.gitDir, s.objects = said[0], said[1], objectDirs(said[2])
	if at := said[3:]; len(at) > 2 && isID(at[0]) && isID(at[1]) && !isID(at[2]) {
		s.remember(at[0], at[1])
		s.bases[at[0]] = true
		said = at[3:]
	}
	for _, id := range said {
		if isID(id) {
			s.bases[id] = true
		}
	}
	return nil
}

// placesHere is places without git, of a repository that lies in its checkout and is
// laid out as git has done since ever. It is false where git has to be asked.
func (s *Store) placesHere() bool {
	dir := filepath.Join(s.root, ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || slices.ContainsFunc(s.settings, func(set setting) bool {
		return set.key == "core.worktree" || strings.HasPrefix(set.key, "extensions.")
	}) {
		return false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	kept, ok := refsIn(dir, keptBases)
	_, head, there := headIn(dir)
	if !ok || !there {
		return false
	}
	s.commonDir, s.gitDir, s.objects = dir, dir, objectDirs(filepath.Join(dir, "objects"))
	for _, id := range kept {
		s.bases[id] = true
	}
	s.bases[head] = true
	if tree, ok := s.looseTree(head); ok {
		s.remember(head, tree)
	}
	return true
}

// makeRepo writes repo.git by hand, not by git init: every file is complete
// or absent, so a Forge that was killed in the middle just does it again.
func (s *Store) makeRepo() error {
	config, err := renderConfig(ownSettings(s.settings, s.commonDir))
	if err != nil {
		return err
	}
	attributes, err := readSmall(filepath.Join(s.commonDir, "info", "attributes"))
	if err != nil {
		return err
	}
	shallow, err := readSmall(filepath.Join(s.commonDir, "shallow"))
	if err != nil {
		return err
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(s.repo, dir), 0o700); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"objects/info/alternates", alternates(s.objects[:1])},
		{"info/exclude", s.excludes},
		{"info/attributes", attributes},
		{"shallow", shallow},
		{"config", config},
		{"HEAD", []byte("ref: refs/heads/none\n")},
	} {
		if err := replaceFile(filepath.Join(s.repo, f.name), f.data); err != nil {
			return err
		}
	}
	s.removeOldTemp()
	return nil
}

// tempDir makes a folder for one operation beside the objects; drop removes it.
// While the operation lives it holds a lock of the system's on the folder.
func (s *Store) tempDir() (dir string, drop func(), err error) {
	if dir, err = os.MkdirTemp(s.repo, "tmp-"); err != nil {
		return "", nil, err
	}
	held, err := os.Open(dir)
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = held.Close()
	}, nil
}

// youngTemp is how old a folder of tempDir is before its lock is asked: it is
// made first and locked then.
const youngTemp = time.Minute

// removeOldTemp removes what a killed Forge left in tempDir, and nothing that
// another one may still be using.
func (s *Store) removeOldTemp() {
	old, _ := fs.Glob(os.DirFS(s.repo), "tmp-*")
	for _, name := range old {
		dir := filepath.Join(s.repo, name)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || s.started.Sub(info.ModTime()) < youngTemp {
			continue
		}
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}

// git runs a command in Forge's own repository. A git that packs removes folders of
// objects that are empty, also one that another git has just made for an object: what
// ends by that is done again.
func (s *Store) git(ctx context.Context, c call) (result, error) {
	c.dir = s.repo
	for tries := 0; ; tries++ {
		res, err := s.own.run(ctx, c)
		if err == nil || c.stdout != nil || tries == 3 || !lostFolder(err) {
			return res, err
		}
		if c.stdin != nil {
			again, ok := c.stdin.(io.Seeker)
			if !ok {
				return res, err
			}
			if _, seek := again.Seek(0, io.SeekStart); seek != nil {
				return res, err
			}
		}
	}
}

// lostFolder recognises a git whose folder for an object went before it had a file in it.
func lostFolder(err error) bool {
	var said *CommandError
	return errors.As(err, &said) && strings.Contains(said.Stderr, "unable to create temporary file: No such file or directory")
}

// Objects is the folder with the objects of Forge's own repository, and the way to
// those of the user's.
func (s *Store) Objects() string { return filepath.Join(s.repo, "objects") }

// Root is the user's checkout.
func (s *Store) Root() string { return s.root }

// TreeOf returns the tree of a commit, or id itself when it is a tree.
func (s *Store) TreeOf(ctx context.Context, id string) (string, error) { return s.treeOf(ctx, id) }

// treeOf returns the tree of a commit, or id itself when it is a tree.
func (s *Store) treeOf(ctx context.Context, id string) (string, error) {
	if err := checkIDs(id); err != nil {
		return "", err
	}
	s.mu.Lock()
	tree, ok := s.trees[id]
	s.mu.Unlock()
	if ok {
		return tree, nil
	}
	if tree, ok := s.looseTree(id); ok {
		s.remember(id, tree)
		return tree, nil
	}
	res, err := s.git(ctx, call{args: []string{"rev-parse", "--quiet", "--verify", id + "^{tree}"}})
	if err != nil {
		return "", fmt.Errorf("read commit %s: %w", id, err)
	}
	s.remember(id, res.line())
	return res.line(), nil
}

func (s *Store) remember(commit, tree string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.trees) > 4096 {
		clear(s.trees)
	}
	s.trees[commit] = tree
}

func (s *Store) isBase(commit string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases[commit]
}

func checkIDs(ids ...string) error {
	for _, id := range ids {
		if !isID(id) {
			return fmt.Errorf("not an object id: %q", id)
		}
	}
	return nil
}

const maxSmallFile = 4 << 20

// readSmall reads a file of the user's git folder; a missing one is nil.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmallFile {
		return nil, fmt.Errorf("read %s: not a regular file of at most %d bytes", path, maxSmallFile)
	}
	return os.ReadFile(path)
}

// replaceFile makes path hold data, or be absent when data is nil, in one
// step. A file that is as it should be is left alone.
func replaceFile(path string, data []byte) error {
	was, err := os.ReadFile(path)
	switch {
	case err == nil && data != nil && string(was) == string(data):
		return nil
	case data == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case data == nil:
		return os.Remove(path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "tmp-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
