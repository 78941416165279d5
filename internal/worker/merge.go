package worker

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"forge/factory"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// landing is one result on its way into a branch of the code host.
type landing struct {
	p     *project.Checkout
	lease *journal.Lease
	h     *resultHost
	result
	unwanted string // see factory.Works.Land
	shown    func(work.IssuePull) error
}

// landThere lets the host merge a result, or takes note that it did; anew
// whenever something moved meanwhile.
func (s *Worker) landThere(ctx context.Context, l landing) (factory.Landed, error) {
	for n := 1; ; n++ {
		out, err := s.landOnce(ctx, l)
		switch work.HostKindOf(err) {
		case work.HostHeadMoved, work.HostBaseMoved, work.HostPullMerged, work.HostPullClosed:
			if n < landTries {
				continue
			}
		}
		return out, err
	}
}

// landOnce tries it onto the target as it is now.
func (s *Worker) landOnce(ctx context.Context, l landing) (factory.Landed, error) {
	target, onto, err := l.h.target(ctx, l.ref("target"))
	out := factory.Landed{Target: target}
	if err != nil {
		return out, err
	}
	if l.issue.Pull == nil {
		if there, err := l.h.Repo.Holds(ctx, onto, l.commit); err != nil || there {
			out.Commit = onto
			return out, err
		}
	}
	if l.unwanted != "" {
		merged, err := l.h.merged(ctx, l.issue)
		if err != nil || !merged {
			return notWanted(out, l.unwanted), err
		}
	}
	is, err := l.h.propose(ctx, l.result, target)
	if work.HostKindOf(err) == work.HostNoChanges {
		return s.nothingNew(ctx, l, out, onto, err)
	}
	if err != nil {
		return out, err
	}
	pull := is.shows(l.result)
	if err := l.shown(pull); err != nil {
		return out, err
	}
	l.issue.Pull = &pull
	look, seen, err := l.h.seen(ctx, l.result, is)
	if err != nil {
		return out, err
	}
	if err := l.h.answers(ctx, l.State, look); err != nil {
		return out, err
	}
	s.lookedAt(l.issue.ID, pullrequest.Standing(look, true))
	switch step, hold, reason := factory.NextOfPull(seen); step {
	case factory.PullTake:
		return s.takeOver(ctx, l, out, look)
	case factory.PullMerge:
		return s.mergeThere(ctx, l, out, is, onto)
	default:
		if step == factory.PullAgain {
			s.goAgain(l.issue.ID)
		}
		out.Hold, out.Reason, out.Waits = hold, reason, true
		return out, nil
	}
}

// merged says that people have merged an issue's pull request.
func (h *resultHost) merged(ctx context.Context, i work.Issue) (bool, error) {
	if i.Pull == nil {
		return false, nil
	}
	look, err := h.Look(ctx, i.Pull.Number)
	return err == nil && look.State == work.PullMerged, err
}

// nothingNew is for what the host does not open a pull request for: it counts
// as landed when the target holds all of it.
func (s *Worker) nothingNew(ctx context.Context, l landing, out factory.Landed, onto string, why error) (factory.Landed, error) {
	m, err := l.h.Repo.Merge(ctx, onto, l.commit)
	if err != nil {
		return out, err
	}
	tree, err := l.h.Tree(ctx, onto)
	if err != nil {
		return out, err
	}
	if len(m.Conflicts) > 0 || m.Tree != tree {
		return out, why
	}
	out.Commit, out.Reason = onto, "what it changes was in "+out.Target+" already"
	return out, nil
}

// mergeThere proves what the target would be, and lets the host make just that
// of it.
func (s *Worker) mergeThere(ctx context.Context, l landing, out factory.Landed, is proposal, onto string) (factory.Landed, error) {
	repo := l.h.Repo
	m, err := repo.Merge(ctx, onto, is.at)
	if err != nil {
		return out, err
	}
	hold := func(why, reason string) (factory.Landed, error) {
		out.Hold, out.Reason, out.Waits = why, reason, true
		return out, nil
	}
	if len(m.Conflicts) > 0 {
		out.Hold, out.Reason = factory.HoldLandingConflict, fmt.Sprintf("pull request %d conflicts with %s in %s", is.Number, out.Target, strings.Join(m.Conflicts, ", "))
		return s.toAgent(l.issue, out), nil
	}
	commit := is.at
	if grown, err := repo.Holds(ctx, is.at, onto); err != nil {
		return out, err
	} else if !grown {
		if commit, err = repo.CommitTree(ctx, m.Tree, []string{onto, is.at}, "what would land\n", l.ref("merged")); err != nil {
			return out, err
		}
	}
	problem, err := s.verified(ctx, l.p, l.lease, l.State, commit, onto)
	if err != nil {
		return out, err
	}
	if problem != "" && commit != is.at {
		out.Hold, out.Reason = factory.HoldLandingRed, fmt.Sprintf("pull request %d merged with %s as it is now: %s (%s)", is.Number, out.Target, problem, landingLog)
		return s.toAgent(l.issue, out), nil
	}
	if problem != "" {
		return hold(factory.HoldLandingRed, fmt.Sprintf("pull request %d merged with %s as it is now: %s (%s): push to its branch what mends it", is.Number, out.Target, problem, landingLog))
	}
	answered, err := s.approvedResult(ctx, l.Run)
	if err != nil {
		return out, err
	}
	l.h.TellAnswer(ctx, is.Number, answered)
	var made work.PullSquashed
	err = l.h.Again(ctx, func() (err error) {
		made, err = l.h.Host.Merge(ctx, work.PullMerge{
			Number: is.Number, Branch: l.Spec.Branch, Base: out.Target, Head: is.at, BaseHead: onto, Title: text.Titled("%s", l.issue.Title),
			Message: fmt.Sprintf("Forge-Issue: %d\nForge-Run: %s\n", l.issue.ID, l.Run),
		})
		return err
	})
	if err != nil {
		return out, err
	}
	if err := s.tidyBranch(ctx, l, is.at); err != nil {
		return out, err
	}
	return s.checked(ctx, l, out, made.Commit, m.Tree, "the host")
}

