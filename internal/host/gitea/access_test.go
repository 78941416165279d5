package gitea_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// A repository without pull requests allows no squash merge either: the first is
// the reason.
func TestGiteaAccess(t *testing.T) {
	for settings, want := range map[string]work.HostAccess{
		`"has_pull_requests":true,"allow_squash_merge":true`: {Squash: true},
		`"has_pull_requests":true`:                           {},
		`"has_pull_requests":false`:                          {NoPulls: true},
	} {
		address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
			body := `{"version":"1.26.0","login":"forge"}`
			switch {
			case strings.HasSuffix(req.URL.Path, "/repos/o/r"):
				body = `{"full_name":"o/r","empty":true,` + settings + `}`
			case req.Method == http.MethodPatch:
				w.WriteHeader(http.StatusNotFound)
			}
			if _, err := w.Write([]byte(body)); err != nil {
				t.Error(err)
			}
		})
		h, err := gitea.New(gitea.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Access(t.Context(), "")
		if err != nil || got.Repo != "o/r" || got.Account.Name != "forge" || got.NoPulls != want.NoPulls || got.Squash != want.Squash {
			t.Errorf("with %s: %+v, %v", settings, got, err)
		}
	}
	// Whatever does not answer is named.
	h, err := gitea.New(gitea.Config{URL: "http://127.0.0.1:1", Owner: "o", Repo: "r", Token: "of-the-tests"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Access(t.Context(), ""); work.HostKindOf(err) != work.HostUnreachable || !strings.Contains(err.Error(), "reach http://127.0.0.1:1") {
		t.Errorf("an address where nobody listens: %v", err)
	}
}
