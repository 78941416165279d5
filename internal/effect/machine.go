package effect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/shortage"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Machine carries effects out, with what the machine has that it stands for. All
// fields but Listeners, Proofs, Reviewers, Council, Todos, Host, Results, Hooks, Targets, Pages and Beside are required. It may be used for
// several effects at once.
type Machine struct {
	Agents    Agents
	Listeners Listeners // nil where no agent takes what people say while it works
	Repo      Repo
	Checks    Checks
	Evidence  Evidence
	Proofs    Proofs    // nil where nobody remembers any
	Reviewers Reviewers // nil where no phase is reviewed
	Council   Council   // nil where no phase has one
	Todos     Todos     // nil where the run is no job
	Host      Host      // nil where the run has no code host
	Results   Results   // nil where its result is no pull request of several repositories
	Hooks     Hooks     // nil where the run has none
	Targets   Targets   // nil where the run is of one repository
	Pages     Pages     // nil where nobody can show any: what they would prove is not proven
	Layout    Layout
	Now       func() time.Time
	// Beside are the machines of the other repositories of a run, by name.
	Beside map[string]*Machine
}

// Attending is an attempt at an effect: the mark that its processes carry, and
// who is told of signs of life, from any goroutine; Tell must not block.
type Attending struct {
	Mark string
	Tell func(work.Activity)
}

// ErrTold is the cause of the end of an iteration whose agent is to hear at once
// what a person said: what it did so far is kept.
var ErrTold = errors.New("a person said something")

// Do carries e out and returns its fact: nil when ctx ended it before it came to
// a result, so that it has to be done again. It may be repeated after a crash.
func (m *Machine) Do(ctx context.Context, e orchestrator.Effect, a Attending) orchestrator.Fact {
	if name := e.Of().Repository; name != "" {
		other := m.Beside[name]
		if other == nil {
			return orchestrator.Broke{Command: e.Of(), Problem: "this machine does not have the repository " + name}
		}
		if t, of := e.(orchestrator.TogetherEffect); of {
			return other.together(ctx, t, m, a)
		}
		return other.do(ctx, e, a)
	}
	if t, of := e.(orchestrator.TogetherEffect); of {
		return m.together(ctx, t, m, a)
	}
	return m.do(ctx, e, a)
}

// do is Do in the repository of m.
func (m *Machine) do(ctx context.Context, e orchestrator.Effect, a Attending) orchestrator.Fact {
	switch e := e.(type) {
	case orchestrator.FolderEffect:
		return m.folder(ctx, e, a)
	case orchestrator.IterateEffect:
		return m.iterate(ctx, e, a)
	case orchestrator.TellEffect:
		return m.tell(ctx, e)
	case orchestrator.VerifyEffect:
		return m.verify(ctx, e, a)
	case orchestrator.ControlEffect:
		return m.control(ctx, e, a)
	case orchestrator.ReviewEffect:
		return m.review(ctx, e, a)
	case orchestrator.ArbiterEffect:
		return m.arbitrate(ctx, e)
	case orchestrator.VoteEffect:
		return m.vote(ctx, e, a)
	case orchestrator.MergeEffect:
		return m.merge(ctx, e)
	case orchestrator.TrainEffect:
		return m.train(ctx, e)
	case orchestrator.LandEffect:
		return m.land(ctx, e)
	case orchestrator.LandPullEffect:
		return m.landPull(ctx, e)
	case orchestrator.PublishEffect:
		return m.publish(ctx, e)
	case orchestrator.ReadEffect:
		return m.read(ctx, e)
	case orchestrator.CloseEffect:
		return m.close(ctx, e)
	case orchestrator.DeliverEffect:
		return m.deliver(ctx, e)
	case orchestrator.HookEffect:
		return m.hook(ctx, e, a)
	}
	return orchestrator.Broke{Command: e.Of(), Problem: fmt.Sprintf("this machine does not know the effect %T", e)}
}

// failed turns an error into the fact that nobody knows what came of c.
func failed(ctx context.Context, c orchestrator.Command, doing string, err error) orchestrator.Fact {
	if ctx.Err() != nil {
		return nil
	}
	return broke(c, doing, err)
}

// broke is the fact that an error kept c from being carried out.
func broke(c orchestrator.Command, doing string, err error) orchestrator.Fact {
	return orchestrator.Broke{Command: c, Problem: fmt.Sprintf("%s: %v", doing, err), Short: shortage.Of(err)}
}

// hidden are the paths that nothing in a sandbox sees.
func (m *Machine) hidden() []string {
	all := append([]string{m.Layout.State}, m.Layout.Others...)
	if m.Layout.Workspace != "" {
		all = append(all, m.Layout.Workspace+".git")
	}
	return all
}

