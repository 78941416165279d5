package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/symphony"
	"forge/internal/text"
)

// note says beside a workspace whose it is: what has none is not Forge's to remove.
type note struct {
	ID         string    `json:"id"`
	Identifier string    `json:"identifier"`
	Made       time.Time `json:"made"`
	// Inside says that the repository of hooks is in the workspace, at this moment or
	// since somebody died.
	Inside bool `json:"inside,omitempty"`
}

// place is where an issue's workspace is, below a root whose links are followed.
func place(root, identifier string) (string, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", fmt.Errorf("make workspace.root: %w", err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("look for workspace.root: %w", err)
	}
	return symphony.Path(real, identifier)
}

// hold says that a workspace is a folder of its own right below its root, no link to
// elsewhere.
func hold(root, dir string) error {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("look for workspace.root: %w", err)
	}
	if err := symphony.Contained(real, dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look for the workspace: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder: take away what stands there", dir)
	}
	return nil
}

// workspace is the one of an issue, made and filled by its hook where there is none.
func (r *Runner) workspace(ctx context.Context, i symphony.Issue) (string, error) {
	set := r.Kept.Settings()
	dir, err := place(set.Root, i.Identifier)
	if err != nil {
		return "", err
	}
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("look for the workspace: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is no folder: take away what stands there", dir)
	default:
		n, err := readNote(dir)
		if err != nil {
			return "", err
		}
		if n.Identifier != i.Identifier {
			return "", fmt.Errorf("%s was not made for %s: take it away, or name another workspace.root", dir, i.Identifier)
		}
		if n.Made.IsZero() {
			break // whoever made it died before its hook was over
		}
		if n.Inside {
			if err := keepGit(dir); err != nil {
				return "", err
			}
			n.Inside = false
			return dir, writeNote(dir, n)
		}
		return dir, nil
	}
	if err := removeBeside(dir); err != nil {
		return "", err
	}
	if err := filetree.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("remove what is left of the workspace: %w", err)
	}
	if err := writeNote(dir, note{ID: i.ID, Identifier: i.Identifier}); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the workspace: %w", err)
	}
	err = r.hook(ctx, i, dir, "after_create", set.Hooks.AfterCreate)
	if err == nil {
		err = keepGit(dir)
	}
	if err == nil {
		err = writeNote(dir, note{ID: i.ID, Identifier: i.Identifier, Made: r.Board.Checkout.Now().UTC()})
	}
	if err != nil {
		return "", errors.Join(err, filetree.RemoveAll(dir), removeBeside(dir))
	}
	return dir, nil
}

