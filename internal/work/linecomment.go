package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// Bounds of comments on lines, in bytes where not in number, and of all that
// one answer tells an agent.
const (
	MaxLineComments = 100
	MaxLineComment  = 2000
	MaxLineQuote    = 300
	MaxFeedback     = 8000
)

// ErrTooLong says that the comments together are more than an agent is told at
// once, or that there are too many of something.
var ErrTooLong = errors.New("too_long")

// The sides of a change.
const (
	SideOld = "old"
	SideNew = "new"
)

// LineComment is what a person says about a line of a change. It answers
// nothing: it is kept with the checkpoint until that is answered as a whole,
// and is part of the feedback when changes are requested.
type LineComment struct {
	ID   int       `json:"id"` // from 1 within its checkpoint; never given again
	Path string    `json:"path"`
	Side string    `json:"side"` // old or new
	Line int       `json:"line"` // of that side, from 1
	Hunk string    `json:"hunk,omitempty"`
	Body string    `json:"body"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// open says why nothing more is said about c; see JudgeFiles.
func (c Checkpoint) open(revision int, now time.Time) error {
	switch {
	case c.Status == CheckpointExpired || c.ExpiresAt != nil && !now.Before(*c.ExpiresAt):
		return ErrExpired
	case c.Status != CheckpointPending:
		return fmt.Errorf("%w: %s by %s", ErrAlreadyResolved, c.Status, c.AnsweredBy)
	case revision != 0 && revision != c.Revision:
		return fmt.Errorf("%w: revision %d was judged, revision %d is asked about", ErrConflict, revision, c.Revision)
	}
	return nil
}

// CommentLine is c with one comment more, which gets the next number. It
// refuses as JudgeFiles does, and with ErrTooLong what would not reach the
// agent whole.
func (c Checkpoint) CommentLine(revision int, l LineComment, now time.Time) (Checkpoint, error) {
	if err := c.open(revision, now); err != nil {
		return c, err
	}
	l.Body = strings.TrimSpace(strings.ToValidUTF8(l.Body, "\uFFFD"))
	l.Hunk = text.Clip(strings.TrimRight(l.Hunk, " \r\n"), MaxLineQuote)
	switch {
	case l.Body == "":
		return c, ErrEmptyFeedback
	case len(l.Body) > MaxLineComment:
		return c, fmt.Errorf("%w: a comment has at most %d bytes", ErrTooLong, MaxLineComment)
	case l.Path == "" || l.Line < 1 || l.Side != SideOld && l.Side != SideNew:
		return c, fmt.Errorf("%w: it is about no line", ErrConflict)
	case len(c.Comments) >= MaxLineComments:
		return c, fmt.Errorf("%w: at most %d comments on lines", ErrTooLong, MaxLineComments)
	}
	c.CommentsGiven++
	l.ID, l.At = c.CommentsGiven, l.At.UTC()
	c.Comments = append(slices.Clone(c.Comments), l)
	if n := len(c.Feedback("")); n > MaxFeedback {
		return c, fmt.Errorf("%w: all comments together would have %d bytes, more than the %d that an agent is told at once", ErrTooLong, n, MaxFeedback)
	}
	return c, nil
}

// DropComment is c without the comment of that number, which only who wrote it
// takes back; "" is everybody. One that is not there is ErrConflict.
func (c Checkpoint) DropComment(revision, id int, by string, now time.Time) (Checkpoint, error) {
	if err := c.open(revision, now); err != nil {
		return c, err
	}
	at := slices.IndexFunc(c.Comments, func(l LineComment) bool { return l.ID == id && (by == "" || l.By == by) })
	if at < 0 {
		return c, fmt.Errorf("%w: there is no such comment of %s", ErrConflict, by)
	}
	c.Comments = slices.Delete(slices.Clone(c.Comments), at, at+1)
	return c, nil
}

// lineFeedback is what the comments on lines tell the agent, by file and line.
func (c Checkpoint) lineFeedback() []string {
	var out []string
	for _, l := range c.sortedComments() {
		where := fmt.Sprintf("%s:%d", l.Path, l.Line)
		if l.Side == SideOld {
			where += " (as it was before)"
		}
		if l.Hunk != "" {
			where += "\n> " + strings.ReplaceAll(l.Hunk, "\n", "\n> ")
		}
		out = append(out, where+"\n"+told(l.Body))
	}
	return out
}

// sortedComments are the comments on lines by file and line.
func (c Checkpoint) sortedComments() []LineComment {
	sorted := slices.Clone(c.Comments)
	slices.SortStableFunc(sorted, func(a, b LineComment) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}
