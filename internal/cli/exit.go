package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// The exit codes of docs/cli.md.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFrozen      = 3
	exitLimit       = 4
	exitUnjudged    = 5
	exitInterrupted = 130
)

// codeError carries an exit code for which nothing more is to be said.
type codeError int

func (e codeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitOf maps an error to its exit code. What nobody foresaw could not be
// judged: it is neither done nor failed work.
func exitOf(err error) int {
	var (
		code     codeError
		usage    *refusal.Error
		problems *config.Problems
		state    *git.StateError
		choice   *gates.ChoiceError
		version  *git.VersionError
		remote   *git.UnreachableError
		declined *git.RefusedError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage), errors.As(err, &problems), errors.As(err, &state), errors.As(err, &choice), errors.As(err, &version), errors.As(err, &remote), errors.As(err, &declined):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	for _, known := range []error{
		journal.ErrNewer, journal.ErrLocked, journal.ErrBroken, journal.ErrFull, journal.ErrReadOnly, journal.ErrLease,
		journal.ErrNoRun, journal.ErrRunExists, journal.ErrUnfinished, journal.ErrAway, journal.ErrServer,
		work.ErrAlreadyResolved, work.ErrConflict, work.ErrEmptyFeedback, work.ErrUnknown, work.ErrExpired, gates.ErrBadAnswer,
		git.ErrNoGit,
	} {
		if errors.Is(err, known) {
			return exitUsage
		}
	}
	if shortage.Of(err) != "" {
		return exitUsage
	}
	return exitUnjudged
}

// exitOfRun maps how a process left a run to its exit code.
func exitOfRun(d work.RunFinishedData) int {
	switch d.Outcome {
	case work.RunCompleted:
		return exitDone
	case work.RunFrozen:
		return exitFrozen
	case work.RunLimit:
		return exitLimit
	case work.RunInterrupted:
		switch {
		case strings.HasPrefix(d.Reason, orchestrator.StopInternal):
			return exitUnjudged
		case strings.HasPrefix(d.Reason, orchestrator.StopShort), strings.HasPrefix(d.Reason, orchestrator.StopHook):
			return exitUsage
		}
		return exitInterrupted
	case work.RunCancelled:
		if d.Reason == orchestrator.ReasonRedBaseline {
			return exitUsage
		}
	}
	return exitFailed
}
