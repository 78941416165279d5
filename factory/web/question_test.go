package web_test

import (
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// An agent's question stands in the cockpit with what it is about, a button for
// each of its choices and room for words; what it assumed stands on the run's page.
func TestQuestionsInTheCockpit(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Assumed = []orchestrator.Assumption{{Phase: "01", Text: "the <b>port</b> is 80"}}
	st.FollowUps = []orchestrator.FollowUp{{Phase: "01", By: "ann", Text: "a.go:7: a <b>better</b> name"}}
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit = oneRun{st}, oneChange{p.Cockpit} })
	w.Questions().Put(work.Checkpoint{
		ID: "r-1.1", Run: "r-1", Kind: string(gates.PointQuestion), Phase: "01", Question: "Which port?", Facts: "Which port?\nWhy it asks: <i>both</i> are free",
		Revision: 1, Status: work.CheckpointPending, AnswerDue: true, Choices: []work.Choice{
			{Name: "1", Answer: work.CheckpointApproved, Label: "port <80>"}, {Name: "other", Answer: work.CheckpointChangesRequested, Label: "answer in your own words"},
			{Name: "decide", Answer: work.CheckpointRejected, Label: "let the agent decide"},
		},
	})
	w.Questions().Put(work.Checkpoint{ID: "r-1.2", Run: "r-1", Kind: string(gates.PointBlocker), Phase: "01", Question: "It needs access.", Revision: 1, Status: work.CheckpointPending, AnswerDue: true})

	owner := w.Owner()
	page := owner.Get("/p/demo/checkpoints/r-1.1").Body
	for _, want := range []string{
		`value="approved:1"`, "Port &lt;80&gt;</button>", `value="changes_requested:other"`, `value="rejected:decide"`, "Let the agent decide</button>",
		"Why it asks: &lt;i&gt;both&lt;/i&gt; are free", "Your answer, or more to your choice…",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the question lacks %s:\n%s", want, page)
		}
	}
	page = owner.Get("/p/demo/checkpoints/r-1.2").Body
	if !strings.Contains(page, ">Answer</button>") || strings.Contains(page, ">Request changes</button>") {
		t.Errorf("the page of the blocker offers\n%s", page)
	}
	if page = owner.Get("/p/demo/runs/r-1").Body; !strings.Contains(page, "phase 01 assumed: the &lt;b&gt;port&lt;/b&gt; is 80") {
		t.Errorf("the run's page lacks what was assumed:\n%s", page)
	}
	if !strings.Contains(page, "phase 01, a.go:7: a &lt;b&gt;better&lt;/b&gt; name (ann)") {
		t.Errorf("the run's page lacks what is left for later:\n%s", page)
	}
	if a := owner.Send("/p/demo/checkpoints/r-1.1/answer", url.Values{"answer": {"approved:1"}, "revision": {"1"}}); a.Status != 303 {
		t.Errorf("the answer: %d\n%s", a.Status, a.Body)
	}
}
