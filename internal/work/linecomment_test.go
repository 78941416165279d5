package work

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCommentLine(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cp := Checkpoint{ID: "r.1", Revision: 2, Status: CheckpointPending}
	ok := LineComment{Path: "a.go", Side: SideNew, Line: 3, Hunk: "x := 1", Body: " why? ", By: "me", At: now}
	for name, tt := range map[string]struct {
		change   func(*Checkpoint, *LineComment)
		revision int
		want     error
	}{
		"answered":         {func(c *Checkpoint, _ *LineComment) { c.Status = CheckpointApproved }, 2, ErrAlreadyResolved},
		"expired":          {func(c *Checkpoint, _ *LineComment) { c.ExpiresAt = &now }, 2, ErrExpired},
		"another revision": {func(*Checkpoint, *LineComment) {}, 1, ErrConflict},
		"no word":          {func(_ *Checkpoint, l *LineComment) { l.Body = " \n" }, 2, ErrEmptyFeedback},
		"too long":         {func(_ *Checkpoint, l *LineComment) { l.Body = strings.Repeat("x", MaxLineComment+1) }, 2, ErrTooLong},
		"no path":          {func(_ *Checkpoint, l *LineComment) { l.Path = "" }, 2, ErrConflict},
		"no line":          {func(_ *Checkpoint, l *LineComment) { l.Line = 0 }, 2, ErrConflict},
		"no side":          {func(_ *Checkpoint, l *LineComment) { l.Side = "both" }, 2, ErrConflict},
	} {
		c, l := cp, ok
		tt.change(&c, &l)
		if got, err := c.CommentLine(tt.revision, l, now); !errors.Is(err, tt.want) || len(got.Comments) != 0 {
			t.Errorf("%s: %v, want %v; kept %v", name, err, tt.want, got.Comments)
		}
	}
	one, err := cp.CommentLine(2, ok, now)
	if err != nil {
		t.Fatal(err)
	}
	other := ok
	other.Path, other.Side, other.Line, other.Body = "a.go", SideOld, 1, "and this"
	two, err := one.CommentLine(0, other, now)
	if err != nil || len(one.Comments) != 1 {
		t.Fatalf("%v, the one before has %d", err, len(one.Comments))
	}
	if got, want := two.Feedback("On the whole."), "On the whole.\na.go:1 (as it was before)\n> x := 1\nand this\na.go:3\n> x := 1\nwhy?"; got != want {
		t.Errorf("feedback %q, want %q", got, want)
	}
	if _, err := two.DropComment(2, 1, "somebody", now); !errors.Is(err, ErrConflict) {
		t.Errorf("another's comment is taken back: %v", err)
	}
	three, err := two.DropComment(2, 2, "me", now)
	if err != nil || len(three.Comments) != 1 || len(two.Comments) != 2 {
		t.Fatalf("take back: %v %v", err, three.Comments)
	}
	if four, err := three.CommentLine(2, ok, now); err != nil || four.Comments[1].ID != 3 {
		t.Errorf("a number is given twice: %v %v", four.Comments, err)
	}
}

// However many are written, what is kept reaches the agent whole.
func TestCommentsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Checkpoint{Revision: 1, Status: CheckpointPending}
		for range rapid.IntRange(1, MaxLineComments+20).Draw(t, "n") {
			l := LineComment{Path: "p", Side: SideNew, Line: 1, Hunk: rapid.String().Draw(t, "hunk"), Body: strings.Repeat("é", rapid.IntRange(1, 400).Draw(t, "size")), By: "me"}
			next, err := c.CommentLine(1, l, time.Time{})
			if err != nil && !errors.Is(err, ErrTooLong) {
				t.Fatal(err)
			}
			if err == nil {
				c = next
			}
			if len(c.Feedback("")) > MaxFeedback || len(c.Comments) > MaxLineComments {
				t.Fatalf("%d bytes, %d comments", len(c.Feedback("")), len(c.Comments))
			}
		}
	})
}
