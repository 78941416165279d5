package work

import (
	"fmt"
	"slices"
	"strings"
)

// CommentTag is what a person wants of a comment, by how it begins: [FIX],
// [QUESTION] or [NIT], in any case.
type CommentTag string

const (
	TagNone     CommentTag = ""
	TagFix      CommentTag = "fix"      // it has to be changed
	TagQuestion CommentTag = "question" // it wants an answer, and no change
	TagNit      CommentTag = "nit"      // small: where the work goes through, it is kept for later
)

// Tagged is the tag of a comment, and the comment without it.
func Tagged(body string) (CommentTag, string) {
	trimmed := strings.TrimSpace(body)
	for _, tag := range []CommentTag{TagFix, TagQuestion, TagNit} {
		mark := "[" + string(tag) + "]"
		if len(trimmed) >= len(mark) && strings.EqualFold(trimmed[:len(mark)], mark) {
			return tag, strings.TrimSpace(trimmed[len(mark):])
		}
	}
	return TagNone, body
}

// told is the comment as its agent hears it.
func told(body string) string {
	tag, rest := Tagged(body)
	switch tag {
	case TagFix:
		return "(has to be changed) " + rest
	case TagQuestion:
		return "(a question: answer it in your last message, and change nothing for it) " + rest
	case TagNit:
		return "(a small thing: change it if that costs little) " + rest
	}
	return body
}

// FollowUps are what the comments on lines leave to be done where the work is
// approved all the same, one line each, by file and line.
func (c Checkpoint) FollowUps() []string {
	var out []string
	for _, l := range c.sortedComments() {
		_, rest := Tagged(l.Body)
		out = append(out, fmt.Sprintf("%s:%d: %s", l.Path, l.Line, strings.Join(strings.Fields(rest), " ")))
	}
	return out
}

// WithWords is an answer to c with what c gathered: changes are requested with
// all that was said of lines and files, and where the work is approved, what was
// said of lines is kept.
func (c Checkpoint) WithWords(a Answer) Answer {
	switch a.Status {
	case CheckpointChangesRequested:
		a.Comment = c.Feedback(a.Comment)
	case CheckpointApproved:
		left := c.FollowUps() // beside what was said of lines elsewhere
		a.FollowUps = append(slices.DeleteFunc(slices.Clone(a.FollowUps), func(words string) bool { return slices.Contains(left, words) }), left...)
	}
	return a
}
