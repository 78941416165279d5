package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/symphony"
	"forge/internal/text"
	"forge/internal/tracker/linear"
	"forge/internal/work"
)

// Tracker is the name that the tracker of a WORKFLOW.md has among those of a user.
const Tracker = config.WorkflowTracker

// Runner is the work on one board by a file. All fields but Refresh are required.
type Runner struct {
	Kept    *Kept
	Project *linear.Project
	Board   *board.Opened
	Environ []string // of hooks
	// Refresh has the tracker asked and the board looked at, at once.
	Refresh func() (coalesced bool)

	mu    sync.Mutex
	spent map[string]counted // of runs, by their names; it may be lost
}

// New works by a file on a board.
func New(k *Kept, b *board.Opened) *Runner {
	return &Runner{
		Kept: k, Board: b, Environ: b.Environ, Project: linear.NewProject(k.Settings, nil), spent: map[string]counted{},
		Refresh: func() bool { return false },
	}
}

// Settings are those by which its issues are taken.
func (r *Runner) Settings(user []config.TrackerSettings) config.TrackerSettings {
	set := r.Kept.Settings()
	sandboxed := !slices.ContainsFunc(user, func(t config.TrackerSettings) bool { return t.Name == Tracker && !t.Sandboxed })
	return config.TrackerSettings{
		Name: Tracker, Kind: set.Tracker.Kind, Path: set.Tracker.Slug, Label: linear.Given, Call: "forge", Column: string(work.ColumnReady),
		States: []string{linear.Wanted}, Poll: set.Poll, Token: config.Secret{Name: set.Tracker.KeyName, Value: set.Tracker.APIKey}, Sandboxed: sandboxed,
	}
}

// log is the log with what says which issue it is about.
func (r *Runner) log(i symphony.Issue) *log.Logger {
	return r.Board.Log.With("issue_id", i.ID, "issue_identifier", i.Identifier)
}

// Ours says that an issue of the board came by the file.
func Ours(i work.Issue) bool { return strings.HasPrefix(i.Source, Tracker+"#") }

// issue is an issue of the board as the tracker told it last.
func (r *Runner) issue(i work.Issue) (symphony.Issue, bool) {
	_, identifier, _ := strings.Cut(i.Source, "#")
	return r.Project.Seen(linear.Number(identifier))
}

// fresh is an issue of the board as the tracker tells it, asked for where nobody did
// since the process began.
func (r *Runner) fresh(ctx context.Context, i work.Issue) (symphony.Issue, error) {
	if known, ok := r.issue(i); ok {
		return known, nil
	}
	_, identifier, _ := strings.Cut(i.Source, "#")
	if _, err := r.Project.Read(ctx, linear.Number(identifier)); err != nil {
		return symphony.Issue{}, err
	}
	known, ok := r.issue(i)
	if !ok {
		return known, fmt.Errorf("the tracker does not know %s any more", i.Source)
	}
	return known, nil
}

// Begun is what an attempt at an issue begins with.
type Begun struct {
	Workspace string
	Prompt    string
	// Head is the commit that the hook after_create left in the workspace, "" = none.
	Head string
}

// Begin makes the workspace of an issue, and its prompt. known says whether a commit
// is one of the checkout's.
func (r *Runner) Begin(ctx context.Context, i work.Issue, known func(commit string) (bool, error)) (b Begun, err error) {
	is, err := r.fresh(ctx, i)
	if err != nil {
		return b, err
	}
	past, _, err := r.attempts(ctx, i)
	if err != nil {
		return b, err
	}
	if b.Prompt, err = r.Kept.Now().Render(is, past); err != nil {
		return b, fmt.Errorf("%s: %w", r.Kept.Name(), err)
	}
	if b.Workspace, err = r.workspace(ctx, is); err != nil {
		return b, err
	}
	head, roots := heads(ctx, b.Workspace)
	if head == "" {
		return b, nil
	}
	for n, commit := range append([]string{head}, roots...) {
		ok, err := known(commit)
		if err != nil {
			return b, err
		}
		if ok {
			if n == 0 {
				b.Head = head
			}
			return b, nil
		}
	}
	return b, fmt.Errorf("after_create left commit %s in the workspace, and the checkout %s knows neither it nor where its history begins: have it make the repository that %s is in, or git fetch in the checkout", text.Short(head), r.Board.Base.RepoRoot, r.Kept.Name())
}