// approvedResult is the checkpoint at which the result of a run was approved, ""
// = nobody was asked.
func (s *Worker) approvedResult(ctx context.Context, run string) (id string, err error) {
	page, err := s.Journal.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: work.CheckpointApproved}, journal.MaxIssuePage, "")
	for _, cp := range page {
		if cp.Phase == "" && cp.Kind != orchestrator.PointBaseline {
			id = cp.ID
		}
	}
	return id, err
}

// takeOver takes note of a merge that is made already: by people, or by a Forge
// that died before it could say so.
func (s *Worker) takeOver(ctx context.Context, l landing, out factory.Landed, look work.PullLook) (factory.Landed, error) {
	tree, err := l.h.Tree(ctx, l.commit)
	if err != nil {
		return out, err
	}
	out, err = s.checked(ctx, l, out, look.MergeCommit, tree, pullrequest.OrUnknown(look.MergedBy))
	if err == nil && out.Commit != "" {
		err = s.tidyBranch(ctx, l, cmp.Or(look.Head, l.commit))
	}
	return out, err
}

// checked is a merge whose result is in the target, and proven: it is the tree
// that was, or it is now.
func (s *Worker) checked(ctx context.Context, l landing, out factory.Landed, commit, proven, by string) (factory.Landed, error) {
	_, head, err := l.h.target(ctx, l.ref("target"))
	if err != nil {
		return out, err
	}
	number := l.issue.Pull.Number
	there := false
	if commit == "" {
		out.Hold, out.Reason, out.Waits = factory.HoldPullBlocked, fmt.Sprintf("pull request %d is merged, and the host does not say to what", number), true
		return out, nil
	}
	if known, err := l.h.Repo.Exists(ctx, commit); err != nil {
		return out, err
	} else if known {
		if there, err = l.h.Repo.Holds(ctx, head, commit); err != nil {
			return out, err
		}
	}
	if !there {
		out.Hold, out.Waits = factory.HoldPullBlocked, true
		out.Reason = fmt.Sprintf("pull request %d was merged by %s, and %s does not hold what came of it (%s)", number, by, out.Target, text.Short(commit))
		return out, nil
	}
	tree, err := l.h.Tree(ctx, commit)
	if err != nil {
		return out, err
	}
	if tree == proven {
		out.Commit = commit
		return out, nil
	}
	// What others begin at is proven, which may mend what this one broke.
	problem, err := s.verified(ctx, l.p, l.lease, l.State, head, "")
	switch {
	case err != nil:
		return out, err
	case problem != "":
		out.Hold, out.Waits = factory.HoldLandingRed, true
		out.Reason = fmt.Sprintf("pull request %d was merged by %s, not as it was proven: %s (%s); mend it in %s, then forge issue run %d", number, by, problem, landingLog, out.Target, l.issue.ID)
		return out, nil
	}
	out.Commit, out.Reason = commit, fmt.Sprintf("merged by %s, not as it was proven before: it was proven again", by)
	if len(l.Spec.Settings.Verify.Commands) == 0 {
		out.Reason = fmt.Sprintf("merged by %s, and not what the run left: nothing proves it", by)
	}
	return out, nil
}

// tidyBranch deletes the branch on the host, and keeps its head here. That it
// stays there is no harm.
func (s *Worker) tidyBranch(ctx context.Context, l landing, head string) error {
	if known, err := l.h.Repo.Exists(ctx, head); err != nil {
		return err
	} else if known {
		if err := l.h.Repo.UpdateRef(ctx, l.ref("branch"), head, ""); err != nil {
			return err
		}
	}
	if err := l.h.Host.DeleteBranch(ctx, l.Spec.Branch, head); err != nil {
		s.Log.Debug("the branch stays on the host", "branch", l.Spec.Branch, "err", err)
	}
	return nil
}
