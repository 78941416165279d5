package approval

import (
	"context"
	"errors"

	"forge/gates"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Options are what an answer is given with beside itself.
type Options struct {
	Level string // the run's policy from now on; "" = as it is
	// Away answers where the run is at a remote: the answer counts when it arrived
	// there. seen is the checkpoint as it was shown. nil = such an answer is
	// refused with the *journal.AwayError.
	Away func(ctx context.Context, p *project.Checkout, away *journal.AwayError, seen work.Checkpoint, ans work.Answer) (work.Checkpoint, error)
}

// Give writes an answer, with a change of level if one is named, and says where
// its run stands. It is the one way in which people answer, by whatever they do
// so. The checkpoint is returned as it is now, also when the answer is refused;
// Code says why it was.
func Give(ctx context.Context, p *project.Checkout, ans work.Answer, o Options) (work.Checkpoint, journal.RunRow, error) {
	none := journal.RunRow{}
	cp, err := Find(ctx, p, ans.Checkpoint)
	if err != nil {
		return cp, none, Refused(err, work.Checkpoint{})
	}
	ans.Checkpoint = cp.ID
	if now, err := keepVerdicts(ctx, p, cp); err == nil {
		cp = now
	} else if Code(err) == "" {
		return cp, none, err
	}
	if ans.Status == work.CheckpointChangesRequested && len(cp.Feedback(ans.Comment)) > work.MaxFeedback {
		return cp, none, refusal.New("shorten the comments on lines and single files", "all comments together have more than %d bytes", work.MaxFeedback)
	}
	// What no door may pass on is refused with its reason; the journal then
	// decides who was first.
	if _, err := gates.Resolve(cp, ans, ans.At); err != nil && !errors.Is(err, work.ErrExpired) {
		return cp, none, Refused(err, cp)
	}
	if err := withEdits(ctx, p, cp, &ans); err != nil {
		return cp, none, err
	}
	if err := withLevel(ctx, p, cp.Run, o.Level, &ans); err != nil {
		return cp, none, err
	}
	now, err := p.Journal.Answer(ctx, ans)
	var away *journal.AwayError
	if errors.As(err, &away) && o.Away != nil {
		now, err = o.Away(ctx, p, away, cp, ans)
	}
	if err != nil {
		if now.ID != "" {
			cp = now
		}
		return cp, none, Refused(err, cp)
	}
	row, err := p.PickRun(ctx, now.Run)
	return now, row, err
}

// refusalCodes are the words for answers that change nothing.
var refusalCodes = []error{work.ErrAlreadyResolved, work.ErrConflict, work.ErrEmptyFeedback, work.ErrExpired, work.ErrUnknown, gates.ErrBadAnswer}

// Code is the word for why an answer was refused, "" when err is
// something else.
func Code(err error) string {
	for _, known := range refusalCodes {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return ""
}

// refusedError is a refused answer with the way out.
type refusedError struct {
	err error
	fix string
}

func (e *refusedError) Error() string { return e.err.Error() + " (" + e.fix + ")" }
func (e *refusedError) Unwrap() error { return e.err }

// Refused is err with the way out where it is a refused answer to cp, which may
// be the zero value; other errors stay as they are.
func Refused(err error, cp work.Checkpoint) error {
	fix := ""
	switch Code(err) {
	case work.ErrAlreadyResolved.Error():
		fix = "the first answer counts; forge show " + cp.ID + " shows it"
	case work.ErrConflict.Error():
		fix = "look again: forge show " + cp.ID
		if back := cp.SentBack(); len(back) > 0 {
			fix = "forge request-changes " + cp.ID + " sends back what is not approved; forge approve " + cp.ID + " --file PATH approves a file after all"
		}
	case work.ErrEmptyFeedback.Error():
		fix = "say it with -m TEXT"
		if cp.AnswerDue {
			fix = "say it with -m TEXT, or choose with --choice; forge show " + cp.ID + " names the choices"
		}
	case work.ErrExpired.Error():
		fix = "it still waits; forge checkpoints lists what is asked now, and forge resume " + cp.Run + " asks this again unless its run is over"
	case work.ErrUnknown.Error():
		fix = "forge checkpoints lists what is open"
	case gates.ErrBadAnswer.Error():
		fix = "forge show " + cp.ID + " names the choices"
	default:
		return err
	}
	return &refusedError{err: err, fix: fix}
}
