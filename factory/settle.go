package factory

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// HoldRejected is why a result that a person rejected is not done.
const HoldRejected = "rejected"

// Claimed is the issue when its owner begins with it, or goes on: what a person
// said decides whether finished work goes back to being worked on.
func Claimed(i work.Issue, answers []work.Answer) work.Issue {
	to := work.ColumnInProgress
	if i.Column == work.ColumnInReview {
		to = work.ColumnInReview
		for _, a := range answers {
			if a.Status == work.CheckpointChangesRequested {
				to = work.ColumnInProgress
			}
		}
	}
	i = moved(i, to)
	i.State, i.Reason = "", ""
	if i.Branch == "" {
		i.Branch = Branch(i.ID, i.Title)
	}
	return i
}

// Settled is the issue after its run was left as ended says, and landed, which
// is nil when it was not tried; later is when it is worth another try. An issue
// that a person took away meanwhile stays as it is: then ok is false.
func Settled(i work.Issue, ended Ended, landed *Landed) (now work.Issue, later time.Time, ok bool) {
	if takenAway(i) {
		return i, later, false
	}
	stand := func(state work.IssueState, reason string) (work.Issue, time.Time, bool) {
		i.State, i.Reason = state, Line(reason)
		return i, later, true
	}
	review := func(hold []string) {
		i = moved(i, work.ColumnInReview)
		i.Hold = append([]string{}, hold...)
	}
	if ended.Retry != "" && !ended.Until.IsZero() {
		later = ended.Until
		return stand("", ended.Retry)
	}
	switch ended.Outcome {
	case work.RunInterrupted:
		return stand(work.IssueFailed, orElse(ended.Reason, "its run was interrupted"))
	case work.RunFrozen:
		if ended.Promote {
			review(ended.Hold)
			if landed == nil {
				return stand("", "")
			}
			if landed.Hold != "" {
				i.Hold = append(i.Hold, landed.Hold)
			}
			later = landed.Until
			return stand("", landed.Reason)
		}
		return stand(work.IssueWaits, orElse(ended.Reason, "it waits for you"))
	case work.RunLimit:
		if ended.Until.IsZero() {
			return stand(work.IssueFailed, orElse(ended.Reason, "its run met a limit"))
		}
		later = ended.Until
		return stand("", fmt.Sprintf("tried again at %s: %s", later.UTC().Format("15:04Z"), orElse(ended.Reason, "its run met a limit")))
	case work.RunCancelled:
		return stand(work.IssueCancelled, orElse(ended.Reason, "its run was cancelled"))
	case work.RunCompleted:
	default:
		if ended.Rejected {
			break // its run is over and failed, its work is not
		}
		if i.Run == "" {
			// Nothing of it was begun: it is not in progress.
			i = moved(i, work.ColumnReady)
		}
		return stand(work.IssueFailed, orElse(ended.Reason, "its run did not complete"))
	}
	switch {
	case ended.Rejected:
		review(append(append([]string{}, ended.Hold...), HoldRejected))
		return stand(work.IssueCancelled, orElse(ended.Reason, "the result was rejected"))
	case !ended.Promoted || landed == nil:
		// That nobody said no is no yes.
		review(ended.Hold)
		return stand(work.IssueFailed, orElse(ended.Reason, "nobody decided that its result is done"))
	case landed.Commit == "":
		review(append(append([]string{}, ended.Hold...), orElse(landed.Hold, "not_landed")))
		state := work.IssueFailed
		if later = landed.Until; landed.Waits {
			state = work.IssueWaits
		}
		if !later.IsZero() {
			state = ""
		}
		return stand(state, orElse(landed.Reason, "its result could not be landed"))
	}
	i = moved(i, work.ColumnDone)
	return stand("", orElse(landed.Reason, landed.where()))
}

// where says on what branch the result is, and how it comes from there into
// another one.
func (l Landed) where() string {
	if l.Target == "" {
		return ""
	}
	return fmt.Sprintf("landed on %s as %s: git merge %s brings it to your branch", l.Target, text.Short(l.Commit), l.Target)
}

// Lands says that what the run left is to be brought into the target branch.
func Lands(ended Ended) bool {
	return ended.Outcome == work.RunCompleted && ended.Promoted && !ended.Rejected
}

func orElse(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// Line is words as a card can show it: one plain line that is not too long.
func Line(words string) string { return text.Clip(work.OneLine(words), work.MaxIssueReason) }
