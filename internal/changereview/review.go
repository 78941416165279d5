package changereview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/ignored"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// Options are how a change is to be reviewed.
type Options struct {
	Base        string   // "" = found
	Specialists []string // none = all
	MayChange   []string // globs of evidence that may go
	Committed   bool     // HEAD alone, without what is not committed
	Phaseless   bool     // reviewers are not told what the project is to do
	Pull        int64    // pull request on the code host, 0 = the change in the checkout
	MaxUSD      float64  // the most that it may cost, beside the caps of [cost]; 0 = they alone
	// Kill is closed when nobody waits any longer: agents are ended at once.
	// nil = never.
	Kill <-chan struct{}
}

// ongoing is a review under way.
type ongoing struct {
	*project.Checkout
	options Options
	repo    *git.Store
	temp    string // the base's files, and folders of agents
	base    Base
	now     string // commit: what is reviewed
	left    []string
	set     work.Settings
	red     *redact.Redactor
	// evidence are the paths of the change that its proofs rest on.
	evidence map[string]bool
	shown    review.Change    // what reviewers are asked about
	out      []review.LeftOut // what of the change they are not
	hidden   bool             // all of it is left out
	whole    review.Change    // with what is left out
	pull     *pull            // nil = none is reviewed
	folders  int              // with configurations of a base
	// entries are findings that the base lets stand; ignored and expired are those
	// of them that were found now.
	entries          []ignored.Entry
	ignored, expired []Ignored
}

// Run reviews the change in the checkout around the working directory.
// A review is no run: the journal does not know of it.
func Run(ctx context.Context, env project.Env, o Options) (Result, error) {
	if err := git.Probe(ctx); err != nil {
		return Result{}, err
	}
	if _, err := config.NewMatcher(o.MayChange); err != nil {
		return Result{}, refusal.New("correct --may-change", "%v", err)
	}
	at, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		return Result{}, err
	}
	state, err := config.StateDir(env.Environ, at.RepoRoot)
	if err != nil {
		return Result{}, err
	}
	r := &ongoing{Checkout: &project.Checkout{Env: env, Base: at, State: state}, options: o}
	if r.repo, err = git.Open(ctx, git.Config{StateDir: state, Root: at.RepoRoot, Environ: env.Environ}); err != nil {
		return Result{}, err
	}
	if r.base, err = r.findBase(ctx); err != nil {
		return Result{}, err
	}
	if r.temp, err = r.makeTemp(); err != nil {
		return Result{}, err
	}
	defer func() {
		if err := os.RemoveAll(r.temp); err != nil {
			env.Log.Warn("remove the folder of the review", "err", err)
		}
	}()
	if o.Pull == 0 {
		res, _, err := r.judge(ctx)
		return res, err
	}
	if err := r.onPull(ctx); err != nil {
		return Result{}, err
	}
	res, asked, err := r.judge(ctx)
	if err == nil {
		res, err = r.tell(ctx, res, asked)
	}
	return res, err
}

// judge does everything up to the result, which reports is of.
func (r *ongoing) judge(ctx context.Context) (res Result, reports []reviewed, err error) {
	asked, err := r.configure(ctx)
	if err != nil {
		return res, nil, err
	}
	if err := r.readIgnored(ctx); err != nil {
		return res, nil, err
	}
	r.now = r.Checkout.Base.Commit
	if !r.options.Committed {
		if r.now, r.left, err = r.repo.WorkTree(ctx, r.now); err != nil {
			return res, nil, err
		}
	}
	changes, err := r.repo.Changes(ctx, r.base.Commit, r.now)
	if err != nil {
		return res, nil, err
	}
	own, err := r.ownFindings(ctx, changes)
	if err != nil {
		return res, nil, err
	}
	reviewers, done, err := r.reviewers(ctx)
	if err != nil {
		return res, nil, err
	}
	defer done()
	if err := r.readChange(ctx, reviewers, changes); err != nil {
		return res, nil, err
	}
	r.sayStart(changes)
	if r.hidden || r.pull != nil && r.pull.again && len(r.shown.Files) == 0 {
		asked = nil // there is nothing that anybody could be asked about
	} else if err := r.answering(ctx, reviewers); err != nil {
		return res, nil, err
	}
	if len(asked) > 0 {
		r.prepare(reviewers, asked[0].Name)
	}
	if reports, err = r.ask(ctx, reviewers, asked); err != nil {
		return res, nil, err
	}
	r.ignore(reports)
	return r.result(changes, own, reports), reports, nil
}

// prepare says what each specialist is asked about. One of them says what the change
// does: the others would say the same.
func (r *ongoing) prepare(reviewers *runs.Reviewers, first string) {
	reviewers.Prepare = func(in *review.Input) {
		in.Change, in.Replacements = r.shown, true
		in.Summarise = in.Specialist.Name == first && (r.pull == nil || !r.pull.again)
		if r.pull != nil {
			in.Intent = r.pull.intent
		}
	}
}

func (r *ongoing) sayStart(changes []work.FileChange) {
	what := "the working tree"
	if r.options.Committed {
		what = "HEAD"
	}
	r.Log.Info("review of "+what, "files", len(changes), "base", r.base.Ref, "because", r.base.Why, "from", text.Short(r.base.Commit), "by", runs.ReviewedBy(r.set.Reviews))
}

// answering holds a model to be able to answer before the first specialist is
// asked, where there is something to ask about.
func (r *ongoing) answering(ctx context.Context, reviewers *runs.Reviewers) error {
	if reviewers.Model == nil || len(r.shown.Files) == 0 {
		return nil
	}
	return r.CheckReviewer(ctx, r.set, []string{reviewPhase})
}

// reviewers is who asks; done lets go of it.
func (r *ongoing) reviewers(ctx context.Context) (*runs.Reviewers, func(), error) {
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
	return d, d.Model.Close, nil
}

// agentEngine finds the agent that reviews, and its sandbox.
func (r *ongoing) agentEngine(ctx context.Context) (*project.Machine, error) {
	if err := r.CheckAgents(ctx, r.set); err != nil {
		return nil, err
	}
	e, err := r.Machine(ctx)
	if err != nil {
		return nil, err
	}
	return e, r.CheckSandbox(ctx, e, r.set.Sandbox)
}

// oldTemp is the age from which a review's folder belongs to nobody any more.
const oldTemp = 24 * time.Hour

// makeTemp makes the folder of this review in the state folder, where no
// agent looks, and removes what killed reviews left.
func (r *ongoing) makeTemp() (string, error) {
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
func (r *ongoing) specialists() []string {
	names := review.Builtin()
	for _, s := range r.Config.File.Reviews.Specialists {
		if s.Type != nil && !slices.Contains(names, *s.Type) {
			names = append(names, *s.Type)
		}
	}
	return names
}
