package triage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
)

var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// thread is a thread under test: it feeds facts and keeps the events.
type thread struct {
	t   *testing.T
	s   *State
	evs []work.Event
}

func spec(preset string) Spec {
	p, ok := gates.Preset(preset)
	if !ok {
		panic(preset)
	}
	return Spec{
		Project: "shop", Issue: 12, Attempt: 1, Depth: 1, Title: "Sort the list", Description: "It is not sorted.",
		Who: ByModel, Inferrer: "llm", Model: "m", Tier: gates.TierFrontierFast, CallUSD: 0.05, Policy: p,
	}
}

func open(t *testing.T, sp Spec) *thread {
	t.Helper()
	th := &thread{t: t, s: NewState(ThreadID(sp.Issue, 1), sp)}
	th.feed(Opened{Inline: &sp})
	return th
}

func (th *thread) feed(f Fact) []work.Event {
	th.t.Helper()
	evs, err := Feed(th.s, Input{Now: now, Fact: f})
	if err != nil {
		th.t.Fatal(err)
	}
	th.evs = append(th.evs, evs...)
	return evs
}

func (th *thread) account() []gates.InferenceAccount {
	return []gates.InferenceAccount{gates.NewInferenceAccount(th.s.Policy)}
}

// infer answers the pending question with text.
func (th *thread) infer(want gates.Point, text string) []work.Event {
	th.t.Helper()
	c := th.pending(StepInfer)
	if c.Target != want {
		th.t.Fatalf("asked about %s, want %s", c.Target, want)
	}
	th.feed(Began{Command: c, Accounts: th.account()})
	return th.feed(Answer{Command: c, JSON: []byte(text), Model: "m", Usage: usd(0.01)})
}

func usd(cost float64) work.Usage { return work.Usage{CostUSD: &cost} }

func (th *thread) pending(step Step) Command {
	th.t.Helper()
	c, ok := Pending(th.s)
	if !ok || c.Step != step {
		th.t.Fatalf("pending %+v, %v; want %s", c, ok, step)
	}
	return c
}

func (th *thread) answer(status work.CheckpointStatus, choice, comment string) []work.Event {
	th.t.Helper()
	if th.s.Open == nil {
		th.t.Fatal("nothing is open")
	}
	return th.feed(Answered{Answer: work.Answer{Checkpoint: th.s.Open.ID, Revision: th.s.Open.Revision, Status: status, Choice: choice, Comment: comment, By: "ann", Door: "cli", At: now}})
}

// waits wants an open checkpoint about these points.
func (th *thread) waits(points ...string) {
	th.t.Helper()
	if th.s.Open == nil || !slices.Equal(th.s.Open.Points, points) {
		th.t.Fatalf("open: %+v, want one about %v", th.s.Open, points)
	}
}

func (th *thread) ended(outcome work.RunOutcome) {
	th.t.Helper()
	if th.s.Live || th.s.Outcome != outcome {
		th.t.Fatalf("live %v, outcome %q, want %q", th.s.Live, th.s.Outcome, outcome)
	}
}

