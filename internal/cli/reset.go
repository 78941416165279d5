package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
)

func (a *App) resetCommand() *cli.Command {
	return &cli.Command{
		Name: "reset", Usage: "put away all runs of this project: journal, logs, folders; your branches stay",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "remove the folders and logs of run `ID` alone; its journal stays"},
			&cli.BoolFlag{Name: "purge", Usage: "remove for good instead of putting aside"},
			&cli.BoolFlag{Name: "force", Usage: "although the journal cannot be read"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge reset --run ID", "forge reset takes no arguments, got %q", c.Args().First())
			}
			p, err := a.findProject(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			r := reset{checkout: p, yes: c.Bool("yes"), purge: c.Bool("purge"), force: c.Bool("force")}
			if run := c.String("run"); run != "" {
				return r.ofRun(c.Context, run)
			}
			return r.all(c.Context)
		},
	}
}

// reset is one call of forge reset.
type reset struct {
	*checkout
	yes, purge, force bool
}

func (r reset) all(ctx context.Context) error {
	entries, err := os.ReadDir(r.State)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		_, err := fmt.Fprintln(r.app.Stdout, "Nothing to reset: this project has no runs.")
		return err
	}
	if err != nil {
		return refusal.New("reset as the user who started the runs", "read the state folder: %v", err)
	}
	if err := r.isState(entries); err != nil {
		return err
	}
	rows, err := r.idle(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("This puts away %d run(s) of %s: %s", len(rows), r.name(), r.State)
	if r.purge {
		what = fmt.Sprintf("This removes %d run(s) of %s for good: %s", len(rows), r.name(), r.State)
	}
	if r.serverGoes() {
		what += "\nWith it goes what the factory's server keeps there: its key, users, tokens and sessions"
	}
	if err := r.confirm(what, r.name()); err != nil {
		return err
	}
	if r.serverGoes() {
		r.Log.Warn("the server's key, users, tokens and sessions go with the state folder", "folder", config.ServerDir(r.Environ))
	}
	r.Close()
	r.Journal = nil
	if !r.purge {
		return r.putAside(len(rows))
	}
	// What kept the runs' bases in the user's repository goes with them.
	r.dropBases(ctx, rows)
	if err := removeTree(r.State); err != nil {
		return fmt.Errorf("remove the state folder: %w", err)
	}
	_, err = fmt.Fprintf(r.app.Stdout, "Removed: %s (%d run(s)). Your branches and files are as they were.\n", r.State, len(rows))
	return err
}

// serverGoes says whether the server's folder stands in the state folder, as it
// does under FORGE_STATE_DIR.
func (r reset) serverGoes() bool {
	dir := config.ServerDir(r.Environ)
	if dir == "" || filepath.Dir(dir) != filepath.Clean(r.State) {
		return false
	}
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}

// isState refuses a folder in which something lies that is not Forge's, such as
// a home folder that FORGE_STATE_DIR names by mistake.
func (r reset) isState(entries []os.DirEntry) error {
	ours := false
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "journal.db"), name == "key", name == "repo.git":
			ours = true
		case name == filepath.Base(config.ServerDir(r.Environ)) && r.serverGoes():
		case name == "blobs", name == "runs", name == "cache", name == "reviews", name == "eval", name == "drafts", name == "draft.json", strings.HasPrefix(name, ".tmp-"):
		default:
			return refusal.New("move it elsewhere first", "the state folder %s holds %q, which is not Forge's", r.State, name)
		}
	}
	if !ours {
		return refusal.New("remove it yourself if it is Forge's", "the folder %s holds no journal", r.State)
	}
	return nil
}

