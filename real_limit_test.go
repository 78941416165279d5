//go:build real

package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

func outages(t *testing.T, evs []event) []struct{ Until time.Time } {
	t.Helper()
	return payloads[struct{ Until time.Time }](t, evs, "outage.began")
}

// A provider that says when it will be back is waited for until then, and the
// iteration runs again.
func TestClaudeUsageLimit(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(25 * time.Second).Truncate(time.Second)
	c := newWithClaude(t, "off", onePhase(3, ""), proveB, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{
		Status: 429, Headers: map[string]string{
			"anthropic-ratelimit-unified-status":               "rejected",
			"anthropic-ratelimit-unified-reset":                strconv.FormatInt(reset.Unix(), 10),
			"anthropic-ratelimit-unified-representative-claim": "five_hour",
		}}})
	// Only a login, not a key, is told when the limit ends.
	c.env = append(c.env, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy")
	for i, kv := range c.env {
		if strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") {
			c.env[i] = "UNUSED=1"
		}
	}
	var last time.Time
	evs, code := c.follow(func(e event, _ func()) {
		switch e.Kind {
		case "outage.began":
			c.answer(says("I write.", writes("b.txt", "b\n")), claim)
		case "iteration.started":
			last = time.Now()
		}
	}, "run", "--autonomous")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	done, out := finished(t, evs), outages(t, evs)
	if len(done) != 2 || done[0].Outcome != "rate_limited" || done[0].ResetAt == nil || !done[0].ResetAt.Equal(reset) || done[1].Outcome != "ok" {
		t.Errorf("iterations %+v", done)
	}
	if len(out) != 1 || !out[0].Until.Equal(reset) || find(evs, "outage.ended", "01").Seq == 0 {
		t.Errorf("outages %+v, the limit ends %v", out, reset)
	}
	if last.Before(reset) {
		t.Errorf("it went on %v before the limit's end", reset.Sub(last))
	}
	onceMore(t, evs)
}

// onceMore says that the first iteration ran in two attempts, and no other.
func onceMore(t *testing.T, evs []event) {
	t.Helper()
	var got []string
	for _, e := range evs {
		if e.Kind == "iteration.started" {
			got = append(got, fmt.Sprintf("%d/%d", e.Iteration, e.Attempt))
		}
	}
	if strings.Join(got, " ") != "1/1 1/2" {
		t.Errorf("the iterations and attempts are %v", got)
	}
}

var down = fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 500}}

// A provider that does not say when it will be back is asked again by and by.
func TestClaudeProviderIsDown(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(3, ""), proveB, down)
	evs, code := c.follow(func(e event, _ func()) {
		if e.Kind == "outage.began" {
			c.answer(says("I write.", writes("b.txt", "b\n")), claim)
		}
	}, "run", "--autonomous")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if done := finished(t, evs); len(done) != 2 || done[0].Outcome != "rate_limited" || done[0].ResetAt != nil || done[0].Detail == "" {
		t.Errorf("iterations %+v", done)
	}
	if len(outages(t, evs)) != 1 || find(evs, "outage.ended", "01").Seq == 0 {
		t.Errorf("outages %+v", outages(t, evs))
	}
	onceMore(t, evs)
}

// A provider that is away for too long ends the run, which can be resumed.
func TestClaudeProviderStaysDown(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(3, ""), proveB+"[agent]\noutage_wait = \"10s\"\n", down)
	evs := c.runs(4, "run", "--autonomous")
	if end, _ := ends(t, evs); end.Outcome != "limit" || !strings.Contains(end.Reason, "outage_wait") {
		t.Errorf("the run ended %+v", end)
	}
	if got := ended(evs, "01"); got != "never" {
		t.Errorf("the phase ended %q", got)
	}
	c.answer(says("I write.", writes("b.txt", "b\n")), claim)
	more := c.runs(0, "resume")
	onceMore(t, append(evs, more...))
	if got := ended(more, "01"); got != "done" {
		t.Errorf("the phase ended %q", got)
	}
}

// dear is an iteration of about 0.3 USD.
func dear(text string) fakemodel.Turn {
	return fakemodel.Turn{Text: text, Input: 100_000, Output: 1000}
}

// The cap counts what each iteration costs by itself, although the program
// counts for the session, and stops the run, which goes on with a higher one.
func TestClaudeCostCap(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(8, ""), proveB+`
[agents.claude]
model = "claude-sonnet-4-5"
[cost]
run_usd = 1.0
`, says("I write.", writes("b.txt", "b\n")), dear("There is more to do."), dear("And more."), dear("And more again."), dear("Still more."), dear("And on."))
	evs := c.runs(4, "run", "--autonomous")
	end, spent := ends(t, evs)
	if end.Outcome != "limit" || end.Reason == "" {
		t.Errorf("the run ended %+v", end)
	}
	var sum float64
	good := 0
	for i, d := range finished(t, evs) {
		if d.Usage.CostUSD == nil || d.Total.CostUSD == nil {
			t.Fatalf("the cost of iteration %d is unknown", i+1)
		}
		sum += *d.Usage.CostUSD
		if !near(*d.Total.CostUSD, sum) {
			t.Errorf("after iteration %d the session has cost %g, its iterations %g", i+1, *d.Total.CostUSD, sum)
		}
		if d.Outcome == "ok" {
			good++
		}
	}
	if good != 3 {
		t.Errorf("%d whole iterations of 0.315 USD under a cap of 1.0 USD, want 3", good)
	}
	if !near(spent, sum) {
		t.Errorf("the run has cost %g, its iterations %g", spent, sum)
	}
	// Nothing was changed, so it stops again.
	c.runs(4, "resume")
	c.answer(claim)
	more := c.runs(0, "resume", "--cost", "run_usd=3")
	if got := ended(more, "01"); got != "done" {
		t.Errorf("the phase ended %q", got)
	}
	if _, spent = ends(t, more); spent <= sum {
		t.Errorf("the run has cost %g, %g before", spent, sum)
	}
}