// setup is what makes o's folder ready here.
func (m *Machine) setup(o orchestrator.Opening, mark string) work.SetupRequest {
	req := o.Setup
	req.Dir, req.Checkout = m.Layout.PhaseDir(o.Run, req.Phase), m.Layout.Checkout
	req.Hide, req.Mark = m.hidden(), mark
	return req
}

func (m *Machine) folder(ctx context.Context, e orchestrator.FolderEffect, a Attending) orchestrator.Fact {
	rep, err := m.openFolder(ctx, e.Opening, a.Mark)
	if err != nil {
		return failed(ctx, e.Command, "make the phase folder", err)
	}
	return orchestrator.FolderDone{Command: e.Command, Setup: rep}
}

// openFolder makes a folder ready. Setup runs before any agent's work is in
// it, since what setup produces is kept for other folders.
func (m *Machine) openFolder(ctx context.Context, o orchestrator.Opening, mark string) (work.CommandsReport, error) {
	req := m.setup(o, mark)
	open := m.Repo.OpenFolder
	if req.Dir == m.Layout.Workspace {
		// What its hook left there, such as installed packages, stays, where git ignores it.
		open = m.Repo.ResetFolder
	}
	if err := open(ctx, req.Dir, o.Base); err != nil {
		return work.CommandsReport{}, err
	}
	rep, err := m.Checks.Setup(ctx, req)
	if err != nil || !rep.OK {
		return rep, err
	}
	if o.Last != o.Base || len(req.Settings.Setup) > 0 {
		// Setup may have touched tracked files.
		err = m.Repo.ResetFolder(ctx, req.Dir, o.Last)
	}
	return rep, err
}

// here is an iteration's request with what is this machine's.
func (m *Machine) here(req work.IterationRequest, mark string) work.IterationRequest {
	req.Mark, req.Dir = mark, m.Layout.PhaseDir(req.Run, req.Phase)
	req.LogPath = m.Layout.IterationLog(req.Run, req.Phase, req.Iteration, req.Attempt)
	req.TimesPath = m.Layout.IterationTimes(req.Run, req.Phase, req.Iteration, req.Attempt)
	req.ReadPaths, req.HidePaths = m.Repo.ObjectPaths(), m.hidden()
	return req
}

func (m *Machine) iterate(ctx context.Context, e orchestrator.IterateEffect, a Attending) orchestrator.Fact {
	c, req := e.Command, m.here(e.Request, a.Mark)
	interrupted := orchestrator.IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeInterrupted, Detail: "Forge was asked to stop"}}
	conflicts, err := m.reset(ctx, e, a.Mark)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted
		}
		return failed(ctx, c, "set the phase folder back", err)
	}
	if err := m.showCouncil(ctx, &e, &req); err != nil {
		return failed(ctx, c, "show what the others made", err)
	}
	if err := keepPrompt(req); err != nil {
		return failed(ctx, c, "keep the prompt", err)
	}
	links, err := m.Checks.Links(ctx, m.Layout.Checkout, e.Opening.Setup.Settings)
	if err != nil {
		return failed(ctx, c, "find what is linked", err)
	}
	req.ReadPaths = append(slices.Clip(req.ReadPaths), links...)
	rep, err := m.Agents.Iterate(ctx, req, a.Tell)
	if err == nil && rep.SessionLost && req.Session != "" && ctx.Err() == nil {
		// The agent forgot the session, so that the feedback alone would
		// mean nothing to it.
		req.Session, req.Prompt, req.Before = "", e.Fresh, work.Usage{}
		if err := keepPrompt(req); err != nil {
			return failed(ctx, c, "keep the prompt", err)
		}
		rep, err = m.Agents.Iterate(ctx, req, a.Tell)
	}
	switch {
	case ctx.Err() != nil && err == nil && errors.Is(context.Cause(ctx), ErrTold):
		// What it did so far is kept. One that ended by itself, or at a cap, just
		// before is what it is.
		if rep.Outcome == work.OutcomeInterrupted {
			rep.Outcome, rep.Detail, rep.Claims = work.OutcomeTold, "ended before its end: a person said something, or its work is needed no more", nil
		}
		ctx = context.WithoutCancel(ctx)
	case ctx.Err() != nil:
		interrupted.Report.Usage, interrupted.Report.Total = rep.Usage, rep.Total
		return interrupted
	case err != nil:
		return failed(ctx, c, "run the agent", err)
	}
	rep = believed(rep, shortage.AtWork(req.Dir))
	rep.Whole, rep.Short = "", "" // they are never recorded
	done := orchestrator.IterationDone{Command: c, Report: rep}
	if rep.Outcome == work.OutcomeInterrupted || rep.Outcome == work.OutcomeRateLimited {
		return done
	}
	ctx = context.WithoutCancel(ctx)
	done.Snapshot, err = m.Repo.Snapshot(ctx, req.Dir, e.Parent, e.Ref, e.Message)
	if err != nil {
		return broke(c, "take the snapshot", err)
	}
	if err := m.keepFeedback(ctx, e, req.Dir, &done); err != nil {
		return broke(c, "keep what people said of the job", err)
	}
	if e.Todos {
		if err := m.readTodos(ctx, e, &done); err != nil {
			return broke(c, "read the job's todos", err)
		}
	}
	if e.Measure != "" {
		// A size that nobody can tell is unknown, which is the worst there is.
		if size, err := m.Repo.Size(ctx, e.Measure, done.Snapshot.Commit); err == nil {
			done.Size = &size
		}
	}
	if conflicts = append(conflicts, e.Marked...); len(conflicts) > 0 {
		done.Markers, err = m.Repo.HasMarkers(ctx, done.Snapshot.Commit, conflicts)
		if err != nil {
			return broke(c, "look for conflict markers", err)
		}
	}
	return done
}