// idle lists the runs, and refuses while one of them is being driven.
func (r reset) idle(ctx context.Context) ([]journal.RunRow, error) {
	_, err := r.OpenStore(ctx, false)
	var rows []journal.RunRow
	if err == nil {
		rows, err = r.Journal.Runs(ctx)
	}
	switch {
	case err == nil:
	case r.force && !errors.Is(err, journal.ErrLocked):
		r.Log.Warn("whether a run is being driven is not known", "why", err)
		return nil, nil
	default:
		return nil, fmt.Errorf("%w (forge reset --force goes on without it)", err)
	}
	for _, row := range rows {
		if row.Alive {
			return nil, refusal.New("stop it first", "run %s is being driven by process %d", row.ID, row.Owner.PID)
		}
	}
	return rows, nil
}

// putAside renames the state folder, so that there is a way back.
func (r reset) putAside(runs int) error {
	base := r.State + ".removed-" + r.Now().UTC().Format("20060102-150405")
	aside := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, n)
	}
	if err := os.Rename(r.State, aside); err != nil {
		return refusal.New("forge reset --purge removes it instead", "put the state folder aside: %v", err)
	}
	_, err := fmt.Fprintf(r.app.Stdout, "Put away: %s (%d run(s)). Your branches and files are as they were.\nUndo:     mv '%s' '%s'\nFor good: rm -rf '%s'\n", aside, runs, aside, r.State, aside)
	return err
}

func (r reset) dropBases(ctx context.Context, rows []journal.RunRow) {
	repo, err := git.Open(ctx, git.Config{StateDir: r.State, Root: r.Base.RepoRoot, Environ: r.Environ})
	for _, row := range rows {
		if err == nil {
			err = repo.DropBase(ctx, row.ID)
		}
	}
	if err != nil {
		r.Log.Warn("drop the refs that kept the bases of runs", "err", err)
	}
}

// ofRun removes what of one run is not in the journal.
func (r reset) ofRun(ctx context.Context, run string) error {
	ok, err := r.OpenStore(ctx, false)
	if err == nil && !ok {
		err = project.NoRuns()
	}
	if err != nil {
		return err
	}
	row, err := r.PickRun(ctx, run)
	if err != nil {
		return err
	}
	if row.Alive {
		return refusal.New("stop it first", "run %s is being driven by process %d", row.ID, row.Owner.PID)
	}
	dir := r.Layout().RunDir(row.ID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		_, err := fmt.Fprintf(r.app.Stdout, "Nothing to reset: run %s has no folders.\n", row.ID)
		return err
	}
	if err := r.confirm(fmt.Sprintf("This removes the folders and logs of run %s: %s", row.ID, dir), row.ID); err != nil {
		return err
	}
	if err := removeTree(dir); err != nil {
		return fmt.Errorf("remove the folders of run %s: %w", row.ID, err)
	}
	text := fmt.Sprintf("Removed: %s. Its journal stays: forge why --run %s\n", dir, row.ID)
	if row.Unfinished() {
		text += "Its folders are made again by: forge resume " + row.ID + "\n"
	}
	_, err = fmt.Fprint(r.app.Stdout, text)
	return err
}

// name is the project's name; its folder's when the configuration cannot be
// read.
func (r reset) name() string {
	cfg, _, err := config.Load(config.Sources{ProjectDir: r.Base.RepoRoot, UserFile: config.UserFile(r.Environ), Environ: r.Environ})
	if err != nil {
		return filepath.Base(r.Base.RepoRoot)
	}
	return cfg.ProjectName()
}

// confirm has a word typed again; anything else, and nobody to type it, is no.
func (r reset) confirm(what, word string) error {
	if r.yes {
		return nil
	}
	fmt.Fprintf(r.app.Stderr, "%s\nType %s to go on: ", what, word)
	typed, err := bufio.NewReader(r.app.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) == word && word != "" {
		return nil
	}
	fmt.Fprintln(r.app.Stderr)
	if err != nil && typed == "" {
		return refusal.New("--yes goes on without asking", "nobody is there to confirm it; nothing was removed")
	}
	return refusal.New("", "%q is not %q; nothing was removed", strings.TrimSpace(typed), word)
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
