package hostwatch

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/host"
	"forge/internal/host/hosttest"
	"forge/internal/project"
	"forge/internal/work"
)

func delivery(secret, id, body string) hosttest.Delivery {
	return hosttest.Delivery{Secret: secret, ID: id, Body: body}
}

// What is forged, repeated, too large, unreadable or of another repository is
// refused, counted and said once, and wakes nobody; a genuine webhook wakes the
// watch of its own repository alone, with what it names.
func TestHooks(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	env := project.Env{Log: charm.New(&log), Now: func() time.Time { return now }}
	p := &project.Checkout{Env: env, State: t.TempDir(), Base: work.Base{RepoRoot: t.TempDir()}}
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	watch := func(repo, secret string) *Watch {
		w := New(p, nil, work.PullSettings{Kind: "github", URL: "https://host", Repo: repo})
		w.secret = secret
		return w
	}
	const secret = "what both sides know"
	one, other, none := watch("octo/repo", secret), watch("octo/other", "another secret"), watch("octo/none", "")
	all := []*Watch{one, other, none}
	hooks := &Hooks{Env: env}
	for _, w := range all {
		hooks.Add(w)
	}
	send := func(method string, d hosttest.Delivery) (status int, woken []*Watch) {
		t.Helper()
		rec := httptest.NewRecorder()
		hooks.ServeHTTP(rec, d.Request(t, method, "/hooks"))
		for _, w := range all {
			select {
			case <-w.hints.wake:
				woken = append(woken, w)
			default:
			}
		}
		return rec.Code, woken
	}
	good := hosttest.HookBody("octo/repo", 3, "submitted")
	for name, c := range map[string]struct {
		d    hosttest.Delivery
		want int
	}{
		"unsigned":                   {delivery("", "d1", good), http.StatusForbidden},
		"by who guesses":             {delivery("a guess", "d1", good), http.StatusForbidden},
		"by another's secret":        {delivery("another secret", "d1", good), http.StatusNotFound},
		"of another repository":      {delivery(secret, "d1", hosttest.HookBody("octo/elsewhere", 3, "submitted")), http.StatusNotFound},
		"of no repository":           {delivery(secret, "d1", `{"pull_request":{"number":3}}`), http.StatusNotFound},
		"unreadable":                 {delivery(secret, "d1", "{"), http.StatusBadRequest},
		"of one that has no secret":  {delivery("", "d1", hosttest.HookBody("octo/none", 3, "submitted")), http.StatusForbidden},
		"too large, and well signed": {delivery(secret, "d1", strings.Repeat(" ", host.MaxHookBytes)+good), http.StatusRequestEntityTooLarge},
	} {
		if status, woken := send(http.MethodPost, c.d); status != c.want || len(woken) > 0 {
			t.Errorf("%s: %d, want %d; woken: %d", name, status, c.want, len(woken))
		}
	}
	if status, woken := send(http.MethodGet, delivery(secret, "d1", good)); status != http.StatusMethodNotAllowed || len(woken) > 0 {
		t.Errorf("GET: %d, woken %d", status, len(woken))
	}
	status, woken := send(http.MethodPost, delivery(secret, "d1", good))
	if status != http.StatusNoContent || len(woken) != 1 || woken[0] != one {
		t.Fatalf("genuine: %d, woken %d", status, len(woken))
	}
	if told := one.hints.take(); !maps.Equal(told.numbers, map[int64]bool{3: true}) || len(told.branches) > 0 {
		t.Errorf("it names %+v", told)
	}
	for name, d := range map[string]hosttest.Delivery{
		"the same again":            delivery(secret, "d1", good),
		"again, under another id":   delivery(secret, "d2", good),
		"the id again, of another":  delivery(secret, "d1", hosttest.HookBody("octo/repo", 4, "submitted")),
		"again, by who knows it so": delivery(secret, "", good),
	} {
		if status, woken := send(http.MethodPost, d); status != http.StatusNoContent || len(woken) > 0 || !one.hints.take().empty() {
			t.Errorf("%s: %d, woken %d", name, status, len(woken))
		}
	}
	push := `{"ref":"refs/heads/forge/phases/r/phase-1-tactical","repository":{"full_name":"Octo/Other"}}`
	if status, woken := send(http.MethodPost, delivery("another secret", "d9", push)); status != http.StatusNoContent || len(woken) != 1 || woken[0] != other {
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
	send(http.MethodPost, delivery("", "d1", good))
	if !strings.Contains(log.String(), "so far=4") {
		t.Errorf("a minute later it does not say how many there were:\n%s", log.String())
	}
	if strings.Contains(log.String(), secret) {
		t.Error("the log shows the secret")
	}
}
