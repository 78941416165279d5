package tracker

import (
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Report is what a tracker is told about an issue. It is one comment, which is
// changed as the issue goes its way.
type Report struct {
	Key   string // the same for the same issue: by it the comment is found again
	Body  text.Markdown
	Stage Stage
	Done  bool // the issue has landed: it is closed
}

// Stage is how far the work is, as trackers with states of their own show it.
type Stage string

// The stages that have a state on a tracker; "" leaves it in the one that it has.
const (
	StageWorking   Stage = "working"
	StageReviewing Stage = "reviewing"
	StageDone      Stage = "done"
)

// States are the names that stages have on one tracker; "" = such an issue is left
// as it is.
type States struct{ Working, Reviewing, Done string }

// Of is the state that an issue of a stage is to have.
func (s States) Of(stage Stage) string {
	return map[Stage]string{StageWorking: s.Working, StageReviewing: s.Reviewing, StageDone: s.Done}[stage]
}

// stageOf is how far the work on an issue is. What nobody works on any more has none:
// where it goes then is a person's to say.
func stageOf(i work.Issue) Stage {
	switch {
	case i.State == work.IssueCancelled, i.State == work.IssueFailed:
		return ""
	case i.Column == work.ColumnDone:
		return StageDone
	case i.Column == work.ColumnInReview:
		return StageReviewing
	case i.Column == work.ColumnInProgress:
		return StageWorking
	}
	return ""
}

// Post is what is posted: the body with the key's mark.
func (r Report) Post() string { return r.Body.String() + "\n\n" + Mark(r.Key) + "\n" }

// mark is hidden in the comment. The key is hashed by whoever makes it, so
// nothing in it can end the comment.
const markWord = "forge-issue:"

var ownMark = text.Lazy(`<!-- ` + markWord + `[0-9a-f]{16,64} -->`)

// Mark is the line by which a report is found again.
func Mark(key string) string { return "<!-- " + markWord + key + " -->" }

// Ours says that a comment is a report of Forge's.
func Ours(body string) bool { return ownMark().MatchString(body) }

// Tell is what is posted about an issue. Standing is the same while nothing of
// it has to be said anew.
func Tell(key string, i work.Issue) (r Report, standing string) {
	all := []text.Markdown{tellStanding(i)}
	code := func(name string, word string) {
		if word != "" {
			all = append(all, text.Format("%s: %s", name, text.Code(word)))
		}
	}
	if said, _ := saidOf(i); said == HoldUntold {
		i.Reason = "" // it is nothing that the tracker has to be told
	}
	if i.Reason != "" {
		all = append(all, text.Format("Why: %s", i.Reason))
	}
	code("Held by", strings.Join(i.Hold, ", "))
	code("Run", i.Run)
	if i.Column == work.ColumnInReview || i.Column == work.ColumnDone {
		code("Branch", i.Branch)
	}
	standing = strings.Join([]string{string(i.Column), string(i.State), i.Reason, strings.Join(i.Hold, ","), i.Run}, "\n")
	return Report{Key: key, Body: text.Join("\n\n", all...), Stage: stageOf(i), Done: i.Column == work.ColumnDone}, standing
}

// notWantedHere says that a card went back since its tracker does not want it.
func notWantedHere(i work.Issue) bool {
	_, unwanted := saidOf(i)
	return unwanted
}

// tellStanding says how far an issue is.
func tellStanding(i work.Issue) text.Markdown {
	switch {
	case i.State == work.IssueCancelled:
		return text.Own("Forge does not work on this: it was cancelled.")
	case i.State == work.IssueFailed:
		return text.Own("Forge worked on this and did not succeed.")
	case i.Column == work.ColumnDone:
		return text.Own("Done. The result has landed.")
	case i.Column == work.ColumnInReview:
		return text.Own("The work is finished and waits for a person's review.")
	case i.Column == work.ColumnInProgress && i.State == work.IssueWaits:
		return text.Own("Forge works on this, and waits for an answer of a person.")
	case i.Column == work.ColumnInProgress:
		return text.Own("Forge works on this.")
	case notWantedHere(i):
		return text.Own("Forge does not work on this any more.")
	case i.State == work.IssueWaits:
		return text.Own("This is on Forge's board and waits for a person.")
	}
	return text.Format("This is on Forge's board, number %d.", i.ID)
}
