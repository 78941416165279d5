//go:build real

package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/work"
)

// deliveryMost is how long the program may take until it has what a person said.
const deliveryMost = 2 * time.Second

func TestRealClaudeHearsWhileItWorks(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	for name, turns := range map[string][]fakemodel.Turn{
		"between two calls": {
			{Text: "I look.", Tools: []fakemodel.Tool{bash("timeout 4 tail -f /dev/null; true")}},
			{Text: "Tabs it is. <promise>DONE</promise>"},
		},
		"behind its last word": {
			{Text: "It is over. <promise>EARLY</promise>", Fault: fakemodel.Fault{Slow: time.Second}},
			{Text: "Tabs it is. <promise>DONE</promise>"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := c.request(t, turns...)
			req.Agent.SkipPermission, req.Phase = true, name // agents are told by the phase that they work on
			works := make(chan struct{}, 100)
			said := make(chan work.TellReport, 1)
			var took time.Duration
			go func() {
				if name == "between two calls" {
					<-works
				} else {
					for len(c.server.Requests(scriptName(t))) == 0 {
						time.Sleep(10 * time.Millisecond)
					}
				}
				begin := time.Now()
				rep := c.agents.Tell(t.Context(), work.TellRequest{Run: req.Run, Phase: req.Phase, Iteration: 1, Attempt: 1, ID: "m1", Text: "USE TABS"})
				took = time.Since(begin)
				said <- rep
			}()
			r, err := c.agents.Iterate(t.Context(), req, func(a work.Activity) {
				if a.Kind == "tool" {
					works <- struct{}{}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			rep := <-said
			t.Logf("the program had it after %v", took)
			if !rep.Taken || took > deliveryMost {
				t.Errorf("after %v: %+v", took, rep)
			}
			if r.Outcome != work.OutcomeOK || !slices.Equal(r.Heard, []string{"m1"}) || !slices.Equal(r.Claims, []string{"DONE"}) {
				t.Errorf("outcome %q (%s), heard %q, claims %q", r.Outcome, r.Detail, r.Heard, r.Claims)
			}
			if n := r.Usage.InputTokens; n == nil || *n != 200 {
				t.Errorf("usage %+v, want that of both turns", r.Usage)
			}
			got := 0
			requests := c.server.Requests(scriptName(t))
			for _, q := range requests {
				if strings.Contains(string(q.Body), "USE TABS") {
					got++
				}
			}
			if got != 1 || strings.Count(string(requests[len(requests)-1].Body), "USE TABS") != 1 {
				t.Errorf("%d of %d requests hold the word", got, len(requests))
			}
		})
	}
}
