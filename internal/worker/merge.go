package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// What the core of landings has done, each as one call that looks at the world
// before it acts.

// lookAt reads how target and pull request stand.
func (l *pass) lookAt(ctx context.Context, e landing.LookEffect) (landing.Look, error) {
	if l.h == nil {
		return l.lookHere(ctx, e)
	}
	out := landing.Look{Host: true}
	var err error
	if out.Target, out.Onto, err = l.h.target(ctx, l.ref("target")); err != nil {
		return out, err
	}
	if out.Head = out.Onto; l.issue.Pull == nil {
		if out.There, err = l.h.Repo.Holds(ctx, out.Onto, l.commit); err != nil || out.There && e.For == landing.ForLand {
			return out, err
		}
	}
	if out.Tree, err = l.h.Tree(ctx, l.commit); err != nil {
		return out, err
	}
	if e.Unwanted != "" || e.For == landing.ForAgain {
		return out, l.onlyLook(ctx, e, &out)
	}
	is, err := l.h.propose(ctx, l.result, out.Target)
	if work.HostKindOf(err) == work.HostNoChanges {
		return l.nothingNew(ctx, out, err)
	}
	if err != nil {
		return out, err
	}
	card := is.shows(l.result)
	if err := l.shown(card); err != nil {
		return out, err
	}
	l.issue.Pull = &card
	look, seen, err := l.h.seen(ctx, l.result, is)
	if err != nil {
		return out, err
	}
	out.Pull = pullLook(look, seen, card, is.at, e.For)
	return out, l.h.answers(ctx, l.State, look)
}

// onlyLook changes nothing on the host.
func (l *pass) onlyLook(ctx context.Context, e landing.LookEffect, out *landing.Look) error {
	if l.issue.Pull == nil {
		return nil
	}
	if e.For != landing.ForAgain {
		look, err := l.h.Look(ctx, l.issue.Pull.Number)
		out.Pull = pullLook(look, factory.PullSeen{Number: look.Number, State: look.State}, *l.issue.Pull, look.Head, e.For)
		return err
	}
	at, err := l.h.stands(ctx, l.result)
	out.Pull = pullLook(at.look, l.h.seenIn(at.look, l.result, at.is), *l.issue.Pull, at.is.at, e.For)
	return err
}

func pullLook(look work.PullLook, seen factory.PullSeen, card work.IssuePull, at string, of landing.Purpose) *landing.PullLook {
	if at == "" {
		at = look.Head
	}
	return &landing.PullLook{
		PullSeen: seen, Card: card, At: at, Commit: look.MergeCommit, MergedBy: pullrequest.OrUnknown(look.MergedBy), Mark: markOf(look, of != landing.ForShow),
	}
}

// markOf tells two standings of a pull request apart.
func markOf(look work.PullLook, over bool) string {
	sum := sha256.Sum256([]byte(pullrequest.Standing(look, over)))
	return hex.EncodeToString(sum[:8])
}

// lookHere is lookAt for a branch of the user's repository.
func (l *pass) lookHere(ctx context.Context, e landing.LookEffect) (out landing.Look, err error) {
	repo := l.Machine.Repo
	out.Target = target(l.p)
	if out.Head, err = repo.BranchHead(ctx, out.Target); err != nil {
		return out, err
	}
	// It begins where people are, so that it holds what they have.
	if out.Onto = out.Head; out.Head == "" {
		out.Onto = l.p.Base.Commit
	} else if out.There, err = repo.Holds(ctx, out.Head, l.commit); err != nil || out.There {
		return out, err
	}
	if out.Here, err = repo.OutHere(ctx, out.Target); err != nil || out.Here || e.For != landing.ForLand {
		return out, err
	}
	var branch *git.BranchError
	if err = repo.NowhereOut(ctx, out.Target); errors.As(err, &branch) {
		out.Out = fmt.Sprintf("factory.target %s, so it is not moved: git merge %s there, or set another target; then forge issue retry %d", branch, l.Delivery.Branch, l.issue.ID)
		err = nil
	}
	return out, err
}

// nothingNew is for what the host does not open a pull request for: it counts as
// there when the target holds all of it.
func (l *pass) nothingNew(ctx context.Context, out landing.Look, why error) (landing.Look, error) {
	m, err := l.h.Repo.Merge(ctx, out.Onto, l.commit)
	if err != nil {
		return out, err
	}
	tree, err := l.h.Tree(ctx, out.Onto)
	if err != nil {
		return out, err
	}
	if out.Same, out.There = true, len(m.Conflicts) == 0 && m.Tree == tree; !out.There && l.s.Of.For == landing.ForLand {
		return out, why
	}
	return out, nil
}

