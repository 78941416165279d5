package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/shortage"
	"forge/internal/text"
	"forge/internal/work"
)

// job is one command made ready to be carried out: do holds values only, so
// that it can run beside the core. It returns nil when ctx ended it before it
// came to a result.
type job struct {
	command Command
	mark    string
	do      func(ctx context.Context) Fact
}

func (r *session) prepare(ctx context.Context, c Command) (job, error) {
	j := job{command: c, mark: r.NewMark()}
	p := r.s.Phases[c.Phase]
	switch c.Step {
	case StepFolder:
		j.do = r.folderJob(c, p, j.mark)
	case StepIterate:
		day, err := r.day(ctx)
		if err != nil {
			return j, err
		}
		j.do = r.iterateJob(c, p, j.mark, day)
	case StepBase, StepVerify:
		j.do = r.verifyJob(c, p, j.mark)
	case StepControl:
		j.do = r.controlJob(c, p, j.mark)
	case StepReview:
		day, err := r.day(ctx)
		if err != nil {
			return j, err
		}
		j.do = r.reviewJob(c, p, j.mark, day)
	case StepArbiter:
		j.do = r.arbiterJob(c, p)
	case StepMerge:
		j.do = r.mergeJob(c, p)
	case StepLand:
		count, hash, err := r.Journal.Head(ctx)
		if err != nil {
			return j, fmt.Errorf("read the journal's head: %w", err)
		}
		if j.do = r.landJob(c, p, count, hash); p.Pull.live() {
			j.do = r.landPullJob(c, p, count, hash)
		}
	case StepPublish:
		j.do = r.publishJob(c, p)
	case StepPull:
		j.do = r.readJob(c, p)
	case StepClose:
		j.do = r.closeJob(c)
	case StepDeliver:
		j.do = r.deliverJob(c)
	default:
		return j, fmt.Errorf("carry out %s: unknown step %q", c.ID, c.Step)
	}
	return j, nil
}

// failed turns an error into the fact that nobody knows what came of c.
func failed(ctx context.Context, c Command, doing string, err error) Fact {
	if ctx.Err() != nil {
		return nil
	}
	return broke(c, doing, err)
}

// broke is the fact that an error kept c from being carried out.
func broke(c Command, doing string, err error) Fact {
	return Broke{Command: c, Problem: fmt.Sprintf("%s: %v", doing, err), Short: shortage.Of(err)}
}

// opening is how a phase folder is made.
type opening struct {
	base string // commit that setup runs on: of the run branch, no agent's own
	last string // commit that the folder holds afterwards
	req  work.SetupRequest
}

func (r *session) opening(p *Phase, mark string) opening {
	set := r.s.Spec.Settings
	return opening{base: r.s.top(p).Base, last: p.Last, req: work.SetupRequest{
		Phase: p.Number, Dir: r.Layout.PhaseDir(r.s.Run, p.Number), Checkout: r.Layout.Checkout, Settings: set.Worktree,
		Sandbox: set.Sandbox, Hide: []string{r.Layout.State}, Mark: mark, Caches: set.Verify.Caches,
	}}
}

func (r *session) folderJob(c Command, p *Phase, mark string) func(context.Context) Fact {
	o := r.opening(p, mark)
	return func(ctx context.Context) Fact {
		rep, err := r.openFolder(ctx, o)
		if err != nil {
			return failed(ctx, c, "make the phase folder", err)
		}
		return FolderDone{Command: c, Setup: rep}
	}
}

// openFolder makes a folder ready. Setup runs before any agent's work is in
// it, since what setup produces is kept for other folders.
func (r *session) openFolder(ctx context.Context, o opening) (work.CommandsReport, error) {
	if err := r.Repo.OpenFolder(ctx, o.req.Dir, o.base); err != nil {
		return work.CommandsReport{}, err
	}
	rep, err := r.Checks.Setup(ctx, o.req)
	if err != nil || !rep.OK {
		return rep, err
	}
	if o.last != o.base || len(o.req.Settings.Setup) > 0 {
		// Setup may have touched tracked files.
		err = r.Repo.ResetFolder(ctx, o.req.Dir, o.last)
	}
	return rep, err
}