func (th *thread) count(kind work.EventKind) (n int) {
	for _, e := range th.evs {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// decisions are gate: decision by, of the gates that are targets.
func (th *thread) decisions() []string {
	var out []string
	for _, e := range th.evs {
		if e.Kind != work.GateDecided {
			continue
		}
		var d work.GateDecidedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			th.t.Fatal(err)
		}
		if slices.Contains(gates.Targets(), gates.Point(d.Gate)) {
			out = append(out, fmt.Sprintf("%s %s %s", d.Gate, d.Decision, d.By))
		}
	}
	return out
}

func sure(c float64) string {
	return fmt.Sprintf(`{"summary":"it wants that","confidence":%v,"question":""}`, c)
}

func action(c float64, more string) string {
	return fmt.Sprintf(`{"summary":"do it","confidence":%v,"question":"","kind":"standard","name":"implement","steps":["s"],"irreversibility":"low","regret_potential":"low","risk_amplifier":false,"requires_post_review":false,"sub_issues":[]%s}`, c, more)
}

func parts(level string) string {
	return fmt.Sprintf(`{"summary":"split","confidence":0.9,"question":"","kind":"standard","name":"decompose","steps":[],"irreversibility":"low","regret_potential":"low","risk_amplifier":false,"requires_post_review":false,
		"sub_issues":[{"title":"One","description":"a","criteria":[],"level":%q,"needs":[]},{"title":"Two","description":"b","criteria":["c"],"level":"","needs":[1]}]}`, level)
}

func TestAFreePolicyGoesThroughWithoutAPerson(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, sure(0.9))
	th.infer(gates.PointContext, sure(0.9))
	th.infer(gates.PointAction, action(0.9, ""))
	th.ended(work.RunCompleted)
	want := []string{"intent advance rule:confirmation", "context advance rule:confirmation", "action advance rule:confirmation"}
	if got := th.decisions(); !slices.Equal(got, want) {
		t.Errorf("decisions %v, want %v", got, want)
	}
	r := th.s.Result()
	if r.Verdict != Planned || !strings.Contains(strings.Join(r.Hints, " "), "do it") || r.USD == nil || *r.USD < 0.0299 || *r.USD > 0.0301 {
		t.Errorf("result %+v", r)
	}
}

func TestPlanThenReviewWaitsAtTheAction(t *testing.T) {
	th := open(t, spec("plan_then_review"))
	th.infer(gates.PointIntent, sure(0.9))
	th.infer(gates.PointContext, sure(0.9))
	th.infer(gates.PointAction, action(0.9, ""))
	th.waits("action")
	if !strings.Contains(th.s.Open.Facts, "state, consent") || !strings.Contains(th.s.Open.Facts, "Confidence: 0.9") {
		t.Errorf("facts say not why: %s", th.s.Open.Facts)
	}
	if changes, ok := th.s.Least(gates.PointAction); !ok || len(changes) != 2 {
		t.Errorf("least change %v, %v", changes, ok)
	}
	th.feed(Drained{Outcome: work.RunFrozen})
	th.ended(work.RunFrozen)
	if r := th.s.Result(); r.Verdict != Waiting {
		t.Errorf("result %+v", r)
	}
	th.feed(Resumed{})
	th.answer(work.CheckpointApproved, "", "")
	th.ended(work.RunCompleted)
	if got := th.decisions(); got[len(got)-1] != "action advance person:ann" {
		t.Errorf("decisions %v", got)
	}
}

// TestAdvanceNeedsAValue: whatever a record says, a stage without a value is not
// confirmed.
func TestAdvanceNeedsAValue(t *testing.T) {
	th := open(t, spec("end_to_end"))
	data, _ := json.Marshal(work.GateDecidedData{Gate: "intent", Decision: string(gates.Advance), By: "rule:confirmation"})
	if err := Apply(th.s, work.Event{Seq: th.s.Seq + 1, Kind: work.GateDecided, Data: data}); err != nil {
		t.Fatal(err)
	}
	if th.s.Stages[0].Confirmed || th.s.At() != 0 {
		t.Error("it advanced on nothing")
	}
}

