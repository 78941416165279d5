package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Leftovers are all that the runs of a project left outside its checkout.
type Leftovers struct {
	p      *project.Checkout
	Runs   []journal.RunRow
	Issues int    // of the board
	Name   string // of the project; its folder's when the configuration cannot be read
	Server string // folder with the key, users, tokens and sessions of the factory's server, where that goes too, else ""
}

// FindLeftovers looks for them; nil = there are none. It refuses a state folder
// that holds what is not Forge's, and one of a run that is being driven; with
// force, only one of which that is known.
func FindLeftovers(ctx context.Context, p *project.Checkout, force bool) (*Leftovers, error) {
	entries, err := os.ReadDir(p.State)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, refusal.New("reset as the user who started the runs", "read the state folder: %v", err)
	}
	if p.Server != "" {
		return nil, refusal.New("DROP SCHEMA removes them for all machines; forge store move --to sqlite takes them into this one first",
			"the runs of this project are in the database of %s, for all machines", p.Server)
	}
	l := &Leftovers{p: p, Server: serverIn(p)}
	if err := l.isState(entries); err != nil {
		return nil, err
	}
	if l.Runs, err = idle(ctx, p, force); err != nil {
		return nil, err
	}
	if l.Issues, err = issues(ctx, p); err != nil && !force {
		return nil, err
	}
	l.Name = filepath.Base(p.Base.RepoRoot)
	if cfg, _, err := config.Load(config.Sources{ProjectDir: p.Base.RepoRoot, UserFile: config.UserFile(p.Environ), Environ: p.Environ}); err == nil {
		l.Name = cfg.ProjectName()
	}
	return l, nil
}

// serverIn is the server's folder where it stands in the state folder, as it
// does under FORGE_STATE_DIR.
func serverIn(p *project.Checkout) string {
	dir := config.ServerDir(p.Environ)
	if dir == "" || filepath.Dir(dir) != filepath.Clean(p.State) {
		return ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// isState refuses a folder in which something lies that is not Forge's, such as
// a home folder that FORGE_STATE_DIR names by mistake.
func (l *Leftovers) isState(entries []os.DirEntry) error {
	ours := false
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "journal."), name == "key", name == "repo.git":
			ours = true
		case strings.HasPrefix(name, "search.db"), strings.HasPrefix(name, "vectors.db"):
		case l.Server != "" && name == filepath.Base(l.Server):
		case slices.Contains(stateNames(), name), strings.HasPrefix(name, "draft-") && strings.HasSuffix(name, ".json"), strings.HasPrefix(name, ".tmp-"):
		default:
			return refusal.New("move it elsewhere first", "the state folder %s holds %q, which is not Forge's", l.p.State, name)
		}
	}
	if !ours {
		return refusal.New("remove it yourself if it is Forge's", "the folder %s holds no journal", l.p.State)
	}
	return nil
}

// stateNames are what Forge keeps in a state folder beside its journal.
func stateNames() []string {
	return []string{"blobs", "runs", "cache", "reviews", "eval", "drafts", "interviews", "draft.json", "news", "pulls", "locks", "temporal-host", "effects", "repositories"}
}

// idle lists the runs, and refuses while one of them is being driven.
func idle(ctx context.Context, p *project.Checkout, force bool) ([]journal.RunRow, error) {
	_, err := p.OpenStore(ctx, false)
	var rows []journal.RunRow
	if err == nil {
		rows, err = p.Journal.Runs(ctx)
	}
	switch {
	case err == nil:
	case force && !errors.Is(err, journal.ErrLocked):
		p.Log.Warn("whether a run is being driven is not known", "why", err)
		return nil, nil
	default:
		return nil, fmt.Errorf("%w (forge reset --force goes on without it)", err)
	}
	for _, row := range rows {
		if err := notDriven(row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// issues counts those of the board.
func issues(ctx context.Context, p *project.Checkout) (n int, err error) {
	if p.Journal == nil { // it could not be read, which was said
		return 0, nil
	}
	boards, err := p.Journal.Projects(ctx)
	for _, b := range boards {
		counts, err := p.Journal.IssueCounts(ctx, b.ID)
		if err != nil {
			return 0, err
		}
		for _, of := range counts {
			n += of
		}
	}
	return n, err
}

// Held says what goes: the runs, and the board.
func (l *Leftovers) Held() string {
	held := text.Number(len(l.Runs), "run")
	if l.Issues > 0 {
		held += " and the board with " + text.Number(l.Issues, "issue")
	}
	return held
}

func notDriven(row journal.RunRow) error {
	if row.Alive {
		return refusal.New("stop it first", "run %s is being driven by process %d", row.ID, row.Owner.PID)
	}
	return nil
}

// PutAside renames the state folder, so that there is a way back.
func (l *Leftovers) PutAside() (aside string, err error) {
	l.shut()
	base := l.p.State + ".removed-" + l.p.Now().UTC().Format("20060102-150405")
	aside = base
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, n)
	}
	if err := os.Rename(l.p.State, aside); err != nil {
		return "", refusal.New("forge reset --purge removes it instead", "put the state folder aside: %v", err)
	}
	return aside, nil
}

// Purge removes the state folder for good, and with it what kept the runs' bases
// in the user's repository.
func (l *Leftovers) Purge(ctx context.Context) error {
	l.shut()
	repo, err := git.Open(ctx, git.Config{StateDir: l.p.State, Root: l.p.Base.RepoRoot, Environ: l.p.Environ})
	for _, row := range l.Runs {
		if err == nil {
			err = repo.DropBase(ctx, row.ID)
		}
	}
	if err != nil {
		l.p.Log.Warn("drop the refs that kept the bases of runs", "err", err)
	}
	if err := removeTree(l.p.State); err != nil {
		return fmt.Errorf("remove the state folder: %w", err)
	}
	return nil
}

// shut closes the journal, which goes.
func (l *Leftovers) shut() {
	l.p.Close()
	l.p.Journal = nil
}

// FindFolders is a run, and the folder with its own folders and logs; that one
// is "" where there is none.
func FindFolders(ctx context.Context, p *project.Checkout, run string) (row journal.RunRow, dir string, err error) {
	ok, err := p.OpenStore(ctx, false)
	if err == nil && !ok {
		err = project.NoRuns()
	}
	if err != nil {
		return row, "", err
	}
	if row, err = p.PickRun(ctx, run); err == nil {
		err = notDriven(row)
	}
	if err != nil {
		return row, "", err
	}
	dir = p.Layout().RunDir(row.ID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		dir = ""
	}
	return row, dir, nil
}

// RemoveFolders removes what of a run is not in the journal.
func RemoveFolders(row journal.RunRow, dir string) error {
	if err := removeTree(dir); err != nil {
		return fmt.Errorf("remove the folders of run %s: %w", row.ID, err)
	}
	return nil
}

// removeTree removes a folder with all that is in it, also what its owner made
// read-only, as package caches are.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	walkErr := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			// The folder is made readable before it is read: WalkDir calls
			// with the folder first, and again when reading it failed.
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return errors.Join(walkErr, os.RemoveAll(dir))
}
