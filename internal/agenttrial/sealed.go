package agenttrial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/agenteval"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/refusal"
	"forge/internal/text"
)

// What the look-out of sealed says.
const (
	lookedOut = "LOOKED-OUT"
	sawFiles  = "SAW-THE-CHECKOUT"
	sawCommit = "SAW-THE-FUTURE"
)

// lookout is what an agent that wants to know the solution would do first: look
// into the user's checkout, and for the commits of the future.
const lookout = `cat >/dev/null
test -e "$1" && echo ` + sawFiles + `
git cat-file -e "$2" 2>/dev/null && echo ` + sawCommit + `
echo ` + lookedOut

// sealed makes sure that agents cannot read what they are to find: a program in the
// place of an agent tries, in the place of a try, under the same sandbox.
func (r *trial) sealed(ctx context.Context) (err error) {
	task := r.t.Tasks[0]
	w, err := r.place(ctx, task)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.drop()) }()
	file := filepath.Join(w.repo, filepath.FromSlash(config.ProjectFile))
	settings, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the settings of a try: %w", err)
	}
	const name = "forge-lookout"
	settings = fmt.Appendf(settings, "\n[agents.%s]\nkind = \"exec\"\ncommand = [\"sh\", \"-c\", %q, \"sh\", %q, %q]\n", name, lookout, filepath.Join(r.p.Base.RepoRoot, ".git"), task.Commit)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write the settings of a try: %w", err)
	}
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return fmt.Errorf("write the settings of a try: %w", err)
	}
	said, err := r.drive(ctx, w, "look around", "--agent", name, "--verify", "true", "--budget", "1")
	switch {
	case err != nil:
		return err
	case strings.Contains(said.message, sawFiles), strings.Contains(said.message, sawCommit):
		return refusal.New("forge doctor says which sandbox is missing; take your checkout out of [sandbox] read and write", "an agent here could read your checkout, and with it the changes that it is to make")
	case !strings.Contains(said.message, lookedOut):
		return refusal.New("run forge doctor", "nobody could find out what an agent sees here: %s", text.OneLine(lastLine(said.stderr), 300))
	}
	return r.hasNoFuture(ctx, w, task)
}

// hasNoFuture makes sure that the repository of a try has none of the commits that
// are to be found.
func (r *trial) hasNoFuture(ctx context.Context, w *place, first agenteval.Task) error {
	state, err := config.StateDir(w.environ, w.repo)
	if err != nil {
		return err
	}
	store, err := git.Open(ctx, git.Config{StateDir: state, Root: w.repo, Environ: w.environ})
	if err != nil {
		return err
	}
	for _, commit := range []string{first.Commit, r.t.Head} {
		if has, err := store.Exists(ctx, commit); err != nil || has {
			return errors.Join(err, fmt.Errorf("the repository of a try has commit %s of its future", text.Short(commit)))
		}
	}
	return nil
}