// prove merges what is to land with its target, and has the project's commands
// judge just that.
func (l *pass) prove(ctx context.Context, e landing.ProveEffect, mark string) (landing.Proof, error) {
	repo, out := l.Machine.Repo, landing.Proof{Onto: e.Onto, At: e.At, Trusted: []string{l.State.Trusted()}}
	m, err := repo.Merge(ctx, e.Onto, e.At)
	if err != nil {
		return out, err
	}
	if out.Conflicts, out.Tree = m.Conflicts, m.Tree; len(m.Conflicts) > 0 {
		return out, nil
	}
	grown, err := repo.Holds(ctx, e.At, e.Onto)
	if err != nil {
		return out, err
	}
	out.Commit = e.At
	if !grown {
		message, ref := "what would land\n", l.ref("merged")
		commit := repo.CommitTree
		if !e.Host {
			message = fmt.Sprintf("%s\n\nForge-Issue: %d\nForge-Run: %s\n", strings.TrimSpace(l.issue.Title), l.issue.ID, l.Run)
			commit, ref = repo.MergeCommit, orchestrator.Ref(l.Run, "landing")
		}
		if out.Commit, err = commit(ctx, m.Tree, []string{e.Onto, e.At}, message, ref); err != nil {
			return out, err
		}
	}
	if e.Here {
		// Before it is proven: that may take long, and comes to nothing.
		if out.InTheWay, err = repo.InTheWay(ctx, l.under(e.Onto, e.Target), out.Commit); err != nil || out.InTheWay != "" {
			return out, err
		}
	}
	if known, ok := landing.Known(e.Known, e.Onto, out.Tree, out.Trusted); ok {
		out.Verdict, out.Problem = known.Verdict, known.Problem // as a batch found it
		return out, l.tellRed(ctx, e, out, "")
	}
	came, err := l.verified(ctx, l.p, l.State, mark, toLand{commit: out.Commit, onto: e.Onto, before: e.Onto})
	if err != nil {
		return out, err
	}
	out.Verdict, out.Problem, out.Pages = came.verdict, came.problem, came.pages
	return out, l.tellRed(ctx, e, out, l.p.Layout().Log(l.Run, "landing-verify"))
}

// tellRed asks those who pushed what is red, on the pull request, with the end of what
// the commands printed: once for each commit, whatever dies in between.
func (l *pass) tellRed(ctx context.Context, e landing.ProveEffect, found landing.Proof, output string) error {
	if found.Verdict != landing.Red || e.Told == 0 || l.h == nil {
		return nil
	}
	by, err := l.Machine.Repo.Authors(ctx, l.commit, e.At)
	if err != nil {
		return err
	}
	red := orchestrator.RedPush{Commit: e.At, By: by, Problem: found.Problem}
	if log, err := os.ReadFile(output); output != "" && err == nil {
		red.Output = text.End(string(log), orchestrator.MostOfRed)
	}
	return l.h.Again(ctx, func() error {
		return l.h.Host.Comment(ctx, e.Told, "red "+e.At, pullrequest.TellRed(red))
	})
}

// under is what the branch that people have checked out is at.
func (l *pass) under(commit, branch string) work.Base {
	return work.Base{Commit: commit, Branch: branch, Shallow: l.p.Base.Shallow}
}

// land lets the target become what was proven, and nothing else.
func (l *pass) land(ctx context.Context, e landing.LandEffect) (landing.Made, error) {
	if e.Number != 0 {
		return l.landThere(ctx, e)
	}
	repo := l.Machine.Repo
	if e.Here {
		d, err := repo.FastForward(ctx, l.under(e.Onto, e.Target), e.Commit)
		if err != nil || !d.FastForwarded {
			return landing.Made{InTheWay: d.Reason}, err
		}
		return landing.Made{Commit: e.Commit, Undo: d.Undo}, nil
	}
	if head, err := repo.BranchHead(ctx, e.Target); err == nil && head == e.Commit {
		return landing.Made{Commit: e.Commit}, nil // with others, or before a crash
	}
	err := repo.Land(ctx, e.Target, e.Commit, e.Head)
	var moved *git.MovedError
	if errors.As(err, &moved) {
		return landing.Made{Moved: moved.Error()}, nil
	}
	return landing.Made{Commit: e.Commit}, err
}