// Around runs the hooks around an attempt that works in a workspace.
func (r *Runner) Around(ctx context.Context, i work.Issue, dir string, do func() error) error {
	is, err := r.fresh(ctx, i)
	if err != nil {
		return err
	}
	if err := r.holds(is, dir); err != nil {
		return err
	}
	if err := withGit(dir, func() error { return r.hook(ctx, is, dir, "before_run", r.Kept.Settings().Hooks.BeforeRun) }); err != nil {
		return err
	}
	defer func() {
		// However it ended; what comes of it changes nothing.
		after := context.WithoutCancel(ctx)
		if r.holds(is, dir) != nil {
			return
		}
		if err := withGit(dir, func() error {
			return r.hook(after, is, dir, "after_run", r.Kept.Settings().Hooks.AfterRun)
		}); err != nil {
			r.log(is).Debug("after_run is ignored", "err", err)
		}
	}()
	r.log(is).Info("attempt", "outcome", "started", "path", dir)
	err = do()
	outcome := "completed"
	if err != nil {
		outcome = "failed"
	}
	end := []any{"outcome", outcome}
	if c, bad := r.countRun(context.WithoutCancel(ctx), i.Run); bad == nil && i.Run != "" {
		end = append(end, "session_id", sessionOf(c), "turns", c.turns, "tokens", c.tokens.Total)
	}
	r.log(is).Info("attempt", end...)
	return err
}

// holds says that a folder is the workspace of an issue: below the root of now, or of
// when it was made.
func (r *Runner) holds(is symphony.Issue, dir string) error {
	err := hold(r.Kept.Settings().Root, dir)
	if err == nil {
		return nil
	}
	if n, bad := readNote(dir); bad == nil && n.Identifier == is.Identifier && filepath.Base(dir) == symphony.Key(is.Identifier) {
		err = hold(filepath.Dir(dir), dir)
	}
	return err
}

// historyRead is how many lines of an issue's history are looked through.
const historyRead = 200

// attempts is how often an issue was tried again in a row, and the last time.
func (r *Runner) attempts(ctx context.Context, i work.Issue) (past int, last symphony.Retry, err error) {
	lines, err := r.Board.Journal.IssueHistory(ctx, i.Project, i.ID, historyRead, 0)
	if err != nil {
		return 0, last, err
	}
	var steps []symphony.Step
	for _, l := range lines {
		s := symphony.Step{Person: l.Door != "factory" && l.Door != "tracker", Landed: l.Action == work.IssueLanded}
		for _, f := range l.Fields {
			if f.Field == "reason" {
				s.Reason = f.To
			}
		}
		steps = append(steps, s)
	}
	past, last = symphony.Attempts(steps)
	return past, last, nil
}

// Again says that a claimed issue is tried again by itself now: that it would be is
// the last that its history says before the claim.
func (r *Runner) Again(ctx context.Context, i work.Issue) (bool, error) {
	lines, err := r.Board.Journal.IssueHistory(ctx, i.Project, i.ID, historyRead, 0)
	for _, l := range lines {
		if l.Action == work.IssueClaimed {
			continue
		}
		for _, f := range l.Fields {
			if f.Field == "reason" {
				_, again := symphony.ReadRetry(f.To)
				return again && l.Door == "factory", err
			}
		}
		return false, err
	}
	return false, err
}

// Settle is what follows from an attempt that did not finish its issue: it is tried
// again by itself, later, until that was often enough.
func (r *Runner) Settle(ctx context.Context, i work.Issue, ended factory.Ended) (factory.Ended, error) {
	if ended.Outcome != work.RunFailed || ended.Rejected {
		return ended, nil
	}
	past, _, err := r.attempts(ctx, i)
	if err != nil {
		return ended, err
	}
	set := r.Kept.Settings()
	how := symphony.Failed
	if ended.Exhausted {
		how = symphony.Continues
	}
	is, _ := r.issue(i)
	why := factory.Line(ended.Reason)
	next, ok := set.Next(how, past, r.Board.Checkout.Now(), why)
	if !ok {
		r.log(is).Warn("retry", "outcome", "failed", "attempt", past, "reason", why)
		ended.Reason = fmt.Sprintf("it was tried again %d times: %s", past, why)
		return ended, nil
	}
	r.log(is).Info("retry", "outcome", "retrying", "attempt", next.Attempt, "due", next.Due.Format(time.RFC3339), "reason", why)
	ended.Until, ended.Retry = next.Due, next.Line()
	return ended, nil
}