// iteration is what an iterate job knows of its phase.
type iteration struct {
	dir, last, parent string
	reset             bool
	head              string   // resolve: the run head, or people's commits; "" = nothing to resolve
	theirs            string   // resolve: the phase's last snapshot
	marked            []string // files in which a conflict's markers stood before
	fresh             string   // prompt of a new session
	open              opening
	todos             bool     // of a job: read them in the snapshot
	done              []string // of them that were done before
}

func (r *session) iterateJob(c Command, p *Phase, mark string, day Day) func(context.Context) Fact {
	set := r.s.Spec.Settings
	session := r.s.sessionOf(p)
	agent := set.Agents[p.Set.Agent]
	limits := set.Limits
	limits.IterationSecs = p.Set.IterationSecs
	model := p.Set.Model
	if model == "" {
		model = agent.Model
	}
	dir := r.Layout.PhaseDir(r.s.Run, c.Phase)
	usd, tokens := r.s.ceiling(p, day)
	req := work.IterationRequest{
		Run: r.s.Run, Phase: c.Phase, PhaseName: p.Plan.Name, Iteration: c.Iteration, Attempt: c.Attempt, Level: r.s.Spec.Policy.Preset,
		Agent: agent, Model: model, Permission: p.Set.Permission, Verify: p.Set.Verify, Limits: limits,
		Dir: dir, Prompt: Prompt(r.s, p, session), Session: session, Mark: mark,
		LogPath:   r.Layout.IterationLog(r.s.Run, c.Phase, c.Iteration, c.Attempt),
		TimesPath: r.Layout.IterationTimes(r.s.Run, c.Phase, c.Iteration, c.Attempt),
		Sandbox:   set.Sandbox, ReadPaths: r.Repo.ObjectPaths(), HidePaths: []string{r.Layout.State},
		CostUSD: usd, Tokens: tokens,
	}
	if session != "" {
		req.Before = p.Total
	}
	it := iteration{
		dir: dir, last: p.Last, parent: p.Last, reset: p.Reset, fresh: Prompt(r.s, p, ""),
		open: r.opening(p, mark), todos: r.s.ofJob(p),
	}
	if p.Check != nil {
		it.done = p.Check.Done
	}
	if p.Kind == IterationResolve {
		it.head, it.theirs, it.parent = p.Merge.Head, p.Last, p.Merge.Commit
	}
	it.marked = p.marked()
	if c := p.Clash; c != nil {
		it.head, it.theirs, it.parent = c.Head, p.Last, c.Commit
	}
	ref := Ref(r.s.Run, fmt.Sprintf("%s/%d-%d", c.Phase, c.Iteration, c.Attempt))
	message := fmt.Sprintf("phase %s iteration %d attempt %d\n\nForge-Run: %s\nForge-Phase: %s\n", c.Phase, c.Iteration, c.Attempt, r.s.Run, c.Phase)
	return func(ctx context.Context) Fact { return r.iterate(ctx, c, it, req, ref, message) }
}

