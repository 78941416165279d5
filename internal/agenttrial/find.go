package agenttrial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/agenteval"
	"forge/internal/git"
	"forge/internal/proof"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/verify"
	"forge/internal/work"
)

// Bounds of the search for tasks.
const (
	// looked is how many changes are looked at for one task, and leastLooked how
	// many at least.
	looked, leastLooked = 15, 100
	// mostFiles is how many files of the product a task may touch: what is larger
	// was hardly said in its message.
	mostFiles = 20
	// shortest is how much a message has to say, in bytes.
	shortest = 12
	// longest is how much of it an agent is told.
	longest = 16 << 10
)

// find looks through the history of head for changes whose tests fail before and
// pass after, the newest first.
func (r *trial) find(ctx context.Context, wanted int) error {
	commits, parents, err := r.repo.Mainline(ctx, r.t.Head, max(wanted*looked, leastLooked))
	if err != nil {
		return err
	}
	for i, c := range commits {
		if len(r.t.Tasks) == wanted {
			break
		}
		task, why, err := r.task(ctx, c, parents[i])
		if err != nil {
			return err
		}
		if why == "" {
			if why, err = r.qualify(ctx, task); err != nil {
				return err
			}
			if why != "" {
				r.p.Log.Info("left a change out: "+why, "change", text.Short(c.ID), "title", task.Title)
			}
		}
		if why != "" {
			r.t.LeftOut = append(r.t.LeftOut, agenteval.LeftOut{Commit: c.ID, Title: title(c.Message), Why: why})
			continue
		}
		r.t.Tasks = append(r.t.Tasks, task)
		r.p.Log.Info(fmt.Sprintf("found task %d of %d", len(r.t.Tasks), wanted), "change", text.Short(c.ID), "title", task.Title)
	}
	return nil
}

func title(message string) string {
	return text.OneLine(text.FirstLine(strings.TrimSpace(message), 200), 200)
}

// task is a change as a task, or why it is none, from what it touches alone.
func (r *trial) task(ctx context.Context, c git.Commit, parents []string) (task agenteval.Task, why string, err error) {
	if len(parents) == 0 {
		return task, "it is the first", nil
	}
	words, err := r.words(ctx, c, parents)
	if err != nil {
		return task, "", err
	}
	if len(words) < shortest {
		return task, "its message says nothing", nil
	}
	task = agenteval.Task{Commit: c.ID, Parent: parents[0], Title: title(words), Text: text.Cut(words, longest)}
	paths, err := r.repo.Differ(ctx, parents[0], c.ID)
	if err != nil {
		return task, "", err
	}
	seen, err := r.evidence.See(ctx, r.t.Head, c.ID, r.rules(), paths)
	if err != nil {
		return task, "", err
	}
	for _, s := range seen {
		if s.Class == proof.Evidence {
			task.Hidden = append(task.Hidden, s.Path)
		} else {
			task.Files++
		}
	}
	switch {
	case len(task.Hidden) == 0:
		return task, "it brings no test", nil
	case task.Files == 0:
		return task, "it changes nothing but tests", nil
	case task.Files > mostFiles:
		return task, fmt.Sprintf("it touches %d files", task.Files), nil
	}
	return task, "", nil
}

// words are what the author of a change says about it; of a merge without words of
// its own, what the authors of its commits say.
func (r *trial) words(ctx context.Context, c git.Commit, parents []string) (string, error) {
	own := strings.TrimSpace(c.Message)
	if len(parents) < 2 || !strings.HasPrefix(own, "Merge ") {
		return own, nil
	}
	all, err := r.repo.History(ctx, parents[0], c.ID)
	if err != nil {
		return "", err
	}
	var said []string
	for _, one := range all {
		if one.ID != c.ID {
			said = append(said, strings.TrimSpace(one.Message))
		}
	}
	return strings.Join(said, "\n\n"), nil
}

// qualify says why a change is no task, from what its tests say: they have to pass
// after it, and before it those of the time have to pass, and its own to fail.
func (r *trial) qualify(ctx context.Context, task agenteval.Task) (why string, err error) {
	hidden, err := edits(ctx, r.repo, task.Commit, task.Hidden, r.repo, task.Parent)
	if err != nil {
		return unfit(err)
	}
	asked, err := r.repo.Edited(ctx, task.Parent, hidden)
	if err != nil {
		return unfit(err)
	}
	if asked == task.Parent {
		return "its tests are those of before", nil
	}
	for _, is := range []struct {
		commit string
		green  bool
		why    string
	}{
		{task.Commit, true, "its own tests do not pass here today"},
		{asked, false, "its tests pass without it"},
		{task.Parent, true, "what was before it does not pass here today"},
	} {
		rep, err := r.judge(ctx, r.bench, is.commit, true)
		if err != nil {
			return "", err
		}
		if rep.OK != is.green {
			return is.why, nil
		}
	}
	return "", nil
}

// unfit takes a file that cannot be laid over a tree for a reason.
func unfit(err error) (string, error) {
	var wrong *git.EditError
	var large *git.TooLargeError
	if errors.As(err, &wrong) || errors.As(err, &large) || errors.Is(err, git.ErrNotText) {
		return err.Error(), nil
	}
	return "", err
}

// judge runs the project's verify commands on a commit, in a folder made anew.
func (r *trial) judge(ctx context.Context, bench *verify.Bench, commit string, accepted bool) (work.CommandsReport, error) {
	set := r.set
	return bench.Verify(ctx, work.VerifyRequest{
		Dir: filepath.Join(r.dir, "verify"), Checkout: r.p.Base.RepoRoot, Commit: commit, Commands: set.Verify.Commands, TimeoutSecs: set.Verify.TimeoutSecs,
		Worktree: set.Worktree, Sandbox: set.Sandbox, Hide: []string{r.dir, r.p.State}, Mark: runs.NewMark(), Accepted: accepted, Caches: set.Verify.Caches,
		OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite,
	}, nil)
}

// edits are what makes paths of a tree what they are in a commit of another store.
func edits(ctx context.Context, from *git.Store, commit string, paths []string, to *git.Store, tree string) ([]git.FileEdit, error) {
	has, err := from.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	there, err := to.Files(ctx, tree)
	if err != nil {
		return nil, err
	}
	var all []git.FileEdit
	for _, path := range paths {
		_, wanted := slices.BinarySearch(has, path)
		_, is := slices.BinarySearch(there, path)
		switch {
		case wanted:
			data, err := from.File(ctx, commit, path)
			if err != nil {
				return nil, err
			}
			all = append(all, git.FileEdit{Path: path, Content: data})
		case is:
			all = append(all, git.FileEdit{Path: path, Delete: true})
		}
	}
	return all, nil
}
