package gates

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// ErrBadAnswer refuses an answer that is none: a status that is not approved,
// changes_requested or rejected, a choice that was not offered or says
// something else than the status, nobody who gave it, or somebody who may not.
var ErrBadAnswer = errors.New("bad_answer")

// Resolve is the compare-and-set of a checkpoint: the record answered by a, or
// the record as it was and why a is refused. now is the time of the answer;
// where one was recorded earlier, pass its own time.
//
// Refusals wrap work.ErrUnknown (another checkpoint's answer),
// work.ErrAlreadyResolved, work.ErrExpired (now is the expiry or later, or the
// record says so), work.ErrConflict (another revision; Revision 0 is whatever
// is current), work.ErrEmptyFeedback (changes requested, or critical findings accepted,
// without a word) or
// ErrBadAnswer; when several apply, the first of this list.
//
// a.Checkpoint has to be the full id. With a choice, a.Status may be "": it is
// the choice's.
func Resolve(cp work.Checkpoint, a work.Answer, now time.Time) (work.Checkpoint, error) {
	refuse := func(why error, format string, args ...any) (work.Checkpoint, error) {
		return cp, fmt.Errorf("answer checkpoint %s: %w: %s", cp.ID, why, fmt.Sprintf(format, args...))
	}
	if a.Checkpoint != cp.ID || cp.ID == "" {
		return refuse(work.ErrUnknown, "the answer is for %q", text.Clip(a.Checkpoint, mostQuoted))
	}
	switch cp.Status {
	case work.CheckpointPending:
	case work.CheckpointExpired:
		return refuse(work.ErrExpired, "it still waits")
	default:
		return refuse(work.ErrAlreadyResolved, "it is %s by %s", cp.Status, cp.AnsweredBy)
	}
	if overdue(cp, now) {
		return refuse(work.ErrExpired, "it was open until %s", cp.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if a.Revision != 0 && a.Revision != cp.Revision {
		return refuse(work.ErrConflict, "the answer is for revision %d, current is %d", a.Revision, cp.Revision)
	}

	status, err := answeredStatus(cp, a)
	if back := cp.SentBack(); status == work.CheckpointApproved && len(back) > 0 {
		return refuse(work.ErrConflict, "not all of it is approved (%s)", text.Clip(strings.Join(back, ", "), mostQuoted))
	}
	if status == work.CheckpointChangesRequested {
		a.Comment = cp.Feedback(a.Comment)
	}
	if status == work.CheckpointChangesRequested && text.Blank(a.Comment) {
		return refuse(work.ErrEmptyFeedback, "say what has to change")
	}
	if status == work.CheckpointApproved && cp.ReasonDue && text.Blank(a.Comment) {
		return refuse(work.ErrEmptyFeedback, "critical findings are accepted with a reason or not at all")
	}
	if status == work.CheckpointApproved && err == nil && cp.Wordless(status, a.Choice, a.Comment) {
		return refuse(work.ErrEmptyFeedback, "the agent asks something: answer with a choice or with words")
	}
	if err != nil {
		return refuse(ErrBadAnswer, "%s", err)
	}

	at := now.UTC()
	cp.Status, cp.Comment, cp.Choice = status, a.Comment, a.Choice
	cp.AnsweredBy, cp.Door, cp.AnsweredAt = a.By, a.Door, &at
	return cp, nil
}

func answeredStatus(cp work.Checkpoint, a work.Answer) (work.CheckpointStatus, error) {
	status := a.Status
	if !MayAnswer(cp, a.Role) {
		return status, fmt.Errorf("a %s may not answer it, a %s may", text.Clip(a.Role, mostQuoted), WhoAnswers(cp))
	}
	if a.Choice != "" {
		offered, ok := choice(cp.Choices, a.Choice)
		if !ok {
			return status, fmt.Errorf("%q is not offered", text.Clip(a.Choice, mostQuoted))
		}
		if status == "" {
			status = offered.Answer
		}
		if status != offered.Answer {
			return status, fmt.Errorf("%s is not what %s means", text.Clip(string(status), mostQuoted), offered.Name)
		}
	}
	switch status {
	case work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected:
	default:
		return status, fmt.Errorf("%q is no answer", text.Clip(string(status), mostQuoted))
	}
	if text.Blank(a.By) {
		return status, errors.New("it does not say who answers")
	}
	return status, nil
}

func choice(of []work.Choice, name string) (work.Choice, bool) {
	for _, c := range of {
		if c.Name == name {
			return c, true
		}
	}
	return work.Choice{}, false
}

// Expire is a checkpoint whose time is over, held for good; ok is false, and
// the record as it was, while it may still be answered or already is.
func Expire(cp work.Checkpoint, now time.Time) (_ work.Checkpoint, ok bool) {
	if cp.Status != work.CheckpointPending || !overdue(cp, now) {
		return cp, false
	}
	cp.Status = work.CheckpointExpired
	return cp, true
}

func overdue(cp work.Checkpoint, now time.Time) bool {
	return cp.ExpiresAt != nil && !now.Before(*cp.ExpiresAt)
}

// Choices are the ways to answer at a point that the three answers alone do
// not tell apart; nil where they do.
func Choices(pt Point) []work.Choice {
	switch pt {
	case PointStale:
		return []work.Choice{
			{Name: "continue", Answer: work.CheckpointApproved, Label: "continue as before"},
			{Name: "pivot", Answer: work.CheckpointChangesRequested, Label: "pivot with a comment"},
			{Name: "stop", Answer: work.CheckpointRejected, Label: "stop this phase"},
			{Name: "abort", Answer: work.CheckpointRejected, Label: "abort the run"},
		}
	case PointTries: // behind the tries themselves
		return []work.Choice{
			{Name: "changes", Answer: work.CheckpointChangesRequested, Label: "take the proposed try, with changes"},
			{Name: "none", Answer: work.CheckpointRejected, Label: "take none: the phase fails"},
		}
	case PointSubPhase:
		return []work.Choice{
			{Name: "approve", Answer: work.CheckpointApproved, Label: "spawn it"},
			{Name: "skip", Answer: work.CheckpointRejected, Label: "do not spawn it"},
			{Name: "reject_all", Answer: work.CheckpointRejected, Label: "spawn no sub-phase in this phase"},
		}
	}
	return nil
}

// AnsweredByYes says whether --yes may answer at a point: phase start,
// iteration and sub-phase questions only, of one sub-phase or of several.
func AnsweredByYes(pt Point) bool {
	return pt == PointPhaseStart || pt == PointIteration || pt == PointSubPhase || pt == PointDecompose
}
