package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// TakeOnto is where the work of a phase is put.
type TakeOnto string

// What TakeOnto may be.
const (
	TakeBranch  TakeOnto = ""        // a branch of its own: no file of the user's changes
	TakeCommit  TakeOnto = "commit"  // one commit on the branch that is checked out
	TakeChanges TakeOnto = "changes" // uncommitted changes in the checkout
)

// TakeRequest says what of a run is taken, and where to.
type TakeRequest struct {
	Phase  string   // "" = the only one that there is something of
	Branch string   // "" = forge/take-RUN-PHASE; for TakeBranch only
	Onto   TakeOnto //
	Driven bool     // a process drives the run
}

// Taken is the work of a phase that is not done, in the user's repository.
type Taken struct {
	Phase  string
	Name   string // of the phase
	Branch string // that holds it, "" = nothing is committed
	Base   string // commit that it is the change to
	Commit string
	Why    string // it is not proven
	Onto   TakeOnto
}

// Look is the command that shows it.
func (t Taken) Look() string {
	if t.Onto == TakeChanges {
		return "git diff --cached"
	}
	return "git diff " + text.Short(t.Base) + " " + text.Short(t.Commit)
}

// Undo is the command that takes it back.
func (t Taken) Undo() string {
	switch t.Onto {
	case TakeChanges:
		return "git reset --merge"
	case TakeCommit:
		return "git reset --keep " + text.Short(t.Base)
	}
	return "git branch -D " + t.Branch
}

// Take brings the work of a phase that is not done out of Forge's repository into
// the user's. It says nothing about what the work is worth: nobody proved it.
func Take(ctx context.Context, p *project.Checkout, repo *git.Store, s *orchestrator.State, req TakeRequest) (Taken, error) {
	ph, why, err := takeable(s, req.Phase, req.Driven)
	if err != nil {
		return Taken{}, err
	}
	if in := ph.Plan.Repository; in != "" {
		return Taken{}, refusal.New("forge resume "+s.Run+" goes on with it", "the work of phase %s is in the repository %s, from which forge take takes nothing", ph.Number, in)
	}
	if err := repo.CheckWhole(ctx, ph.Base, []string{ph.Last}); err != nil {
		var lost *git.StateError
		if errors.As(err, &lost) {
			return Taken{}, refusal.New(fmt.Sprintf("bring the objects back, for example with git fetch, or let it be made again: forge resume %s", s.Run),
				"the work of phase %s is gone: %s", ph.Number, lost.What)
		}
		return Taken{}, err
	}
	took := Taken{Phase: ph.Number, Name: ph.Plan.Name, Why: why, Onto: req.Onto}
	if req.Onto != TakeBranch {
		return takeOnto(ctx, p, repo, s, ph, took)
	}

	took.Base, took.Branch = ph.Base, req.Branch
	if took.Branch == "" {
		took.Branch = "forge/take-" + s.Run + "-" + ph.Number
	}
	if !git.ValidBranch(took.Branch) {
		return Taken{}, refusal.New("--branch my-name, for example", "git takes no branch %q", took.Branch)
	}
	if head, err := repo.BranchHead(ctx, took.Branch); err != nil {
		return Taken{}, err
	} else if head != "" {
		return Taken{}, branchThere(took.Branch)
	}
	if took.Commit, err = repo.Squash(ctx, ph.Tree, ph.Base, takeMessage(s, ph), ""); err != nil {
		return Taken{}, err
	}
	if took.Commit == ph.Base {
		return Taken{}, madeNothing(s, ph)
	}
	err = repo.NewBranch(ctx, took.Branch, took.Commit)
	if errors.As(err, new(*git.BranchError)) {
		err = branchThere(took.Branch)
	}
	return took, err
}

func branchThere(branch string) error {
	return refusal.New(fmt.Sprintf("--branch NAME takes another name; git branch -D %s removes that one", branch), "branch %s is there already", branch)
}

