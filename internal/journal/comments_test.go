package journal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// A comment is kept with its checkpoint in one transaction, so that an answer
// holds all that was said before it, and nothing is said after it.
func TestCommentsArePartOfTheAnswer(t *testing.T) {
	s, owner := openWithRun(t, "run")
	openMany(t, s, owner, 2)
	l := work.LineComment{Path: "a.go", Side: work.SideNew, Line: 7, Body: "say why", By: "me", At: testTime}
	if _, err := s.CommentLine(t.Context(), "nobody", 0, l, testTime); !errors.Is(err, work.ErrUnknown) {
		t.Errorf("a comment on no checkpoint: %v", err)
	}
	if _, err := s.CommentLine(t.Context(), "run-00000", 99, l, testTime); !errors.Is(err, work.ErrConflict) {
		t.Errorf("a comment on another revision: %v", err)
	}
	for range 2 {
		if _, err := s.CommentLine(t.Context(), "run-00000", 0, l, testTime); err != nil {
			t.Fatal(err)
		}
	}
	cp, err := s.DropComment(t.Context(), "run-00000", 0, 1, "me", testTime)
	if err != nil || len(cp.Comments) != 1 || cp.Comments[0].ID != 2 {
		t.Fatalf("%v %v", cp.Comments, err)
	}
	cp, err = s.Answer(t.Context(), work.Answer{Checkpoint: "run-00000", Status: work.CheckpointChangesRequested, By: "me", At: testTime})
	if err != nil || !strings.Contains(cp.Comment, "a.go:7\nsay why") {
		t.Fatalf("the answer says %q, %v", cp.Comment, err)
	}
	inbox, err := s.Inbox(t.Context(), cp.Run)
	if err != nil || len(inbox) != 1 || inbox[0].Answer.Comment != cp.Comment {
		t.Errorf("the run is told %v, %v", inbox, err)
	}
	if _, err := s.CommentLine(t.Context(), "run-00000", 0, l, testTime); !errors.Is(err, work.ErrAlreadyResolved) {
		t.Errorf("a comment after the answer: %v", err)
	}
	// Where the work is approved all the same, it is left for later.
	l.Body = "[NIT] say why"
	if _, err := s.CommentLine(t.Context(), "run-00001", 0, l, testTime); err != nil {
		t.Fatal(err)
	}
	cp, err = s.Answer(t.Context(), work.Answer{Checkpoint: "run-00001", Status: work.CheckpointApproved, By: "me", At: testTime})
	if err == nil {
		inbox, err = s.Inbox(t.Context(), cp.Run)
	}
	if err != nil || len(inbox) != 2 || !slices.Equal(inbox[1].Answer.FollowUps, []string{"a.go:7: say why"}) {
		t.Errorf("the run is told %v, %v", inbox, err)
	}
}

// An answer takes the edits along that it knows of, or it is refused: what was
// edited in between is not lost. What is edited is not approved.
func TestEditsArePartOfTheAnswer(t *testing.T) {
	s, owner := openWithRun(t, "run")
	openMany(t, s, owner, 1)
	edit := func(path, seen, blob string) work.Checkpoint {
		t.Helper()
		cp, err := s.EditFile(t.Context(), "run-00000", 0, seen, work.FileEdit{Path: path, Blob: blob, By: "me", At: testTime}, testTime)
		if err != nil {
			t.Fatal(err)
		}
		return cp
	}
	answer := func(status work.CheckpointStatus, e *work.Edited) error {
		_, err := s.Answer(t.Context(), work.Answer{Checkpoint: "run-00000", Status: status, Comment: "x", By: "me", At: testTime, Edited: e})
		return err
	}
	if err := answer(work.CheckpointChangesRequested, &work.Edited{Sum: "of nothing"}); !errors.Is(err, work.ErrConflict) {
		t.Errorf("an answer with edits that nobody made: %v", err)
	}
	first := edit("a", "", "1").EditsSum()
	edit("b", "", "2")
	cp := edit("a", "1", "3")
	if len(cp.Edits) != 2 || cp.EditsSum() == first {
		t.Fatalf("edits %v", cp.Edits)
	}
	for _, e := range []*work.Edited{nil, {Sum: first}} {
		if err := answer(work.CheckpointChangesRequested, e); !errors.Is(err, work.ErrConflict) {
			t.Errorf("an answer that leaves edits behind: %v", err)
		}
	}
	if err := answer(work.CheckpointApproved, nil); !errors.Is(err, work.ErrConflict) {
		t.Errorf("what is edited is approved: %v", err)
	}
	if err := answer(work.CheckpointChangesRequested, &work.Edited{Sum: cp.EditsSum()}); err != nil {
		t.Error(err)
	}
	if _, err := s.DropEdit(t.Context(), "run-00000", 0, "a", "3", testTime); !errors.Is(err, work.ErrAlreadyResolved) {
		t.Errorf("an edit is taken back after the answer: %v", err)
	}
}

// Who edits a file without having seen what others made of it meanwhile is
// refused and told what that is, also of many at once just one is kept.
func TestAnEditIsNotWrittenOverUnseen(t *testing.T) {
	s, owner := openWithRun(t, "run")
	openMany(t, s, owner, 1)
	edit := func(by, seen, blob string) (work.Checkpoint, error) {
		e := work.FileEdit{Path: "a", Blob: blob, Delete: blob == "", By: by, At: testTime}
		return s.EditFile(t.Context(), "run-00000", 0, seen, e, testTime)
	}
	const people = 8
	refused := make(chan error, people)
	for n := range people {
		go func() {
			by := string(rune('a' + n))
			_, err := edit(by, "", "blob of "+by)
			refused <- err
		}()
	}
	kept := 0
	for range people {
		err := <-refused
		var o *work.OvertakenError
		switch {
		case err == nil:
			kept++
		case !errors.As(err, &o) || !errors.Is(err, work.ErrConflict) || o.Now == nil || o.Now.Blob != "blob of "+o.Now.By:
			t.Errorf("refused with %v", err)
		}
	}
	if kept != 1 {
		t.Fatalf("%d of %d edits of the same file were kept", kept, people)
	}
	cp, err := s.Checkpoint(t.Context(), "run-00000")
	if err != nil || len(cp.Edits) != 1 {
		t.Fatalf("%v, %v", cp.Edits, err)
	}
	first := cp.Edits[0]

	// A form that is sent twice is no second edit, and not somebody else's.
	if cp, err := edit("z", "", first.Blob); err != nil || cp.Edits[0].By != first.By {
		t.Errorf("the same again: %v, %v", cp.Edits, err)
	}
	if _, err := edit("z", "", ""); !errors.Is(err, work.ErrConflict) {
		t.Errorf("it is deleted by who did not see the edit: %v", err)
	}
	if _, err := edit("z", first.Sum(), ""); err != nil {
		t.Errorf("it is deleted by who saw the edit: %v", err)
	}
	if _, err := s.DropEdit(t.Context(), "run-00000", 0, "a", first.Sum(), testTime); !errors.Is(err, work.ErrConflict) {
		t.Errorf("another edit is taken back than was seen: %v", err)
	}
	for range 2 { // it is gone when it is asked for again
		if cp, err := s.DropEdit(t.Context(), "run-00000", 0, "a", "deleted", testTime); err != nil || len(cp.Edits) != 0 {
			t.Errorf("take back what was seen: %v, %v", cp.Edits, err)
		}
	}
	var o *work.OvertakenError
	if _, err := edit("z", "deleted", "late"); !errors.As(err, &o) || o.Now != nil {
		t.Errorf("an edit of what was taken back: %v", err)
	}
}