func (r *session) iterate(ctx context.Context, c Command, it iteration, req work.IterationRequest, ref, message string) Fact {
	interrupted := IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeInterrupted, Detail: "Forge was asked to stop"}}
	conflicts, err := r.reset(ctx, it)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted
		}
		return failed(ctx, c, "set the phase folder back", err)
	}
	if err := keepPrompt(req); err != nil {
		return failed(ctx, c, "keep the prompt", err)
	}
	links, err := r.Checks.Links(ctx, it.open.req.Checkout, it.open.req.Settings)
	if err != nil {
		return failed(ctx, c, "find what is linked", err)
	}
	req.ReadPaths = append(req.ReadPaths, links...)
	rep, err := r.Agents.Iterate(ctx, req, r.tell)
	if err == nil && rep.SessionLost && req.Session != "" && ctx.Err() == nil {
		// The agent forgot the session, so that the feedback alone would
		// mean nothing to it.
		req.Session, req.Prompt, req.Before = "", it.fresh, work.Usage{}
		if err := keepPrompt(req); err != nil {
			return failed(ctx, c, "keep the prompt", err)
		}
		rep, err = r.Agents.Iterate(ctx, req, r.tell)
	}
	if ctx.Err() != nil {
		interrupted.Report.Usage, interrupted.Report.Total = rep.Usage, rep.Total
		return interrupted
	}
	if err != nil {
		return failed(ctx, c, "run the agent", err)
	}
	done := IterationDone{Command: c, Report: rep}
	if rep.Outcome == work.OutcomeInterrupted || rep.Outcome == work.OutcomeRateLimited {
		return done
	}
	ctx = context.WithoutCancel(ctx)
	done.Snapshot, err = r.Repo.Snapshot(ctx, it.dir, it.parent, ref, message)
	if err != nil {
		return broke(c, "take the snapshot", err)
	}
	if it.todos {
		if err := r.readTodos(ctx, it, &done, ref); err != nil {
			return broke(c, "read the job's todos", err)
		}
	}
	if conflicts = append(conflicts, it.marked...); len(conflicts) > 0 {
		done.Markers, err = r.Repo.HasMarkers(ctx, done.Snapshot.Commit, conflicts)
		if err != nil {
			return broke(c, "look for conflict markers", err)
		}
	}
	return done
}

// readTodos reads the todos in the snapshot. Those that were finished give it
// their names.
func (r *session) readTodos(ctx context.Context, it iteration, done *IterationDone, ref string) error {
	if r.Todos == nil {
		return errors.New("nobody reads them")
	}
	check, err := r.Todos.Todos(ctx, done.Snapshot.Commit)
	if err != nil {
		return err
	}
	done.Todos = &check
	finished := slices.DeleteFunc(slices.Clone(check.Done), func(title string) bool { return slices.Contains(it.done, clipTitle(title)) })
	if len(check.Problems) > 0 || len(finished) == 0 || !done.Snapshot.Changed {
		return nil
	}
	var b strings.Builder
	for _, title := range finished {
		fmt.Fprintf(&b, "todo: %s\n", text.FirstLine(text.Plain(title), 100))
	}
	done.Snapshot.Commit, err = r.Repo.CommitTree(ctx, done.Snapshot.Tree, []string{it.parent}, b.String(), ref)
	return err
}

// PromptOf is the file beside an iteration's log that holds its prompt.
func PromptOf(log string) string { return strings.TrimSuffix(log, ".log") + ".prompt" }

// keepPrompt writes down what the agent is told, for people to read.
func keepPrompt(req work.IterationRequest) error {
	if req.LogPath == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(req.LogPath), 0o700); err != nil {
		return err
	}
	return os.WriteFile(PromptOf(req.LogPath), []byte(req.Prompt), 0o600)
}

// reset sets the folder to where the iteration starts, unless it is there, and
// returns the files in which it has conflicts to resolve.
func (r *session) reset(ctx context.Context, it iteration) (conflicts []string, err error) {
	if it.head != "" {
		return r.Repo.ConflictFolder(ctx, it.dir, it.head, it.theirs)
	}
	if !it.reset {
		return nil, nil
	}
	if folderExists(it.dir) {
		return nil, r.Repo.ResetFolder(ctx, it.dir, it.last)
	}
	rep, err := r.openFolder(ctx, it.open)
	if err == nil && !rep.OK {
		err = errors.New("setup: " + rep.Problem)
	}
	return nil, err
}

func folderExists(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// tell passes a sign of life on; when nobody keeps up, it is dropped.
func (r *session) tell(a work.Activity) {
	select {
	case r.activity <- a:
	default:
	}
}
