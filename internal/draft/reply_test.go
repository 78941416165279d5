package draft

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/interview"
	"forge/internal/project"
	"forge/internal/work"
)

// A question is answered once, by who saw it; why an agent cannot go on is kept
// where it is looked for.
func TestReply(t *testing.T) {
	t.Parallel()
	p := &project.Checkout{Env: project.Env{Now: time.Now, Log: charm.New(io.Discard)}, State: t.TempDir(), Config: &config.Config{}}
	const id = "interview-spec"
	if _, err := Reply(p, id, "Which?", "a"); !errors.Is(err, ErrNone) {
		t.Errorf("without an interview: %v", err)
	}
	i := &Interview{p: p, Record: interview.Record{Kind: interview.OfSpec, Wish: "w", Turns: []interview.Turn{{Question: work.Question{Text: "Which\nnames?", Choices: []string{"a", "b"}}}}}}
	if err := i.Keep(); err != nil {
		t.Fatal(err)
	}
	if _, err := Reply(p, id, "Another?", "a"); !errors.Is(err, work.ErrStale) {
		t.Errorf("to another question: %v", err)
	}
	i, err := Reply(p, id, "Which names?", "2")
	if err != nil || i.Turns[0].Answer != "b" {
		t.Fatalf("the answer is %+v, %v", i, err)
	}
	if _, err := Reply(p, id, "Which names?", "1"); !errors.Is(err, work.ErrStale) {
		t.Errorf("a second answer: %v", err)
	}
	if got := Thinking(p, func(of string) bool { return of == id }); len(got) != 1 || got[0].State != UnderWay || got[0].About != "w" {
		t.Errorf("while the agent thinks: %+v", got)
	}

	// Who sat at a terminal with the same question hears of it.
	away, _, err := OpenInterview(p, interview.OfSpec, "")
	if err == nil {
		i.Enough = true
		err = i.Keep()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := away.Keep(); err == nil || !strings.Contains(err.Error(), "at another door") {
		t.Errorf("an older state is written: %v", err)
	}

	// No agent is there to go on.
	if err := i.GoOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := Others(p)
	if err != nil || len(list) != 1 || list[0].State != Failed || list[0].Problem == "" || list[0].Way != "forge interview goes on with it" {
		t.Errorf("what waits: %+v, %v", list, err)
	}
	// One that was stopped, or dropped meanwhile, says nothing.
	over, stop := context.WithCancel(t.Context())
	stop()
	i.Problem = ""
	if err := errors.Join(i.Keep(), i.GoOn(over), Drop(p, id), i.GoOn(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(interviewFile(p, interview.OfSpec)); err == nil {
		t.Error("what was dropped is there again")
	}
}

// The longest question that an agent may ask is shown whole.
func TestALongQuestionIsShownWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", work.MaxQuestionBytes-1) + "?"
	if got := asked(&interview.Turn{Question: work.Question{Text: long}}); got != long {
		t.Errorf("it is cut to %d bytes: %s", len(got), got)
	}
}
