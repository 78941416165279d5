//go:build real

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// fails is a provider that answers with a status for good.
func fails(status int) fakemodel.Turn {
	return fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: status, Headers: map[string]string{"Retry-After": "1"}}}
}

func outages(t *testing.T, evs []event) []struct{ Until time.Time } {
	t.Helper()
	return payloads[struct{ Until time.Time }](t, evs, "outage.began")
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

// A provider that is out is asked again by and by.
func TestRealProviderIsDown(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		c := newWith(t, p, "off", onePhase(3, ""), proveB, fails(500))
		evs, code := c.follow(func(e event, _ func()) {
			if e.Kind == "outage.began" {
				c.answer(says("I write.", p.write("b.txt", "b\n")), claim)
			}
		}, "run", "--autonomous")
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
		if done := finished(t, evs); len(done) != 2 || done[0].Outcome != "rate_limited" || done[0].Detail == "" {
			t.Errorf("iterations %+v", done)
		}
		if len(outages(t, evs)) != 1 || find(evs, "outage.ended", "01").Seq == 0 {
			t.Errorf("outages %+v", outages(t, evs))
		}
		onceMore(t, evs)
	})
}

// A provider that is away for too long ends the run, which can be resumed.
func TestRealProviderStaysDown(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		if p.slow {
			t.Skip("shown with it by the login that expires, and by the suite of agents")
		}
		c := newWith(t, p, "off", onePhase(3, ""), proveB+"[agent]\noutage_wait = \"10s\"\n", fails(429))
		evs := c.runs(4, "run", "--autonomous")
		if end, _ := ends(t, evs); end.Outcome != "limit" || !strings.Contains(end.Reason, "outage_wait") {
			t.Errorf("the run ended %+v", end)
		}
		if got := ended(evs, "01"); got != "never" {
			t.Errorf("the phase ended %q", got)
		}
		c.answer(says("I write.", p.write("b.txt", "b\n")), claim)
		more := c.runs(0, "resume")
		// How often it is asked until then depends on when each of them gives up.
		if again := find(more, "iteration.started", "01"); again.Iteration != 1 || again.Attempt < 2 || len(finished(t, more)) != 1 {
			t.Errorf("iteration %d, attempt %d was started", again.Iteration, again.Attempt)
		}
		if got := ended(more, "01"); got != "done" {
			t.Errorf("the phase ended %q", got)
		}
	})
}

// A login that expires in mid-run is no failure of the agent's. What was done
// before stays, and the run says what is missing.
func TestRealLoginExpires(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		expired := fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 401, Message: "The login has expired."}}
		c := newWith(t, p, "off", onePhase(4, ""), proveB+"[agent]\noutage_wait = \"10s\"\n",
			says("I write.", p.write("b.txt", "b\n")), says("There is more to do."),
			says("I go on.", p.write("c.txt", "c\n")), expired)
		evs := c.runs(4, "run", "--autonomous")
		done := finished(t, evs)
		if len(done) != 2 || !p.well(done[0].Outcome) || done[1].Outcome != "rate_limited" || len(done[1].Claims) > 0 {
			t.Fatalf("iterations %+v", done)
		}
		if why := strings.ToLower(done[1].Detail); !strings.Contains(why, "login") && !strings.Contains(why, "401") && !strings.Contains(why, "authenti") {
			t.Errorf("the outcome does not speak of a login: %q", done[1].Detail)
		}
		if end, _ := ends(t, evs); end.Outcome != "limit" || !strings.Contains(end.Reason, "outage_wait") {
			t.Errorf("the run ended %+v", end)
		}
		if text, _, _ := c.forge("why", "01"); !strings.Contains(text, firstWords(done[1].Detail)) {
			t.Errorf("forge why does not say %q: %s", done[1].Detail, text)
		}
		c.answer(says("I go on.", p.write("c.txt", "c\n")), claim)
		more := c.runs(0, "resume")
		if again := find(more, "iteration.started", "01"); again.Iteration != 2 || again.Attempt != 2 {
			t.Errorf("iteration %d, attempt %d was started, want 2 and 2", again.Iteration, again.Attempt)
		}
		if got := strings.Fields(c.must("git", "ls-tree", "--name-only", "main")); strings.Join(got, " ") != ".forge a.txt b.txt c.txt" {
			t.Errorf("main holds %q", got)
		}
	})
}

// firstWords are enough of a line to find it where it is folded.
func firstWords(s string) string {
	return strings.Join(strings.Fields(s)[:min(3, len(strings.Fields(s)))], " ")
}

// A model that does not exist is said to be the reason, and asked for a few
// times, not for ever.
func TestRealNoSuchModel(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		none := fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 404, Kind: "not_found_error", Message: "The model no-such-model does not exist."}}
		c := newWith(t, p, "off", onePhase(8, ""), proveB, none)
		evs := c.runs(1, "run", "--autonomous")
		if got := ended(evs, "01"); got != "failed agent_failed" {
			t.Errorf("the phase ended %q", got)
		}
		done := finished(t, evs)
		if len(done) != 3 {
			t.Errorf("%d iterations, want 3", len(done))
		}
		for _, d := range done {
			if d.Outcome != "agent_failed" || !strings.Contains(d.Detail, "model") {
				t.Errorf("outcome %q: %s", d.Outcome, d.Detail)
			}
		}
		if n := len(c.server.Requests(p.name)); n > 30 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}
