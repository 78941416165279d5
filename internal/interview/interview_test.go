package interview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

// asker is an author that writes one thing after the other.
type asker struct{ writes, prompts []string }

func (a *asker) Draft(_ context.Context, prompt string) ([]byte, error) {
	a.prompts = append(a.prompts, prompt)
	if len(a.prompts) > len(a.writes) {
		return nil, errors.New("nothing was written")
	}
	return []byte(a.writes[len(a.prompts)-1]), nil
}

const (
	port   = `{"question": {"text": "Which port?", "why": "both are free", "choices": ["80", "8080"]}}`
	result = `{"spec": {"title": "Serve", "behaviour": ["it serves"], "criteria": [{"what": "it answers", "command": "make ask"}]}}`
)

// step has the author write, and says what had to be kept.
func step(t *testing.T, r *Record, writes ...string) (kept int, prompts []string, err error) {
	t.Helper()
	a := &asker{writes: writes}
	err = Step(t.Context(), a, r, func() error { kept++; return nil })
	return kept, a.prompts, err
}

func TestAnInterview(t *testing.T) {
	r := &Record{Kind: OfSpec, Wish: "serve pages"}
	if kept, prompts, err := step(t, r, port); err != nil || kept != 1 || r.Open() == nil || !strings.Contains(prompts[0], "At most 20 more questions") {
		t.Fatalf("after the first question: %+v, kept %d times, %v", r, kept, err)
	}
	if kept, _, err := step(t, r); err != nil || kept != 0 {
		t.Errorf("a question that waits: asked again, kept %d, %v", kept, err)
	}
	if err := r.Answer("2"); err != nil || r.Turns[0].Answer != "8080" {
		t.Errorf("choice 2 is %q, %v", r.Turns[0].Answer, err)
	}
	if err := r.Answer("3"); err == nil {
		t.Error("an answer to nothing was taken")
	}

	// It outlives the program: the record is all that the next one needs.
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	r = &Record{}
	if err := json.Unmarshal(body, r); err != nil {
		t.Fatal(err)
	}
	_, prompts, err := step(t, r, result)
	if err != nil || !r.Done() || !strings.Contains(prompts[0], "Answer: 8080") {
		t.Errorf("the result: %+v, %v", r, err)
	}
}

// What cannot be used is repaired once, with everything that is wrong, and never
// taken in part.
func TestWhatAnAgentMayWrite(t *testing.T) {
	asked := func() *Record {
		return &Record{Kind: OfSpec, Turns: []Turn{{Question: work.Question{Text: "Which port?"}, Answered: true, Answer: "80"}}}
	}
	for name, bad := range map[string][2]string{
		"no JSON":              {`which port?`, "not the JSON"},
		"two objects":          {port + port, "text after"},
		"a brace too many":     {port + "}", "text after"},
		"an unknown field":     {`{"question": {"text": "a"}, "confidence": 1}`, "not the JSON"},
		"both":                 {strings.TrimSuffix(port, "}") + "," + strings.TrimPrefix(result, "{"), "either a question or the spec"},
		"neither":              {`{}`, "either a question or the spec"},
		"a result of another":  {`{"design": {"parts": []}}`, "either a question or the spec"},
		"a question again":     {`{"question": {"text": "WHICH port?"}}`, "was asked before"},
		"an empty question":    {`{"question": {"text": " "}}`, "no text"},
		"nothing to prove":     {`{"spec": {"title": "a", "behaviour": ["b"], "criteria": []}}`, "nothing of it could be proven"},
		"no evidence":          {`{"spec": {"title": "a", "behaviour": ["b"], "criteria": [{"what": "c"}]}}`, "criteria[0]: the criterion names no evidence"},
		"no behaviour":         {`{"spec": {"title": "a", "criteria": [{"what": "c", "command": "true"}]}}`, "behaviour says nothing"},
		"a line that is two":   {`{"spec": {"title": "a\nb", "behaviour": ["b"], "criteria": [{"what": "c", "command": "true"}]}}`, "title is not one line"},
		"a line that is empty": {`{"spec": {"title": "a", "behaviour": [" "], "criteria": [{"what": "c", "command": "true"}]}}`, "behaviour[0] is empty"},
	} {
		r := asked()
		kept, prompts, err := step(t, r, bad[0], result)
		if err != nil || !r.Done() || kept != 1 || len(prompts) != 2 || !strings.Contains(prompts[1], bad[1]) {
			t.Errorf("%s: %+v, prompts %q, %v", name, r, prompts, err)
		}
		r = asked()
		_, _, err = step(t, r, bad[0], bad[0], result)
		var reply *ReplyError
		if !errors.As(err, &reply) || r.Done() || r.Open() != nil || len(r.Refused) == 0 {
			t.Errorf("%s twice: %+v, %v", name, r, err)
		}
	}
}

