package worker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// Another host is another server or repository; another token or interval is not.
func TestWhatIsAnotherHost(t *testing.T) {
	at := func(url, repo, token string, poll time.Duration) config.CodeHost {
		return config.CodeHost{Kind: "gitea", Named: true, URL: url, Owner: "o", Repo: repo, Token: config.Secret{Name: "T", Value: token}, Poll: poll}
	}
	none, local := config.CodeHost{}, config.CodeHost{Kind: "local", Named: true}
	a := at("https://a.invalid", "r", "1", time.Minute)
	for _, c := range []struct {
		why      string
		was, now config.CodeHost
		same     bool
	}{
		{"as it was", a, a, true},
		{"another token", a, at("https://a.invalid", "r", "2", time.Minute), true},
		{"another interval", a, at("https://a.invalid", "r", "1", time.Hour), true},
		{"another server", a, at("https://b.invalid", "r", "1", time.Minute), false},
		{"another repository", a, at("https://a.invalid", "s", "1", time.Minute), false},
		{"removed", a, none, false}, {"made local", a, local, false},
		{"added", none, a, false}, {"added to local", local, a, false}, {"local is named", none, local, true},
	} {
		s := &Worker{host: c.was}
		err := s.sameHost(c.now)
		if (err == nil) != c.same {
			t.Errorf("%s: %v", c.why, err)
		}
		if err != nil && (!pullrequest.PullTrouble(err).Passes || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v is not one line that passes", c.why, err)
		}
	}
	for place, elsewhere := range map[string]bool{pullrequest.HostPlace(a).String(): false, "": true, "github https://a.invalid/o/r": true} {
		s := &Worker{host: a}
		if got := s.elsewhere(work.Issue{Pull: &work.IssuePull{Number: 1, Host: place}}); got != elsewhere {
			t.Errorf("a pull request on %q is elsewhere: %v", place, got)
		}
	}
	if (&Worker{host: a}).elsewhere(work.Issue{}) {
		t.Error("what has no pull request is elsewhere")
	}
}

// An answer takes nothing along from a pull request that is on another code host
// than the one that is named by now, and asks none of them.
func TestNothingIsTakenAlongFromElsewhere(t *testing.T) {
	t.Parallel()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	w := newTriageWorld(t, "[host]\nkind = \"github\"\nurl = \""+locked.URL+"\"\nrepo = \"octo/other\"\ntoken_env = \"HOST_TOKEN\"\n")
	for place, asks := range map[string]bool{"github " + locked.URL + "/octo/repo": false, "": false, pullrequest.HostPlace(w.worker.host).String(): true} {
		i := w.issue("It is shown", "full", 0)
		i, err := w.worker.Edit(t.Context(), i.ID, i.Version, func(i *work.Issue) error {
			i.Run, i.Pull = "i-run", &work.IssuePull{Number: 1, Host: place}
			return nil
		}, factory.By{Name: "ann", Door: "test"})
		if err != nil {
			t.Fatal(err)
		}
		state := &orchestrator.State{Run: "i-run"}
		state.Spec.Issue = &work.IssueBrief{ID: i.ID}
		heard := &overhearing{worker: w.worker, p: w.p, state: state}
		err = heard.takeAlong(t.Context(), &work.Answer{Status: work.CheckpointChangesRequested}, work.Checkpoint{})
		if (err != nil) != asks {
			t.Errorf("a pull request on %q: %v", place, err)
		}
	}
}
