package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// forge factory watches the hosts of its projects: a webhook at its own server
// lets it look, and a review moves a frozen run of an issue on, phase and
// result.
func TestFactoryTakesReviewsByWebhook(t *testing.T) {
	t.Parallel()
	s := issueHub(t, "semi_supervised")
	s.more("poll_secs = 86400\n")
	const secret = "what both sides know"
	s.env = append(s.env, "WEBHOOK_SECRET="+secret)
	f := s.serve("bot")
	look := func(number int64) work.PullLook { return s.pullWorld.pull(number) }
	s.eventually("the phase is shown", func() bool {
		return look(1).State == work.PullOpen && strings.Contains(s.forge("issue", "show", "1").stdout, "waits for you")
	})
	send := func(d hosttest.Delivery) int {
		t.Helper()
		a, err := http.DefaultClient.Do(d.Request(t, http.MethodPost, f.url+"/hooks"))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	s.people.Review(t, "ann", 1, look(1).Head, work.PullChangesRequested, "not yet", hosttest.Line{Path: "out.txt", Line: 2, Body: "louder"})
	if code := send(hosttest.Delivery{Secret: "a guess", ID: "d1", Body: hosttest.HookBody("octo/repo", 1, "forged")}); code != http.StatusForbidden {
		t.Errorf("a forged webhook: %d", code)
	}
	first := look(1).Head
	if code := send(hosttest.Delivery{Secret: secret, ID: "d2", Body: hosttest.HookBody("octo/repo", 1, "submitted")}); code != http.StatusNoContent {
		t.Errorf("a webhook: %d", code)
	}
	s.eventually("the agent has worked on the review", func() bool {
		return look(1).Head != first && strings.Contains(s.forge("issue", "show", "1").stdout, "waits for you")
	})
	s.people.Review(t, "ann", 1, look(1).Head, work.PullApproved, "thanks")
	send(hosttest.Delivery{Secret: secret, ID: "d3", Body: hosttest.HookBody("octo/repo", 1, "submitted again")})
	s.eventually("the result is shown", func() bool {
		return look(2).State == work.PullOpen && strings.Contains(s.forge("issue", "show", "1").stdout, "in_review")
	})
	s.people.Review(t, "ann", 2, look(2).Head, work.PullApproved, "thanks")
	send(hosttest.Delivery{Secret: secret, ID: "d4", Body: hosttest.HookBody("octo/repo", 2, "submitted")})
	s.eventually("the result has landed", func() bool {
		return strings.Contains(s.forge("issue", "show", "1").stdout, "Column     done")
	})
	if at := look(1).State; at != work.PullMerged {
		t.Errorf("the phase's pull request is %s", at)
	}
	for _, want := range []string{`forge_host_webhooks_total{outcome="taken"} 3`, `forge_host_webhooks_total{outcome="unsigned"} 1`} {
		if got := f.metrics(); !strings.Contains(got, want) {
			t.Errorf("/metrics lacks %q:\n%s", want, got)
		}
	}
	f.run.stop()
	f.run.wait().want(exitDone).warns("watches the code host")
}

// metrics is what monitors are told.
func (s *served) metrics() string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		s.t.Fatalf("/metrics: %d, %v: %s", a.StatusCode, err, text)
	}
	return string(text)
}
