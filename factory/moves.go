package factory

import (
	"errors"
	"fmt"

	"forge/internal/work"
)

// Refusal is a change that the rules do not allow, and the way out. Nothing was
// changed.
type Refusal struct{ What, Fix string }

func (r *Refusal) Error() string { return r.What + " (" + r.Fix + ")" }

// Refused is the refusal that an error is; ok is false where it is none.
func Refused(err error) (r *Refusal, ok bool) {
	ok = errors.As(err, &r)
	return r, ok
}

func refuse(fix, format string, args ...any) error {
	return &Refusal{What: fmt.Sprintf(format, args...), Fix: fix}
}

// Actor is who moves an issue.
type Actor int

// A person drags cards. The machine claims and promotes.
const (
	Person Actor = iota
	Machine
)

// MayMove says whether actor may move the issue to a column; nil is yes, else
// it is a *Refusal. A person's place within a column is always free.
//
// Only a claim brings an issue to in_progress and only its run to in_review.
// Done means landed, so a person says it of issues alone that no run worked on.
func MayMove(i work.Issue, to work.Column, actor Actor) error {
	switch {
	case actor == Machine:
		return machineMoves(i, to)
	case actor != Person:
		return refuse("ask as a person", "issue %d: nobody knows who moves it", i.ID)
	case to == i.Column:
		return nil
	}
	switch to {
	case work.ColumnInProgress:
		return refuse("move it to ready, where it is claimed", "issue %d: nobody but a claim moves an issue to %s", i.ID, to)
	case work.ColumnInReview:
		return refuse("its run brings it there", "issue %d: %s is for finished work", i.ID, to)
	case work.ColumnBacklog, work.ColumnReady, work.ColumnDone:
	default:
		return refuse("backlog, ready or done", "there is no column %q", to)
	}
	switch {
	case i.Column == work.ColumnInProgress && !stopped(i):
		return refuse(fmt.Sprintf("forge issue cancel %d first", i.ID), "issue %d is being worked on", i.ID)
	case to == work.ColumnDone && i.Run != "":
		return refuse("its result is done when it lands; without it, forge issue cancel", "issue %d has the result of run %s, which has not landed", i.ID, i.Run)
	case i.Column == work.ColumnDone && i.Run != "":
		return refuse("add a new issue for what is still wanted", "issue %d is done: its result has landed", i.ID)
	}
	return nil
}

func machineMoves(i work.Issue, to work.Column) error {
	switch [2]work.Column{i.Column, to} {
	case [2]work.Column{work.ColumnReady, work.ColumnInProgress}, // a claim
		[2]work.Column{work.ColumnInProgress, work.ColumnInReview}, // promotion
		[2]work.Column{work.ColumnInProgress, work.ColumnDone},
		[2]work.Column{work.ColumnInReview, work.ColumnDone},       // its result was approved
		[2]work.Column{work.ColumnInReview, work.ColumnInProgress}: // changes were requested
		if stopped(i) {
			break
		}
		return nil
	case [2]work.Column{work.ColumnInProgress, work.ColumnReady}:
		if i.Run == "" && !stopped(i) {
			return nil // nothing of it was begun
		}
	}
	return refuse("a person may", "issue %d: no machine moves an issue from %s to %s", i.ID, standing(i), to)
}

// stopped says that nothing works on an issue until a person says so.
func stopped(i work.Issue) bool {
	return i.State == work.IssueFailed || i.State == work.IssueCancelled
}

func standing(i work.Issue) string {
	if i.State != "" {
		return fmt.Sprintf("%s (%s)", i.Column, i.State)
	}
	return string(i.Column)
}

// moved is the issue in its new column. What was said of it in the old one
// does not hold any more; a move within a column says nothing.
func moved(i work.Issue, to work.Column) work.Issue {
	if to != i.Column {
		i.Column, i.State, i.Reason, i.Hold = to, "", "", []string{}
	}
	return i
}

// Cancelled is the issue once nobody shall work on it any more, for who stores it
// together with something else.
func Cancelled(i work.Issue, why string) (work.Issue, error) { return cancelled(i, why) }

// Retried is a failed or cancelled issue that is taken up again, for who stores it
// together with something else.
func Retried(i work.Issue) (work.Issue, error) { return retried(i) }

// cancelled is the issue when nobody shall work on it any more. It stays where
// it is.
func cancelled(i work.Issue, why string) (work.Issue, error) {
	switch {
	case i.Column == work.ColumnDone:
		return i, refuse("add a new issue that takes it back", "issue %d is done", i.ID)
	case i.State == work.IssueCancelled:
		return i, refuse(fmt.Sprintf("forge issue retry %d takes it up again", i.ID), "issue %d is cancelled already", i.ID)
	}
	i.State, i.Reason = work.IssueCancelled, why
	return i, nil
}

// retried is a failed or cancelled issue that shall be worked on again. One
// that was claimed once goes back to ready with its run, which goes on from
// where it failed.
func retried(i work.Issue) (work.Issue, error) {
	if !stopped(i) {
		return i, refuse("only what failed or was cancelled is taken up again", "issue %d is %s: there is nothing to retry", i.ID, standing(i))
	}
	to := i.Column
	if to == work.ColumnInProgress || to == work.ColumnInReview {
		to = work.ColumnReady
	}
	i = moved(i, to)
	i.State, i.Reason = "", ""
	return i, nil
}
