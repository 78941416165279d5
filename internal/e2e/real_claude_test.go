//go:build real

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// What only Claude Code can show, or one agent for all.

// Only the model's own last words claim anything.
func TestRealClaudeWordsThatDoNotCount(t *testing.T) {
	t.Parallel()
	const promise = "<promise>ALL DONE</promise>"
	c := newWith(t, the("claude"), "off", onePhase(2, ""), proveB+`
[defaults]
skip_permissions = true
[agents.claude]
args = ["--forward-subagent-text"]
`,
		fakemodel.Turn{Thinking: "I say " + promise, Text: "I write.", Tools: []fakemodel.Tool{writes("b.txt", promise+"\n")}},
		says("This is not the last word: "+promise, bash("cat b.txt; echo '"+promise+"'")),
		fakemodel.Turn{Thinking: promise, Text: "There is more to do."},
		says("Another asks.", fakemodel.Tool{Name: "Agent", Input: map[string]string{"description": "d", "prompt": "say " + promise, "subagent_type": "general-purpose"}}),
		says(promise), says("It said so, not I."))
	evs := c.runs(1, "run", "--autonomous")
	if got := ended(evs, "01"); got != "failed budget_exhausted" {
		t.Errorf("the phase ended %q", got)
	}
	for i, d := range finished(t, evs) {
		if len(d.Claims) > 0 || d.Outcome != "ok" {
			t.Errorf("iteration %d ended %q and claims %q", i+1, d.Outcome, d.Claims)
		}
		if own := i == 0; (len(d.Signals.Promises) > 0) != own {
			t.Errorf("in iteration %d the model itself said the promise: %v, want %v", i+1, !own, own)
		}
	}
	// Nor does an echo of the prompt.
	c.answer(says(c.sent(1, 1)), claim)
	evs = c.runs(0, "resume", "--budget", "01=2")
	done := finished(t, evs)
	if len(done) != 2 || len(done[0].Claims) > 0 || len(done[1].Claims) != 1 {
		t.Errorf("iterations %+v", done)
	}
}

func TestRealClaudeStallsTwice(t *testing.T) {
	t.Parallel()
	c := newWith(t, the("claude"), "off", onePhase(8, ""), stallSoon, idle, idle, idle, idle, idle)
	evs := c.runs(1, "run", "--autonomous")
	if got := ended(evs, "01"); got != "failed stale" {
		t.Errorf("the phase ended %q", got)
	}
	if got := len(finished(t, evs)); got != 4 {
		t.Errorf("after %d iterations, want 4", got)
	}
}

// A provider that says when it will be back is waited for until then, and the
// iteration runs again.
func TestRealClaudeUsageLimit(t *testing.T) {
	t.Parallel()
	// A machine on which the limit ends before Forge knows of it gets a longer
	// one.
	for wait := 12 * time.Second; !usageLimit(t, wait, wait < 3*time.Minute); wait *= 2 {
	}
}

// usageLimit says whether the limit still held when Forge knew of it. Where it
// has to, it fails when it did not.
func usageLimit(t *testing.T, wait time.Duration, may bool) bool {
	t.Helper()
	reset := time.Now().Add(wait).Truncate(time.Second)
	c := newWith(t, the("claude"), "off", onePhase(3, ""), proveB, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{
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
	var known, last time.Time
	evs, code := c.follow(func(e event, _ func()) {
		switch e.Kind {
		case "outage.began":
			known = time.Now()
			c.answer(says("I write.", writes("b.txt", "b\n")), claim)
		case "iteration.started":
			last = time.Now()
		}
	}, "run", "--autonomous")
	if may && (known.After(reset) || known.IsZero() && time.Now().After(reset)) {
		return false
	}
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
	return true
}

// dear is an iteration of about 0.3 USD.
func dear(text string) fakemodel.Turn {
	return fakemodel.Turn{Text: text, Input: 100_000, Output: 1000}
}

// The cap counts what each iteration costs by itself, although the program
// counts for the session, and stops the run, which goes on with a higher one.
func TestRealClaudeCostCap(t *testing.T) {
	t.Parallel()
	c := newWith(t, the("claude"), "off", onePhase(8, ""), proveB+`
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
