package gitea_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// No branch name becomes another path, a query or a fragment.
func TestGiteaEscapes(t *testing.T) {
	const odd = "forge/r+1/ü#50%25&a=b;c'd,e@f?x"
	var asked []string
	address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.RequestURI)
		answer := `[]`
		switch {
		case strings.HasSuffix(req.URL.Path, "/user"):
			answer = `{"login":"forge"}`
		case strings.Contains(req.URL.Path, "/compare/"):
			answer = `{"total_commits":0}`
		case strings.Contains(req.URL.Path, "/branches/"):
			answer = `{"commit":{"id":"x"}}`
		}
		_, _ = w.Write([]byte(answer)) // the other side sees
	})
	h, err := gitea.New(gitea.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: odd, Base: odd + "2", Title: text.Titled("t")}); work.HostKindOf(err) != work.HostNoChanges {
		t.Errorf("opened: %v", err)
	}
	if err := h.DeleteBranch(t.Context(), odd, "x"); err != nil {
		t.Errorf("deleted: %v", err)
	}
	seen := map[string]bool{}
	for _, uri := range asked {
		u, err := url.Parse(uri)
		if err != nil {
			t.Errorf("%q: %v", uri, err)
			continue
		}
		rest, _ := strings.CutPrefix(u.Path, "/api/v1/repos/o/r")
		seen[rest] = true
		// Of the open ones those are wanted too that somebody pointed elsewhere.
		if base := u.Query().Get("base_branch"); u.Query().Get("state") == "all" && base != odd+"2" {
			t.Errorf("asked for the base %q", base)
		}
	}
	for _, want := range []string{"/compare/" + odd + "2..." + odd, "/branches/" + odd} {
		if !seen[want] {
			t.Errorf("%q was not asked for, but %q", want, asked)
		}
	}
}