func readNote(dir string) (n note, err error) {
	body, err := os.ReadFile(dir + symphony.NoteEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if err != nil {
		return n, fmt.Errorf("read whose workspace it is: %w", err)
	}
	return n, nil
}

func writeNote(dir string, n note) error {
	body, err := json.Marshal(n)
	if err == nil {
		err = atomicfile.Write(dir+symphony.NoteEnd, append(body, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write down whose workspace it is: %w", err)
	}
	return nil
}

// removeBeside removes what lies beside a workspace because of it.
func removeBeside(dir string) error {
	var all error
	for _, end := range []string{symphony.NoteEnd, symphony.GitEnd, ".index"} {
		all = errors.Join(all, filetree.RemoveAll(dir+end))
	}
	return all
}

// keepGit takes the repository of a workspace out of the agent's reach: in its place
// the agent gets one to throw away, which nobody reads again.
func keepGit(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(filepath.Join(dir, ".git"), dir+symphony.GitEnd); err != nil {
		return fmt.Errorf("keep the workspace's repository: %w", err)
	}
	return nil
}

// withGit does something while the repository that hooks made is in the workspace.
func withGit(dir string, do func() error) error {
	kept := dir + symphony.GitEnd
	if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
		return do()
	}
	n, err := readNote(dir)
	if err != nil {
		return err
	}
	in := filepath.Join(dir, ".git")
	if err := filetree.RemoveAll(in); err != nil {
		return fmt.Errorf("take the agent's repository away: %w", err)
	}
	n.Inside = true
	if err := writeNote(dir, n); err != nil {
		return err
	}
	if err := os.Rename(kept, in); err != nil {
		return fmt.Errorf("bring the workspace's repository back: %w", err)
	}
	did := do()
	if err := keepGit(dir); err != nil {
		return errors.Join(did, err)
	}
	n.Inside = false
	return errors.Join(did, writeNote(dir, n))
}

// mostSaid is how much of a hook's output is told.
const mostSaid = 2000

// hook runs one in a workspace. Without a script there is nothing to do.
func (r *Runner) hook(ctx context.Context, i symphony.Issue, dir, name, script string) error {
	if strings.TrimSpace(script) == "" {
		return nil
	}
	set := r.Kept.Settings()
	log := r.log(i).With("hook", name)
	log.Info("hook", "outcome", "started")
	said := proc.NewTail(0, mostSaid)
	begun := r.Board.Checkout.Now()
	res, err := proc.Run(ctx, proc.Spec{
		Path: "sh", Args: []string{"-lc", script}, Dir: dir, Env: r.hookEnv(set, dir), Stdout: said, Stderr: said,
		Limits: proc.Limits{Total: set.Hooks.Timeout, Drain: time.Second, Grace: time.Second},
	})
	took := r.Board.Checkout.Now().Sub(begun).Round(time.Millisecond)
	var why string
	switch {
	case err != nil:
		why = "it cannot be started: " + err.Error()
	case res.Err != nil:
		why = res.Err.Error()
	case ctx.Err() != nil:
		return ctx.Err()
	case res.End == proc.EndTotal:
		why = "it took longer than " + set.Hooks.Timeout.String()
	case res.ExitCode == nil || *res.ExitCode != 0:
		why = "it failed"
		if res.ExitCode != nil {
			why = fmt.Sprintf("it ended with %d", *res.ExitCode)
		}
	}
	out := r.clean(text.OneLine(said.String(), mostSaid))
	if why == "" {
		log.Info("hook", "outcome", "completed", "took", took)
		return nil
	}
	log.Warn("hook", "outcome", "failed", "took", took, "reason", why, "output", out)
	if out != "" {
		why += ": " + text.Clip(out, 200)
	}
	return fmt.Errorf("hook %s: %s", name, why)
}

// hookEnv is what hooks find around them: the server's own surroundings, but for the
// tracker's key.
func (r *Runner) hookEnv(set symphony.Settings, dir string) (env []string) {
	for _, kv := range r.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == set.Tracker.KeyName || value != "" && value == set.Tracker.APIKey || strings.HasPrefix(name, "FORGE_") || name == "PWD" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "PWD="+dir)
}

// clean takes the tracker's key out of words.
func (r *Runner) clean(words string) string {
	if key := r.Kept.Settings().Tracker.APIKey; len(key) >= 4 {
		words = strings.ReplaceAll(words, key, "[redacted]")
	}
	return words
}

// heads are the commits by which the repository in a workspace is known: its HEAD,
// and where its history begins; none = there is no repository.
func heads(ctx context.Context, dir string) (head string, roots []string) {
	kept := dir + symphony.GitEnd
	if _, err := os.Lstat(kept); err != nil {
		return "", nil
	}
	git := func(args ...string) []string {
		c := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + gitDir(kept)}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.Output()
		if err != nil {
			return nil
		}
		return strings.Fields(string(out))
	}
	if at := git("rev-parse", "--verify", "--quiet", "HEAD^{commit}"); len(at) == 1 {
		head = at[0]
		roots = git("rev-list", "--max-parents=0", "HEAD")
	}
	return head, roots
}

// gitDir is the repository that a .git is, or names.
func gitDir(kept string) string {
	if body, err := os.ReadFile(kept); err == nil {
		if to, ok := strings.CutPrefix(strings.TrimSpace(string(body)), "gitdir: "); ok {
			return to
		}
	}
	return kept
}

// remove removes the workspace of an issue that is over, after its hook.
func (r *Runner) remove(ctx context.Context, i symphony.Issue) error {
	set := r.Kept.Settings()
	real, err := filepath.EvalSymlinks(set.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for workspace.root: %w", err)
	}
	dir, err := symphony.Path(real, i.Identifier)
	if err != nil {
		return err
	}
	n, err := readNote(dir)
	if err != nil || n.Identifier != i.Identifier {
		return err // it is not Forge's
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		if err := withGit(dir, func() error { return r.hook(ctx, i, dir, "before_remove", set.Hooks.BeforeRemove) }); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			r.log(i).Debug("before_remove is ignored", "err", err)
		}
	}
	if err := errors.Join(filetree.RemoveAll(dir), removeBeside(dir)); err != nil {
		return fmt.Errorf("remove the workspace: %w", err)
	}
	r.log(i).Info("workspace", "outcome", "removed", "path", dir)
	return nil
}