// tell hands a message to the agent of an iteration that is under way here.
func (m *Machine) tell(ctx context.Context, e orchestrator.TellEffect) orchestrator.Fact {
	done := orchestrator.TellDone{Command: e.Command, Report: work.TellReport{Why: "its agent is not reached"}}
	if m.Listeners != nil {
		done.Report = m.Listeners.Tell(ctx, e.Request)
	}
	if ctx.Err() != nil {
		return nil
	}
	return done
}

// keepFeedback sees to it that what people said of a job is in its documents, also
// where the agent did not keep it.
func (m *Machine) keepFeedback(ctx context.Context, e orchestrator.IterateEffect, dir string, done *orchestrator.IterationDone) error {
	if len(e.Feedback) == 0 || m.Todos == nil {
		return nil
	}
	kept, tree, err := m.Todos.KeepFeedback(ctx, done.Snapshot.Commit, e.Feedback, e.Ref)
	if err != nil || kept == done.Snapshot.Commit {
		return err
	}
	done.Snapshot.Commit, done.Snapshot.Tree = kept, tree
	return m.Repo.ResetFolder(ctx, dir, kept)
}

// readTodos reads the todos in the snapshot. Those that were finished give it
// their names.
func (m *Machine) readTodos(ctx context.Context, e orchestrator.IterateEffect, done *orchestrator.IterationDone) error {
	if m.Todos == nil {
		return errors.New("nobody reads them")
	}
	check, err := m.Todos.Todos(ctx, done.Snapshot.Commit)
	if err != nil {
		return err
	}
	done.Todos = &check
	finished := slices.DeleteFunc(slices.Clone(check.Done), func(title string) bool { return slices.Contains(e.Done, orchestrator.ClipTitle(title)) })
	if len(check.Problems) > 0 || len(finished) == 0 || !done.Snapshot.Changed {
		return nil
	}
	var b strings.Builder
	for _, title := range finished {
		fmt.Fprintf(&b, "todo: %s\n", text.FirstLine(text.Plain(title), 100))
	}
	done.Snapshot.Commit, err = m.Repo.CommitTree(ctx, done.Snapshot.Tree, []string{e.Parent}, b.String(), e.Ref)
	return err
}

// believed is a report whose claims count. Where the machine ran out of something while
// the agent worked, what it wrote may be missing without it noticing.
func believed(rep work.IterationReport, lacks error) work.IterationReport {
	short := cmp.Or(rep.Short, shortage.Of(lacks))
	if short == "" || !rep.Outcome.KeepsClaim() {
		return rep
	}
	rep.Outcome, rep.Claims = work.OutcomeAgentFailed, nil
	rep.Detail = short + " while it worked: what it wrote may be missing, and what it says of that does not count"
	return rep
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
func (m *Machine) reset(ctx context.Context, e orchestrator.IterateEffect, mark string) (conflicts []string, err error) {
	dir := m.Layout.PhaseDir(e.Opening.Run, e.Opening.Setup.Phase)
	if e.Head != "" {
		return m.Repo.ConflictFolder(ctx, dir, e.Head, e.Theirs)
	}
	if !e.Reset {
		return nil, nil
	}
	if folderExists(dir) {
		return nil, m.Repo.ResetFolder(ctx, dir, e.Opening.Last)
	}
	rep, err := m.openFolder(ctx, e.Opening, mark)
	if err == nil && !rep.OK {
		err = errors.New("setup: " + rep.Problem)
	}
	return nil, err
}

func folderExists(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}
