package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// reviewOptions are the flags of forge review.
type reviewOptions struct {
	base        string   // "" = found
	specialists []string // none = all
	mayChange   []string // globs of evidence that may go
	committed   bool     // HEAD alone, without what is not committed
	phaseless   bool     // reviewers are not told what the project is to do
	output      string
}

func (a *App) reviewCommand() *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "review a change before it is merged",
		Description: "The change is what differs between the base and the working tree, uncommitted and untracked files included. Configuration, prompts and the agents' own settings come from the base.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "compare with where the change left `REF`; else with the pull request's base in CI, the upstream, or the default branch"},
			&cli.StringSliceFlag{Name: "specialists", Usage: "ask these `NAMES` alone, such as security,simplicity"},
			&cli.BoolFlag{Name: "committed", Usage: "review HEAD, without what is not committed"},
			&cli.BoolFlag{Name: "phase-less", Usage: "show the change alone, without the project's spec"},
			&cli.StringSliceFlag{Name: "may-change", Usage: "let test files that match `GLOB` be removed"},
			outputFlag("text", "json", "sarif", "markdown"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json", "sarif", "markdown")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge review --base REF says what to compare with", "forge review takes no arguments, got %q", c.Args().First())
			}
			o := reviewOptions{base: c.String("base"), mayChange: c.StringSlice("may-change"), committed: c.Bool("committed"), phaseless: c.Bool("phase-less"), output: out}
			if c.IsSet("base") && o.base == "" {
				return refusal.New("name a branch, tag or commit", "--base is empty")
			}
			if o.specialists, err = namesOf(c); err != nil {
				return err
			}
			return a.review(c.Context, o)
		},
	}
}

// namesOf are the specialists that the flag names, each once.
func namesOf(c *cli.Context) ([]string, error) {
	var out []string
	for _, name := range c.StringSlice("specialists") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if c.IsSet("specialists") && len(out) == 0 {
		return nil, refusal.New("name reviewers, such as security,architecture", "--specialists is empty")
	}
	return out, nil
}

// reviewOf is one call of forge review.
type reviewOf struct {
	*checkout
	options reviewOptions
	repo    *git.Store
	temp    string // the base's files, and folders of agents
	base    reviewBase
	now     string // commit: what is reviewed
	left    []string
	set     work.Settings
	red     *redact.Redactor
}

// review reviews a change and says what came of it. A review is no run: the
// journal does not know of it.
func (a *App) review(ctx context.Context, o reviewOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	if _, err := config.NewMatcher(o.mayChange); err != nil {
		return refusal.New("correct --may-change", "%v", err)
	}
	at, err := git.Inspect(ctx, a.Dir)
	if err != nil {
		return err
	}
	state, err := config.StateDir(a.Environ, at.RepoRoot)
	if err != nil {
		return err
	}
	r := &reviewOf{checkout: &checkout{&project.Checkout{Env: a.env(), Base: at, State: state}, a}, options: o}
	if r.repo, err = git.Open(ctx, git.Config{StateDir: state, Root: at.RepoRoot, Environ: a.Environ}); err != nil {
		return err
	}
	if r.base, err = r.findBase(ctx); err != nil {
		return err
	}
	if r.temp, err = r.makeTemp(); err != nil {
		return err
	}
	defer func() {
		if err := os.RemoveAll(r.temp); err != nil {
			a.log.Warn("remove the folder of the review", "err", err)
		}
	}()
	res, err := r.judge(ctx)
	if err != nil {
		return err
	}
	return r.tell(res)
}

// judge does everything up to the result.
func (r *reviewOf) judge(ctx context.Context) (reviewResult, error) {
	asked, err := r.configure(ctx)
	if err != nil {
		return reviewResult{}, err
	}
	r.now = r.Checkout.Base.Commit
	if !r.options.committed {
		if r.now, r.left, err = r.repo.WorkTree(ctx, r.now); err != nil {
			return reviewResult{}, err
		}
	}
	changes, err := r.repo.Changes(ctx, r.base.Commit, r.now)
	if err != nil {
		return reviewResult{}, err
	}
	own, err := r.ownFindings(ctx, changes)
	if err != nil {
		return reviewResult{}, err
	}
	desk, done, err := r.desk(ctx, len(changes) > 0)
	if err != nil {
		return reviewResult{}, err
	}
	defer done()
	r.sayStart(changes)
	reports, err := r.ask(ctx, desk, asked)
	if err != nil {
		return reviewResult{}, err
	}
	return r.result(changes, own, reports), nil
}

func (r *reviewOf) sayStart(changes []work.FileChange) {
	what := "the working tree"
	if r.options.committed {
		what = "HEAD"
	}
	r.Log.Info("review of "+what, "files", len(changes), "base", r.base.Ref, "because", r.base.Why, "from", text.Short(r.base.Commit), "by", runs.ReviewedBy(r.set.Reviews))
}

// desk is who asks; done lets go of it. Where there is something to ask about,
// it is held to be able to answer before the first specialist is asked.
func (r *reviewOf) desk(ctx context.Context, needed bool) (*runs.Reviewers, func(), error) {
	d := &runs.Reviewers{Repo: r.repo, Blobs: blobFolder{filepath.Join(r.State, "blobs")}}
	none := func() {}
	secrets := redact.FromEnv(r.Environ, proc.SecretName)
	r.red = redact.New(secrets)
	if runs.ReviewAgent(r.set.Reviews.By) != "" {
		e, err := r.agentEngine(ctx)
		if err != nil {
			return nil, none, err
		}
		d.Agents = e.Agents
		return d, none, nil
	}
	var err error
	if d.Model, err = r.Model(); err != nil {
		return nil, none, err
	}
	if m, ok, err := r.Config.Model(); err == nil && ok && m.Key != "" {
		r.red = redact.New(append(secrets, m.Key))
	}
	if needed {
		if err := r.CheckReviewer(ctx, r.set, []string{reviewPhase}); err != nil {
			d.Model.Close()
			return nil, none, err
		}
	}
	return d, d.Model.Close, nil
}

// agentEngine finds the agent that reviews, and its sandbox.
func (r *reviewOf) agentEngine(ctx context.Context) (*project.Machine, error) {
	if err := r.CheckAgents(ctx, r.set); err != nil {
		return nil, err
	}
	e, err := r.Machine(ctx)
	if err != nil {
		return nil, err
	}
	return e, r.CheckSandbox(e, r.set.Sandbox)
}

// oldTemp is the age from which a review's folder belongs to nobody any more.
const oldTemp = 24 * time.Hour

// makeTemp makes the folder of this review in the state folder, where no
// agent looks, and removes what killed reviews left.
func (r *reviewOf) makeTemp() (string, error) {
	all := filepath.Join(r.State, "reviews")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the folder of the review: %v", err)
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for old reviews: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && r.Now().Sub(info.ModTime()) > oldTemp {
			_ = os.RemoveAll(filepath.Join(all, e.Name())) // the next review tries again
		}
	}
	return os.MkdirTemp(all, "r-")
}

// specialists are all that the base's configuration knows, built-in ones first.
func (r *reviewOf) specialists() []string {
	names := review.Builtin()
	for _, s := range r.Config.File.Reviews.Specialists {
		if s.Type != nil && !slices.Contains(names, *s.Type) {
			names = append(names, *s.Type)
		}
	}
	return names
}
