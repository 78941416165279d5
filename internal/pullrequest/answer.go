package pullrequest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"forge/gates"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Channel is the door of answers that are reviews.
const Channel = "pull request"

// AnswerOf is what a pull request says to the checkpoint that it shows: an
// answer, or why there is none yet ("" = nobody has said anything). Only what
// people who may decide say of the commit that is there now is one, or checks of
// the host that fail on it, which the agent may be told of for so many heads.
func AnswerOf(look work.PullLook, cp work.Checkpoint, u orchestrator.Pull, fixes int, now time.Time) (*work.Answer, string) {
	a := &work.Answer{Checkpoint: cp.ID, Revision: cp.Revision, Role: gates.RoleReviewer, Door: Channel, At: now, Head: look.Head}
	name := fmt.Sprintf("pull request %d", look.Number)
	switch {
	case look.State == work.PullMerged && u.Merged != "":
		return nil, name + " is merged; forge approve goes on with what became of it"
	case look.State == work.PullMerged:
		a.Status, a.By, a.Comment = work.CheckpointApproved, OrUnknown(look.MergedBy), "merged "+name
		return a, ""
	case look.State != work.PullOpen && look.BranchGone: // hosts close it when its branch goes
		return nil, name + " is closed and its branch is gone: restore the branch and reopen it there, or answer here"
	case look.State != work.PullOpen:
		return nil, name + " is closed: reopen it there, or answer here"
	case look.BranchGone:
		return nil, "the branch of " + name + " is gone: restore it there, or answer here"
	case u.Lost != "" && look.Head != u.Commit:
		return nil, name + " shows something else than what is asked about: push " + u.Commit + " back to its branch, or answer here"
	}
	stand := host.Stand(look.Reviews, look.Head)
	fresh := slices.DeleteFunc(slices.Clone(stand.Counting), func(r work.PullReview) bool { return slices.Contains(u.Heard, "r"+r.ID) })
	for _, r := range fresh {
		if r.Verdict == work.PullChangesRequested {
			a.Status, a.By, a.Comment = work.CheckpointChangesRequested, r.By, "changes are requested on "+name
			if words := text.FirstLine(text.Plain(r.Body), mostOfFirst); words != "" {
				a.Comment += ": " + words
			}
			return a, ""
		}
	}
	// What a person approved as it is, and the host takes so, needs no more.
	why := ""
	if !(stand.Verdict == work.PullApproved && len(fresh) > 0 && (look.Mergeable == work.Mergeable || look.Mergeable == work.MergeConflict)) {
		var mend bool
		switch mend, why = look.CI.Seen(look.Head, u.Heard, fixes, now).Next(); {
		case mend && u.Taken == look.Head:
			return nil, why + RedOfPeople
		case mend:
			a.Status, a.By, a.Checks, a.Comment = work.CheckpointChangesRequested, checksName, look.Head, why+", on "+name
			return a, ""
		}
	}
	switch stand.Verdict {
	case work.PullApproved:
	case work.PullChangesRequested:
		return nil, stillAgainst(stand.Counting) + " still asks for changes: ask for another look or dismiss that review there, or answer here"
	default:
		if why != "" {
			return nil, why
		}
		if n := len(stand.Ignored); n > 0 {
			last := stand.Ignored[n-1]
			return nil, fmt.Sprintf("a review of %s does not count: %s", last.By, last.Why)
		}
		return nil, ""
	}
	if len(fresh) == 0 {
		return nil, "the approval was acted upon and came to nothing: approve again, or answer here"
	}
	switch look.Mergeable {
	case work.Mergeable, work.MergeConflict:
		// A conflict goes to the agent.
	case work.MergeComputing:
		return nil, "the host is still computing whether it can be merged"
	default:
		return nil, "the host does not let it be merged: " + cmp.Or(why, look.Why, "it does not say why")
	}
	a.Status, a.By, a.Comment = work.CheckpointApproved, fresh[len(fresh)-1].By, "approved on "+name
	return a, ""
}

// RedOfPeople is said where the host's checks fail on what people pushed.
const RedOfPeople = "; they fail on what people pushed, and the agent is not set on that: push what mends it, or ask for changes (/forge fix)"

// LeftAtLines is what people who may write said at lines, in threads that are open,
// and nobody was told: where the work is approved all the same, it is left for
// later. A line each, by its place.
func LeftAtLines(look work.PullLook, heard []string) (left []string) {
	for _, t := range host.Open(look.Threads) {
		for _, c := range t.Comments {
			if c.Own || !slices.Contains(look.Writers, c.By) || slices.Contains(heard, "t"+c.ID) {
				continue
			}
			at := text.OneLine(t.Path, 200)
			if line := cmp.Or(t.Line, t.OldLine); line > 0 {
				at += fmt.Sprintf(":%d", line)
			}
			_, words := work.Tagged(c.Body)
			left = append(left, at+": "+text.OneLine(words, 250))
		}
	}
	return left
}

// Called is the answer that somebody gives who calls Forge by name in a comment.
func Called(look work.PullLook, cp work.Checkpoint, status work.CheckpointStatus, c work.PullComment, command string) *work.Answer {
	return &work.Answer{
		Checkpoint: cp.ID, Revision: cp.Revision, Role: gates.RoleReviewer, Door: Channel, Head: look.Head, Status: status, By: c.By,
		Comment: fmt.Sprintf("called %s on pull request %d: %s", command, look.Number, text.FirstLine(text.Plain(c.Body), mostOfFirst)),
	}
}

// checksName is who answers where checks of the host fail.
const checksName = "the host's checks"

// mostOfFirst is how much of the first line of a review stands in an answer.
const mostOfFirst = 200

// RetargetedHeld is why a pull request that was pointed elsewhere answers
// nothing.
func RetargetedHeld(look work.PullLook, branch, base, by string) string {
	name := fmt.Sprintf("pull request %d", look.Number)
	if look.State == work.PullMerged {
		return fmt.Sprintf("%s was merged by %s into %s, and not into %s: answer here, and Forge goes on with what it has", name, OrUnknown(look.MergedBy), look.Base, base)
	}
	return fmt.Sprintf("%s answers nothing: %s: set it back to %s there, or answer here", name, host.TellRetargeted(look.PullRequest, branch, base, by), base)
}

func stillAgainst(counting []work.PullReview) string {
	for _, r := range counting {
		if r.Verdict != work.PullApproved {
			return r.By
		}
	}
	return "somebody"
}

// HeldByHost says that people have approved, and that it is the host which does
// not let it be merged: its computing and its checks end without news.
func HeldByHost(look work.PullLook) bool {
	return look.State == work.PullOpen && look.Mergeable != work.Mergeable && host.Stand(look.Reviews, look.Head).Verdict == work.PullApproved
}

// OrUnknown is a name on the host, and words where the host told none.
func OrUnknown(s string) string {
	if s == "" {
		return "somebody whom the token does not name"
	}
	return s
}
