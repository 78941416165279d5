package journal

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"forge/internal/work"
)

func TestTell(t *testing.T) {
	s, _ := openWithRun(t, "run")
	a := work.Answer{By: "someone", Door: "cli", At: testTime, Policy: json.RawMessage(`{"preset":"full"}`)}
	if err := s.Tell(t.Context(), "run", a); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Tell(t.Context(), "other", a), ErrNoRun)
	for name, change := range map[string]func(*work.Answer){
		"a checkpoint": func(a *work.Answer) { a.Checkpoint = "c" },
		"no policy":    func(a *work.Answer) { a.Policy = nil },
		"no time":      func(a *work.Answer) { a.At = time.Time{} },
	} {
		b := a
		change(&b)
		if err := s.Tell(t.Context(), "run", b); err == nil {
			t.Errorf("told with %s", name)
		}
	}
	rows, err := s.Inbox(t.Context(), "run")
	if err != nil || len(rows) != 1 || string(rows[0].Answer.Policy) != `{"preset":"full"}` || rows[0].Answer.Checkpoint != "" || rows[0].Answer.By != "someone" {
		t.Errorf("inbox %+v, %v", rows, err)
	}
}

// Verdicts on files stay with the checkpoint; what is sent back keeps it from
// being approved at any door, and is part of what the agent is told.
func TestJudgeFiles(t *testing.T) {
	s, l := openWithRun(t, "run")
	openMany(t, s, l, 2)
	verdict := func(path string, status work.CheckpointStatus, comment string) []work.FileVerdict {
		return []work.FileVerdict{{Path: path, Status: status, Comment: comment, By: "someone", At: testTime}}
	}
	judge := func(want error, revision int, v []work.FileVerdict) {
		t.Helper()
		if _, err := s.JudgeFiles(t.Context(), "run-00000", revision, v, testTime); !errors.Is(err, want) {
			t.Errorf("judged with %v, want %v", err, want)
		}
	}
	judge(nil, 0, verdict("a", work.CheckpointApproved, ""))
	judge(nil, 1, verdict("b", work.CheckpointChangesRequested, "say it otherwise"))
	judge(nil, 1, verdict("c", work.CheckpointChangesRequested, "no"))
	judge(nil, 1, verdict("c", work.CheckpointRejected, ""))
	judge(work.ErrConflict, 2, verdict("d", work.CheckpointApproved, ""))
	judge(work.ErrEmptyFeedback, 1, verdict("d", work.CheckpointChangesRequested, " "))
	if _, err := s.JudgeFiles(t.Context(), "nobody", 0, verdict("a", work.CheckpointApproved, ""), testTime); !errors.Is(err, work.ErrUnknown) {
		t.Errorf("judged what is not there: %v", err)
	}
	if _, err := s.JudgeFiles(t.Context(), "run-00000", 1, verdict("d", work.CheckpointExpired, ""), testTime); err == nil {
		t.Error("a file expired")
	}
	answer := work.Answer{Checkpoint: "run-00000", Status: work.CheckpointApproved, By: "x", At: testTime}
	_, err := s.Answer(t.Context(), answer)
	wantError(t, err, work.ErrConflict)
	answer.Status = work.CheckpointChangesRequested
	cp, err := s.Answer(t.Context(), answer)
	if err != nil {
		t.Fatal(err)
	}
	want := "b: say it otherwise\nc: leave it as it was before.\nFine as they are: a"
	if rows, err := s.Inbox(t.Context(), "run"); err != nil || len(rows) != 1 || rows[0].Answer.Comment != want || cp.Comment != want {
		t.Errorf("the agent is told %+v, the record says %q; %v", rows, cp.Comment, err)
	}
	judge(work.ErrAlreadyResolved, 1, verdict("b", work.CheckpointApproved, ""))

	// Approved after all.
	for _, status := range []work.CheckpointStatus{work.CheckpointChangesRequested, work.CheckpointApproved} {
		if _, err := s.JudgeFiles(t.Context(), "run-00001", 0, verdict("b", status, "because"), testTime); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Answer(t.Context(), work.Answer{Checkpoint: "run-00001", Status: work.CheckpointApproved, By: "x", At: testTime}); err != nil {
		t.Error(err)
	}
}

func TestJudgeFilesTooLate(t *testing.T) {
	end := testTime.Add(time.Minute)
	cp := work.Checkpoint{ID: "c", Revision: 1, Status: work.CheckpointPending, ExpiresAt: &end}
	v := []work.FileVerdict{{Path: "a", Status: work.CheckpointApproved}}
	if _, err := cp.JudgeFiles(0, v, end); !errors.Is(err, work.ErrExpired) {
		t.Errorf("judged at its end: %v", err)
	}
	if got, err := cp.JudgeFiles(0, v, end.Add(-1)); err != nil || len(got.Verdicts) != 1 || len(cp.Verdicts) != 0 {
		t.Errorf("judged before its end: %+v, %v", got, err)
	}
	many := make([]work.FileVerdict, work.MaxFileVerdicts+1)
	for i := range many {
		many[i] = work.FileVerdict{Path: string(rune('a' + i)), Status: work.CheckpointApproved}
	}
	if _, err := cp.JudgeFiles(0, many, testTime); !errors.Is(err, work.ErrConflict) {
		t.Errorf("judged more files than there may be: %v", err)
	}
}