// takeOnto puts the work onto what is checked out, which has to be clean.
func takeOnto(ctx context.Context, p *project.Checkout, repo *git.Store, s *orchestrator.State, ph *orchestrator.View, took Taken) (Taken, error) {
	branchInstead := fmt.Sprintf("forge take %s %s makes a branch of it and leaves your files alone", s.Run, ph.Number)
	if p.Base.Branch == "" {
		return Taken{}, refusal.New(branchInstead, "no branch is checked out")
	}
	took.Base = p.Base.Commit
	m, err := repo.Merge(ctx, took.Base, ph.Last)
	if err != nil {
		return Taken{}, err
	}
	if len(m.Conflicts) > 0 {
		return Taken{}, refusal.New(branchInstead, "the work of phase %s conflicts with branch %s, in %s", ph.Number, p.Base.Branch, strings.Join(m.Conflicts, ", "))
	}
	if took.Commit, err = repo.Squash(ctx, m.Tree, took.Base, takeMessage(s, ph), ""); err != nil {
		return Taken{}, err
	}
	if took.Commit == took.Base {
		return Taken{}, refusal.New("there is nothing to take", "branch %s holds the work of phase %s already", p.Base.Branch, ph.Number)
	}

	var stays string // why the checkout is as it was
	if took.Onto == TakeChanges {
		stays, err = repo.Stage(ctx, p.Base, took.Commit)
	} else {
		var d work.Delivery
		d, err = repo.FastForward(ctx, p.Base, took.Commit)
		stays, took.Branch = d.Reason, p.Base.Branch
	}
	if err == nil && stays != "" {
		err = refusal.New("commit or stash what is yours; "+branchInstead, "nothing was taken: %s", stays)
	}
	return took, err
}

// takeMessage is the message of the one commit that holds the work.
func takeMessage(s *orchestrator.State, ph *orchestrator.View) string {
	return fmt.Sprintf("%s (not proven)\n\nForge-Run: %s\nForge-Phase: %s\n", strings.TrimSpace(ph.Plan.Name), s.Run, ph.Number)
}

// takeable is the phase whose work can be taken, and why that is not proven.
func takeable(s *orchestrator.State, number string, driven bool) (*orchestrator.View, string, error) {
	if number == "" {
		var err error
		if number, err = onlyTakeable(s, driven); err != nil {
			return nil, "", err
		}
	}
	ph := s.View(number)
	switch {
	case ph == nil:
		return nil, "", refusal.New("it has "+strings.Join(s.Order, ", "), "run %s has no phase %q", s.Run, number)
	case ph.Outcome == work.PhaseDone:
		return nil, "", refusal.New(resultOf(s), "phase %s is done: its work is part of the run's result", number)
	case !ph.Kept():
		return nil, "", madeNothing(s, ph)
	case ph.Outcome != "":
		return ph, ph.WhyNot(), nil
	case driven:
		return nil, "", refusal.New(fmt.Sprintf("forge diff %s --run %s shows it; when the run has stopped, take it", number, s.Run), "phase %s is being worked on", number)
	}
	for id, cp := range s.Open {
		if cp.Phase == number {
			return ph, fmt.Sprintf("it waits for your answer (forge show %s)", id), nil
		}
	}
	return ph, "its run stopped before it was proven", nil
}

func onlyTakeable(s *orchestrator.State, driven bool) (string, error) {
	var all []string
	for _, n := range s.Order {
		if ph := s.View(n); ph.Kept() && ph.Outcome != work.PhaseDone && (!driven || ph.Outcome != "") {
			all = append(all, n)
		}
	}
	switch len(all) {
	case 0:
		return "", refusal.New(resultOf(s), "run %s has no phase that left work and is not done", s.Run)
	case 1:
		return all[0], nil
	}
	slices.Sort(all)
	return "", refusal.New(fmt.Sprintf("name one: forge take %s %s", s.Run, all[0]), "the phases %s left work", strings.Join(all, ", "))
}

func madeNothing(s *orchestrator.State, ph *orchestrator.View) error {
	return refusal.New(fmt.Sprintf("forge logs %s --run %s shows what its agent did", ph.Number, s.Run), "phase %s changed nothing: there is nothing to take", ph.Number)
}

// resultOf is how to get at what the run did finish.
func resultOf(s *orchestrator.State) string {
	if d := s.Delivery; d != nil && d.Branch != "" && d.Commit != s.Spec.Base.Commit {
		return "the result is on branch " + d.Branch
	}
	return "forge status " + s.Run + " shows where it stands"
}