// landThere has the host merge it.
func (l *pass) landThere(ctx context.Context, e landing.LandEffect) (landing.Made, error) {
	answered, err := l.approvedResult(ctx, l.Run)
	if err != nil {
		return landing.Made{}, err
	}
	l.h.TellAnswer(ctx, e.Number, answered)
	if e.Together {
		return l.push(ctx, e)
	}
	if there, err := l.isThere(ctx, e); err != nil || there {
		return l.marks(ctx, e, e.Onto, err)
	}
	var made work.PullSquashed
	err = l.h.Again(ctx, func() (err error) {
		made, err = l.h.Host.Merge(ctx, work.PullMerge{
			Number: e.Number, Branch: l.State.Spec.Branch, Base: e.Target, Head: e.At, BaseHead: e.Onto, Title: text.Titled("%s", l.issue.Title),
			Message: fmt.Sprintf("Forge-Issue: %d\nForge-Run: %s\n", l.issue.ID, l.Run),
		})
		return err
	})
	return landing.Made{Commit: made.Commit}, err
}

// push moves the target on the host to what was proven of several, from nowhere else
// than where that began, and marks the pull request as merged. Of several, the first
// moves it, and the others find it there.
func (l *pass) push(ctx context.Context, e landing.LandEffect) (landing.Made, error) {
	_, head, err := l.h.target(ctx, l.ref("target"))
	if err != nil {
		return landing.Made{}, err
	}
	there, err := l.h.Repo.Holds(ctx, head, e.Commit)
	if err == nil && !there {
		err = l.h.Again(ctx, func() error { return l.h.Host.Push(ctx, e.Target, e.Commit, e.Onto) })
		if work.HostKindOf(err) == work.HostHeadMoved {
			return landing.Made{Moved: e.Target + " moved on the host"}, nil
		}
	}
	return l.marks(ctx, e, e.Commit, err)
}

// isThere says that a pull request landed with others before something died, and was
// not marked as merged: its target holds all of it.
func (l *pass) isThere(ctx context.Context, e landing.LandEffect) (bool, error) {
	same, err := l.h.same(ctx, e.Commit, e.Onto)
	if err != nil || !same {
		return false, err
	}
	return l.h.Host.LandsTogether(ctx, e.Target)
}

// marks marks a pull request as merged by a commit, unless something else failed.
func (l *pass) marks(ctx context.Context, e landing.LandEffect, commit string, err error) (landing.Made, error) {
	if err == nil {
		err = l.h.Again(ctx, func() error { return l.h.Host.MarkMerged(ctx, e.Number, commit) })
	}
	if err != nil {
		return landing.Made{}, err
	}
	return landing.Made{Commit: commit}, nil
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

// check says what a merge of the host's came to, and proves the target where that
// is not what was proven: others begin there, and may have mended what this broke.
func (l *pass) check(ctx context.Context, e landing.CheckEffect, mark string) (landing.Check, error) {
	out := landing.Check{Commit: e.Commit}
	_, head, err := l.h.target(ctx, l.ref("target"))
	if err != nil || e.Commit == "" {
		return out, err
	}
	if known, err := l.h.Repo.Exists(ctx, e.Commit); err != nil || !known {
		return out, err
	}
	if out.There, err = l.h.Repo.Holds(ctx, head, e.Commit); err != nil || !out.There {
		return out, err
	}
	if out.Tree, err = l.h.Tree(ctx, e.Commit); err != nil || out.Tree == e.Tree {
		return out, err
	}
	at := toLand{commit: head}
	if l.s.Look != nil {
		at.before = l.s.Look.Onto
	}
	came, err := l.verified(ctx, l.p, l.State, mark, at)
	out.Verdict, out.Problem, out.Pages = came.verdict, came.problem, came.pages
	return out, err
}

// tidyBranch deletes the branch on the host, and keeps its head here. That it
// stays there is no harm.
func (l *pass) tidyBranch(ctx context.Context, e landing.TidyEffect) error {
	if l.h == nil {
		return nil
	}
	if known, err := l.h.Repo.Exists(ctx, e.Head); err != nil {
		return err
	} else if known {
		if err := l.h.Repo.UpdateRef(ctx, l.ref("branch"), e.Head, ""); err != nil {
			return err
		}
	}
	if err := l.h.Host.DeleteBranch(ctx, e.Branch, e.Head); err != nil {
		l.Log.Debug("the branch stays on the host", "branch", e.Branch, "err", err)
	}
	return nil
}