// Questions end: by a person, or by their number.
func TestTheLastQuestion(t *testing.T) {
	enough := &Record{Kind: OfSpec, Enough: true}
	full := &Record{Kind: OfSpec}
	for i := range MaxQuestions {
		full.Turns = append(full.Turns, Turn{Question: work.Question{Text: fmt.Sprint(i)}, Answered: true})
	}
	for _, r := range []*Record{enough, full} {
		_, prompts, err := step(t, r, port, result)
		if err != nil || !r.Done() || !strings.Contains(prompts[0], "Nobody is asked any more") || !strings.Contains(prompts[1], "no more questions") {
			t.Errorf("%+v, %q, %v", r, prompts, err)
		}
	}
}

func TestPromptsFence(t *testing.T) {
	for _, hostile := range texttest.Prompts() {
		for _, kind := range []Kind{OfSpec, OfDesign} {
			texttest.Fenced(t, Prompt(Record{Kind: kind, Wish: hostile}))
			texttest.Fenced(t, Prompt(Record{Kind: kind, Wish: "w", Turns: []Turn{{Question: work.Question{Text: "q"}, Answered: true, Answer: hostile}}}))
		}
		texttest.Fenced(t, repair([]string{hostile}))
	}
}

// The criteria of a spec are read back from its file as they were, whatever they say.
func TestCriteriaOfASpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z#(-][a-z0-9 #()-]{0,20}[a-z)]`)
		s := Spec{Title: word.Draw(t, "title"), Behaviour: rapid.SliceOfN(word, 1, 3).Draw(t, "behaviour"), Open: rapid.SliceOfN(word, 0, 2).Draw(t, "open")}
		var want []string
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			a := work.Acceptance{What: word.Draw(t, "what"), Command: word.Draw(t, "command")}
			s.Criteria, want = append(s.Criteria, a), append(want, a.String())
		}
		if got := CriteriaOf(s.Markdown()); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q of\n%s", got, want, s.Markdown())
		}
		held := rapid.IntRange(0, len(s.Criteria)).Draw(t, "held")
		plan := work.Plan{Phases: []work.Phase{{Criteria: s.Criteria[:held]}}}
		for _, c := range Unclaimed(s.Markdown(), plan) {
			if slices.Contains(want[:held], c) {
				t.Fatalf("%q is held against, and is said to be unclaimed", c)
			}
		}
		if held == len(want) && len(Unclaimed(s.Markdown(), plan)) > 0 || held == 0 && len(Unclaimed(s.Markdown(), plan)) != len(want) {
			t.Fatalf("of %d criteria %d are held, and unclaimed are %q", len(want), held, Unclaimed(s.Markdown(), plan))
		}
	})
}

func TestThePlanOfADesign(t *testing.T) {
	test := func(file string) work.Acceptance { return work.Acceptance{What: "it works", Test: file} }
	d := Design{Parts: []Part{
		{Name: "parser", What: "parse", Criteria: []work.Acceptance{test("a_test.go"), {What: "all pass", Command: "make test"}}},
		{Name: "printer", What: "print", Budget: 3, Criteria: []work.Acceptance{test("b_test.go::TestB")}},
	}}
	if problems := d.check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	plan, problems := d.Plan(5, true)
	if len(problems) > 0 || len(plan.Check()) > 0 {
		t.Fatal(problems, plan.Check())
	}
	var got []string
	for _, ph := range plan.Phases {
		got = append(got, fmt.Sprintf("%s %s %s %s %v %d", ph.Number, ph.PhaseType, ph.Name, strings.Join(ph.DependsOn, ","), ph.Verify, len(ph.Criteria)))
	}
	want := []string{
		"05 test Tests: parser  [test -s a_test.go] 0", "06 implement parser 05 [] 2",
		"07 test Tests: printer 06 [test -s b_test.go] 0", "08 implement printer 07 [] 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if plan, _ := d.Plan(1, false); len(plan.Phases) != 2 || plan.Phases[1].DependsOn[0] != "01" {
		t.Errorf("without tests first: %+v", plan.Phases)
	}

	// Nothing is guessed: a part whose tests nobody named has no phase for them.
	d.Parts[1].Criteria = []work.Acceptance{{What: "a", Command: "true"}}
	if _, problems := d.Plan(1, true); len(problems) != 1 || !strings.Contains(problems[0], `"printer"`) {
		t.Errorf("a part without a test: %q", problems)
	}
	d.Parts = append(d.Parts, Part{Name: " Parser ", Budget: 200})
	problems = d.check()
	for _, want := range []string{"is taken by another part", "what is empty", "budget is 200", "nothing of it could be proven"} {
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("the problems do not say %q: %q", want, problems)
		}
	}
}

// Whatever an agent writes, an interview is where it was or a whole step on.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{port, result, `{}`, `{"question":null}`, `{"design":{"parts":[{"name":"a"}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []Kind{OfSpec, OfDesign} {
			r := &Record{Kind: kind}
			problems := r.take(body)
			moved := r.Done() || r.Open() != nil
			if moved == (len(problems) > 0) {
				t.Errorf("%s of %q: %+v with problems %q", kind, body, r, problems)
			}
			if r.Spec != nil && len(CriteriaOf(r.Spec.Markdown())) < 1 {
				t.Errorf("a spec without criteria: %q", body)
			}
		}
	})
}
