package tracker

import (
	"fmt"
	"strings"

	"forge/internal/work"
)

// Report is what a tracker is told about an issue. It is one comment, which is
// changed as the issue goes its way.
type Report struct {
	Key  string // the same for the same issue: by it the comment is found again
	Body string // inert, with the key's mark
	Done bool   // the issue has landed: it is closed
}

// mark is hidden in the comment. The key is hashed by whoever makes it, so
// nothing in it can end the comment.
const markWord = "forge-issue:"

var ownMark = work.Lazy(`<!-- ` + markWord + `[0-9a-f]{16,64} -->`)

// Mark is the line by which a report is found again.
func Mark(key string) string { return "<!-- " + markWord + key + " -->" }

// Ours says that a comment is a report of Forge's.
func Ours(body string) bool { return ownMark().MatchString(body) }

// Tell is what is posted about an issue. Standing is the same while nothing of
// it has to be said anew.
func Tell(key string, i work.Issue) (r Report, standing string) {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case i.State == work.IssueCancelled:
		say("Forge does not work on this: it was cancelled.")
	case i.State == work.IssueFailed:
		say("Forge worked on this and did not succeed.")
	case i.Column == work.ColumnDone:
		say("Done. The result has landed.")
	case i.Column == work.ColumnInReview:
		say("The work is finished and waits for a person's review.")
	case i.Column == work.ColumnInProgress && i.State == work.IssueWaits:
		say("Forge works on this, and waits for an answer of a person.")
	case i.Column == work.ColumnInProgress:
		say("Forge works on this.")
	case i.State == work.IssueWaits:
		say("This is on Forge's board and waits for a person.")
	default:
		say("This is on Forge's board, number %d.", i.ID)
	}
	if i.Reason != "" {
		say("\nWhy: %s", quote(i.Reason))
	}
	if len(i.Hold) > 0 {
		say("\nHeld by: %s", quote(strings.Join(i.Hold, ", ")))
	}
	if i.Run != "" {
		say("\nRun: %s", quote(i.Run))
	}
	if i.Branch != "" && (i.Column == work.ColumnInReview || i.Column == work.ColumnDone) {
		say("\nBranch: %s", quote(i.Branch))
	}
	standing = strings.Join([]string{string(i.Column), string(i.State), i.Reason, strings.Join(i.Hold, ","), i.Run}, "\n")
	return Report{Key: key, Body: Inert(strings.TrimSpace(b.String())) + "\n\n" + Mark(key) + "\n", Done: i.Column == work.ColumnDone}, standing
}

// quote shows a word or a line as code: nothing in it is a link or an order.
func quote(text string) string {
	return "`" + strings.ReplaceAll(work.OneLine(text), "`", "'") + "`"
}

var (
	mention = work.Lazy(`@([\pL\pN_])`)
	closing = work.Lazy(`(?i)\b(close|closes|closed|fix|fixe|fixes|fixed|resolve|resolves|resolved|implement|implements|implemented|reopen|reopens|reopened)([:\s]+)([\w./-]*[#!]\d|\w+://)`)
	crossed = work.Lazy(`([#!])(\d)`)
	linked  = work.Lazy(`(?i)([a-z0-9+.-])(://)`)
	named   = work.Lazy(`(?i)\b(www|mailto|javascript)([.:])`)
	arrowed = work.Lazy(`\]([(\[:])`)
)

// gap breaks a word for the host, and not for who reads it.
const gap = "\u200b"

// Inert takes from a text what would act on a host: it calls nobody, closes
// nothing, refers to nothing, links nowhere, and hides nothing. What is inert
// stays as it is.
func Inert(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), gap, "")
	s = strings.NewReplacer("<", "‹", ">", "›").Replace(s) // no tag, no comment, no link in brackets
	s = closing().ReplaceAllString(s, "${1}"+gap+"${2}${3}")
	s = mention().ReplaceAllString(s, "@"+gap+"${1}")
	s = crossed().ReplaceAllString(s, "${1}"+gap+"${2}")
	s = linked().ReplaceAllString(s, "${1}"+gap+"${2}")
	s = named().ReplaceAllString(s, "${1}"+gap+"${2}")
	return arrowed().ReplaceAllString(s, "]"+gap+"${1}")
}
