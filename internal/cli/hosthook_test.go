package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/work"
)

// delivery is a webhook of GitHub.
type delivery struct {
	secret, id, body string
}

func (d delivery) request(t *testing.T, method, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(d.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-GitHub-Event", "pull_request_review")
	r.Header.Set("X-GitHub-Delivery", d.id)
	if d.secret != "" {
		mac := hmac.New(sha256.New, []byte(d.secret))
		mac.Write([]byte(d.body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return r
}

// hookBody is what GitHub sends of a review, as far as it is read.
func hookBody(repo string, number int64, what string) string {
	return fmt.Sprintf(`{"action":%q,"pull_request":{"number":%d},"repository":{"full_name":%q}}`, what, number, repo)
}

// What is forged, repeated, too large, unreadable or of another repository is
// refused, counted and said once, and wakes nobody; a genuine webhook wakes the
// watch of its own repository alone, with what it names.
func TestHostHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	var log safeBuffer
	now := time.Now()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log, Environ: w.env, Dir: w.root, Now: func() time.Time { return now }}
	app.logTo(0)
	p, err := app.openProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	watch := func(repo, secret string) *hostWatch {
		w := newWatch(p.Checkout, nil, nil, work.PullSettings{Kind: "github", URL: "https://host", Repo: repo})
		w.secret = secret
		return w
	}
	const secret = "what both sides know"
	one, other, none := watch("octo/repo", secret), watch("octo/other", "another secret"), watch("octo/none", "")
	all := []*hostWatch{one, other, none}
	hooks := &hostHooks{env: app.env(), watches: all}
	send := func(method string, d delivery) (status int, woken []*hostWatch) {
		t.Helper()
		rec := httptest.NewRecorder()
		hooks.ServeHTTP(rec, d.request(t, method, "/hooks"))
		for _, w := range all {
			select {
			case <-w.hints.wake:
				woken = append(woken, w)
			default:
			}
		}
		return rec.Code, woken
	}
	good := hookBody("octo/repo", 3, "submitted")
	for name, c := range map[string]struct {
		d    delivery
		want int
	}{
		"unsigned":                   {delivery{"", "d1", good}, http.StatusForbidden},
		"by who guesses":             {delivery{"a guess", "d1", good}, http.StatusForbidden},
		"by another's secret":        {delivery{"another secret", "d1", good}, http.StatusNotFound},
		"of another repository":      {delivery{secret, "d1", hookBody("octo/elsewhere", 3, "submitted")}, http.StatusNotFound},
		"of no repository":           {delivery{secret, "d1", `{"pull_request":{"number":3}}`}, http.StatusNotFound},
		"unreadable":                 {delivery{secret, "d1", "{"}, http.StatusBadRequest},
		"of one that has no secret":  {delivery{"", "d1", hookBody("octo/none", 3, "submitted")}, http.StatusForbidden},
		"too large, and well signed": {delivery{secret, "d1", strings.Repeat(" ", host.MaxHookBytes) + good}, http.StatusRequestEntityTooLarge},
	} {
		if status, woken := send(http.MethodPost, c.d); status != c.want || len(woken) > 0 {
			t.Errorf("%s: %d, want %d; woken: %d", name, status, c.want, len(woken))
		}
	}
	if status, woken := send(http.MethodGet, delivery{secret, "d1", good}); status != http.StatusMethodNotAllowed || len(woken) > 0 {
		t.Errorf("GET: %d, woken %d", status, len(woken))
	}
	status, woken := send(http.MethodPost, delivery{secret, "d1", good})
	if status != http.StatusNoContent || len(woken) != 1 || woken[0] != one {
		t.Fatalf("genuine: %d, woken %d", status, len(woken))
	}
	if told := one.hints.take(); !maps.Equal(told.numbers, map[int64]bool{3: true}) || len(told.branches) > 0 {
		t.Errorf("it names %+v", told)
	}
	for name, d := range map[string]delivery{
		"the same again":            {secret, "d1", good},
		"again, under another id":   {secret, "d2", good},
		"the id again, of another":  {secret, "d1", hookBody("octo/repo", 4, "submitted")},
		"again, by who knows it so": {secret, "", good},
	} {
		if status, woken := send(http.MethodPost, d); status != http.StatusNoContent || len(woken) > 0 || !one.hints.take().empty() {
			t.Errorf("%s: %d, woken %d", name, status, len(woken))
		}
	}
	push := `{"ref":"refs/heads/forge/phases/r/phase-1-tactical","repository":{"full_name":"Octo/Other"}}`
	if status, woken := send(http.MethodPost, delivery{"another secret", "d9", push}); status != http.StatusNoContent || len(woken) != 1 || woken[0] != other {
		t.Errorf("a push: %d, woken %d", status, len(woken))
	}
	if told := other.hints.take(); !told.branches["forge/phases/r/phase-1-tactical"] || len(told.numbers) > 0 {
		t.Errorf("a push names %+v", told)
	}
	want := map[string]int{hookTaken: 2, "unsigned": 3, "of another repository": 3, "not readable": 1, "too large": 1, "not a delivery": 1, "repeated": 4}
	if got := hooks.counts(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if got := strings.Count(log.String(), "refused a webhook"); got != len(want)-1 {
		t.Errorf("%d refusals are said, want one for each of %d reasons:\n%s", got, len(want)-1, log.String())
	}
	now = now.Add(sayRefused)
	send(http.MethodPost, delivery{"", "d1", good})
	if !strings.Contains(log.String(), "so far=4") {
		t.Errorf("a minute later it does not say how many there were:\n%s", log.String())
	}
	if strings.Contains(log.String(), secret) {
		t.Error("the log shows the secret")
	}
}