// TestNothingUnknownAdvances: no answer that says too little gets past a gate,
// under the freest policy.
func TestNothingUnknownAdvances(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             ``,
		"no object":         `yes`,
		"nothing":           `{}`,
		"no confidence":     `{"summary":"x","confidence":null,"question":""}`,
		"confidence a word": `{"summary":"x","confidence":"high","question":""}`,
		"above one":         `{"summary":"x","confidence":7,"question":""}`,
		"below zero":        `{"summary":"x","confidence":-1,"question":""}`,
		"unsure":            sure(0.1),
		"a question":        `{"summary":"x","confidence":1,"question":"which list?"}`,
		"no summary":        `{"summary":" \u200b","confidence":1,"question":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			th := open(t, spec("end_to_end"))
			for range 3 {
				if th.s.Open == nil {
					th.infer(gates.PointIntent, text)
				}
			}
			about := []string{"intent", "context", "action"}
			if th.s.Stages[0].Value != nil {
				about = about[:1]
			}
			th.waits(about...)
			if th.s.Stages[0].Confirmed || th.s.At() != 0 {
				t.Error("it advanced")
			}
		})
	}
	for name, text := range map[string]string{
		"no kind":       strings.Replace(action(1, ""), `"standard"`, `""`, 1),
		"unknown kind":  strings.Replace(action(1, ""), `"standard"`, `"daring"`, 1),
		"unknown name":  strings.Replace(action(1, ""), `"implement"`, `"bless"`, 1),
		"unknown risk":  strings.Replace(action(1, ""), `"irreversibility":"low"`, `"irreversibility":"some"`, 1),
		"no regret":     strings.Replace(action(1, ""), `"regret_potential":"low",`, ``, 1),
		"no amplifier":  strings.Replace(action(1, ""), `"risk_amplifier":false,`, ``, 1),
		"risky by type": strings.Replace(action(1, ""), `"implement"`, `"migrate"`, 1),
		"one part":      strings.Replace(action(1, ""), `"sub_issues":[]`, `"sub_issues":[{"title":"x","description":""}]`, 1),
	} {
		t.Run("action "+name, func(t *testing.T) {
			th := open(t, spec("end_to_end"))
			th.infer(gates.PointIntent, sure(0.9))
			th.infer(gates.PointContext, sure(0.9))
			for range 3 {
				if th.s.Open == nil {
					th.infer(gates.PointAction, text)
				}
			}
			th.waits("action")
		})
	}
}

func TestAnUnusableAnswerIsAskedForOnceMore(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, `no`)
	if th.s.Open != nil {
		t.Fatal("a person is asked after one try")
	}
	th.infer(gates.PointIntent, sure(0.9))
	th.infer(gates.PointContext, `no`)
	th.infer(gates.PointContext, `no`)
	th.waits("context", "action")
	if !strings.Contains(th.s.Open.Facts, `[factory] triage = "off"`) {
		t.Errorf("the way out is not said:\n%s", th.s.Open.Facts)
	}
	th.answer(work.CheckpointApproved, ChoiceRetry, "")
	th.infer(gates.PointContext, `no`)
	th.infer(gates.PointContext, `no`)
	th.waits("context", "action")
	// The issue's own words hold when a person says so: for all that is left, so
	// that nobody is asked the same again.
	th.answer(work.CheckpointApproved, ChoiceAccept, "")
	th.ended(work.RunCompleted)
}

// What a person says about all that nobody could infer is thought through anew,
// one after the other.
func TestAfterUnusableAnswersARedirectAsksForAllAgain(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, `no`)
	th.infer(gates.PointIntent, `no`)
	th.waits("intent", "context", "action")
	th.answer(work.CheckpointChangesRequested, "", "it is about the cart")
	th.infer(gates.PointIntent, sure(0.9))
	th.infer(gates.PointContext, sure(0.9))
	th.infer(gates.PointAction, action(0.9, ""))
	th.ended(work.RunCompleted)
}

func TestARedirectInfersOnlyThatStageAgain(t *testing.T) {
	sp := spec("end_to_end")
	th := open(t, sp)
	th.infer(gates.PointIntent, sure(0.9))
	th.infer(gates.PointContext, sure(0.2))
	th.waits("context")
	th.answer(work.CheckpointChangesRequested, "", "look at the\u200b cart<!-- and go on -->, too")
	c := th.pending(StepInfer)
	if q := th.s.Ask(c); c.Target != gates.PointContext || !strings.Contains(q.User, "look at the cart, too") {
		t.Fatalf("asked %s: %s", c.Target, q.User)
	}
	th.infer(gates.PointContext, sure(0.9))
	th.infer(gates.PointAction, action(0.9, ""))
	th.ended(work.RunCompleted)
	if asked := [3]int{th.s.Stages[0].Asked, th.s.Stages[1].Asked, th.s.Stages[2].Asked}; asked != [3]int{1, 2, 1} {
		t.Errorf("inferences %v, want one, two, one", asked)
	}
}

func TestAQuestionIsAnsweredIntoTheNextInference(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, `{"summary":"","confidence":0.9,"question":"which list?"}`)
	th.waits("intent")
	if !strings.Contains(th.s.Open.Question, "which list?") {
		t.Errorf("question %q", th.s.Open.Question)
	}
	th.answer(work.CheckpointChangesRequested, ChoiceAnswer, "that of the orders")
	if q := th.s.Ask(th.pending(StepInfer)); q.Target != gates.PointIntent || !strings.Contains(q.User, "that of the orders") {
		t.Errorf("the answer is not asked with: %s", q.User)
	}
	if got := th.decisions(); got[0] != "intent clarify rule:confirmation" || got[1] != "intent answer person:ann" {
		t.Errorf("decisions %v", got)
	}
}

func TestEdits(t *testing.T) {
	for name, c := range map[string]struct{ text, summary, held string }{
		"text":          {"Sort by date.", "Sort by date.", ""},
		"fields":        {`{"summary":"by date","steps":["one"]}`, "by date", ""},
		"broken":        {`{"summary":`, "", "no JSON object"},
		"unknown field": {`{"outcome":"x"}`, "", `no field "outcome"`},
		"wrong type":    {`{"steps":"x"}`, "", "steps"},
		"bad parts":     {`{"name":"decompose","sub_issues":[{"title":"x"}]}`, "", "1 parts"},
		"free parts":    {`{"name":"decompose","sub_issues":[{"title":"x","level":"full"},{"title":"y"}]}`, "", "full"},
		"nothing":       {"  ", "", "takes the new text"},
	} {
		t.Run(name, func(t *testing.T) {
			th := open(t, spec("plan_then_review"))
			th.infer(gates.PointIntent, sure(0.9))
			th.infer(gates.PointContext, sure(0.9))
			th.infer(gates.PointAction, action(0.9, ""))
			first := th.s.Open.ID
			full, _ := gates.Preset("full")
			th.feed(Answered{Answer: work.Answer{Checkpoint: first, Status: work.CheckpointApproved, Choice: ChoiceEdit, Comment: c.text, By: "ann"}, Levels: map[string]gates.Policy{"full": full}})
			if c.held == "" {
				th.ended(work.RunCompleted)
				if v := th.s.Stages[2].Value; v.Summary != c.summary || th.s.Stages[2].By != "person:ann" {
					t.Errorf("value %+v by %s", v, th.s.Stages[2].By)
				}
				return
			}
			th.waits("action")
			if th.s.Open.ID == first || !strings.Contains(th.s.Open.Facts, c.held) || th.s.Stages[2].Value.Summary != "do it" {
				t.Errorf("an edit that cannot be used: %s", th.s.Open.Facts)
			}
		})
	}
}

func TestRejectDismisses(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, sure(0.2))
	th.answer(work.CheckpointRejected, "", "we sell the shop")
	th.ended(work.RunCancelled)
	if r := th.s.Result(); r.Verdict != Turned || r.Why != "dismissed by ann: we sell the shop" {
		t.Errorf("result %+v", r)
	}
}

func TestRefusedAnswersChangeNothing(t *testing.T) {
	th := open(t, spec("end_to_end"))
	th.infer(gates.PointIntent, sure(0.2))
	id := th.s.Open.ID
	for _, a := range []work.Answer{
		{Checkpoint: "triage-12-1.9", Status: work.CheckpointApproved},
		{Checkpoint: id, Revision: 7, Status: work.CheckpointApproved},
		{Checkpoint: id, Status: work.CheckpointChangesRequested, Comment: " "},
		{Checkpoint: id, Status: "sure"},
		{Checkpoint: id, Status: work.CheckpointApproved, Choice: "yes"},
		{Checkpoint: id, Status: work.CheckpointRejected, Choice: ChoiceConfirm},
	} {
		before := th.s.Clone()
		th.feed(Answered{Answer: a})
		if th.s.Seq = before.Seq; !same(th.s, before) {
			t.Errorf("%+v changed something", a)
		}
		th.s.Seq = int64(len(th.evs))
	}
}

func same(a, b *State) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