// Order puts ready issues into the order in which they are dispatched. Those that
// did not come by the file stay before them, as the board has them; those of which
// the tracker told nothing yet come last.
func (r *Runner) Order(all []work.Issue) {
	group := func(i work.Issue, seen bool) int {
		switch {
		case !Ours(i):
			return 0
		case seen:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b work.Issue) int {
		x, first := r.issue(a)
		y, second := r.issue(b)
		if g := cmp.Compare(group(a, first), group(b, second)); g != 0 || !first || !second {
			return g
		}
		return symphony.Order(x, y)
	})
}

// Room says whether there is room for one more issue beside those that are worked on.
func (r *Runner) Room(ctx context.Context, running []int64, i work.Issue) (bool, error) {
	if !Ours(i) {
		return true, nil
	}
	is, ok := r.issue(i)
	if !ok {
		return true, nil // the tracker is asked before it is claimed
	}
	var states []string
	for _, id := range running {
		other, err := r.Board.Journal.Issue(ctx, i.Project, id)
		if err != nil {
			return false, err
		}
		state := ""
		if known, ok := r.issue(other); ok {
			state = known.State
		}
		states = append(states, state)
	}
	return r.Kept.Settings().Room(states, is.State), nil
}

// sweepEvery is how often it is looked for workspaces of issues that are over.
const sweepEvery = 2 * time.Second

// Watch looks at the file and removes workspaces of issues that are over, until ctx
// ends.
func (r *Runner) Watch(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { r.Kept.Watch(ctx, func() { r.Refresh() }) })
	r.cleanAtStart(ctx)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.Clean(ctx); err != nil && ctx.Err() == nil {
			r.Board.Log.Warn("workspaces", "outcome", "failed", "reason", r.clean(text.OneLine(err.Error(), 300)))
		}
	}
}

// cleanAtStart removes the workspaces of issues that ended while nobody was here.
func (r *Runner) cleanAtStart(ctx context.Context) {
	names, err := r.Project.ByStates(ctx, r.Kept.Settings().Tracker.Terminal)
	if err != nil {
		if ctx.Err() == nil {
			r.Board.Log.Warn("workspaces of issues that are over are not looked for", "outcome", "failed", "reason", r.clean(text.OneLine(err.Error(), 300)))
		}
		return
	}
	for _, name := range names {
		if err := r.cleanOne(ctx, name, symphony.Issue{Identifier: name}); err != nil && ctx.Err() == nil {
			r.Board.Log.Warn("workspace", "issue_identifier", name, "outcome", "failed", "reason", r.clean(text.OneLine(err.Error(), 300)))
		}
	}
}

// Clean removes the workspaces of issues of which the tracker said that they are over.
func (r *Runner) Clean(ctx context.Context) error {
	notes, err := notesIn(r.Kept.Settings().Root)
	for _, n := range notes {
		is, known := r.Project.Seen(linear.Number(n.Identifier))
		if r.Kept.Settings().Reconcile(is, known) == symphony.Clean {
			err = errors.Join(err, r.cleanOne(ctx, n.Identifier, is))
		}
	}
	return err
}

// cleanOne removes a workspace that nobody works in.
func (r *Runner) cleanOne(ctx context.Context, identifier string, is symphony.Issue) error {
	row, ok, err := r.Board.Journal.TrackerIssue(ctx, r.Project.Name(), linear.Number(identifier))
	if err != nil {
		return err
	}
	if ok && row.Issue != 0 {
		claims, err := r.Board.Journal.Claims(ctx, r.Board.Project)
		if err != nil {
			return err
		}
		if c := claims[row.Issue]; c.Owner != "" && !c.Dead {
			return nil // whoever works in it is stopped first
		}
	}
	return r.remove(ctx, is)
}
