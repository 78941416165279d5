package draft

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"forge/internal/interview"
	"forge/internal/project"
	"forge/internal/work"
)

// A plan that nobody looked at gets no command from its agent, save those of
// criteria that stand in the owner's spec, to the letter.
func TestCriteriaOfPlansThatNobodyLookedAt(t *testing.T) {
	owned := work.Acceptance{What: "it adds", Command: "make add"}
	spec := interview.Spec{Title: "a", Behaviour: []string{"b"}, Criteria: []work.Acceptance{owned}}
	plan := func() work.Plan {
		return work.Plan{Phases: []work.Phase{{Number: "01", Name: "n", Promise: "P", Verify: []string{"true"}, Criteria: []work.Acceptance{
			owned, {What: "it adds", Command: "true"}, {What: "another", Command: "make add"}, {What: "tested", Test: "a_test.go"}, {What: "told", Page: "a.md"},
		}}}}
	}
	for name, got := range map[string]work.Plan{"tame": Tame(plan()), "of a spec": keepCriteria(plan(), spec.Markdown()), "of another spec": keepCriteria(plan(), "# a")} {
		var kept []string
		for _, a := range got.Phases[0].Criteria {
			kept = append(kept, a.Proof())
		}
		want := "test -s a_test.go"
		if name == "of a spec" {
			want = "make add, " + want
		}
		if strings.Join(kept, ", ") != want || len(got.Phases[0].Verify) > 0 {
			t.Errorf("%s: kept %q and verify %q, want %q", name, kept, got.Phases[0].Verify, want)
		}
	}
}

// At a terminal a line is an answer, which is kept at once; leaving is none.
func TestAnswersAtATerminal(t *testing.T) {
	p := &project.Checkout{State: t.TempDir()}
	begin := func() *Interview {
		i, _, err := OpenInterview(p, interview.OfSpec, "")
		if err != nil {
			t.Fatal(err)
		}
		i.Record = interview.Record{Kind: interview.OfSpec, Wish: "w", Turns: []interview.Turn{{Question: work.Question{Text: "Which\x1b[31m?", Why: "both do", Choices: []string{"a", "b"}}}}}
		if err := i.Keep(); err != nil {
			t.Fatal(err)
		}
		return i
	}
	for line, want := range map[string]interview.Turn{
		"2\n": {Answered: true, Answer: "b"}, "3\n": {Answered: true, Answer: "3"}, "\n": {Answered: true}, "words": {Answered: true, Answer: "words"}, "done\n": {Answered: true},
	} {
		i := begin()
		if err := readAnswer(t.Context(), i, bufio.NewReader(strings.NewReader(line))); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		again, there, err := OpenInterview(p, interview.OfSpec, "")
		if err != nil || !there || again.Turns[0].Answered != want.Answered || again.Turns[0].Answer != want.Answer || again.Enough != (line == "done\n") {
			t.Errorf("%q: kept is %+v, %v", line, again.Record, err)
		}
	}
	i := begin()
	if err := readAnswer(t.Context(), i, bufio.NewReader(strings.NewReader(""))); !errors.Is(err, context.Canceled) || i.Open() == nil {
		t.Errorf("leaving: %v, %+v", err, i.Turns)
	}
	var out bytes.Buffer
	if err := sayQuestion(i, Asking{Out: &out, Command: "forge interview"}); err != nil || strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "  2  b") || !strings.Contains(out.String(), "--answer") {
		t.Errorf("the question is shown as %q, %v", out.String(), err)
	}
}
