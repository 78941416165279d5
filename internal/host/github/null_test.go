package github_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// A list that holds nothing where a pull request should be ends nobody.
func TestGitHubListsNothing(t *testing.T) {
	address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		answer := `[null]`
		switch {
		case strings.HasSuffix(req.URL.Path, "/user"):
			answer = `{"login":"forge"}`
		case req.Method == http.MethodPost:
			answer = `{"number":7,"state":"open"}`
		}
		_, _ = w.Write([]byte(answer)) // the other side sees
	})
	h, err := github.New(github.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "b", Base: "main", Title: text.Titled("t")})
	if err != nil || p.Number != 7 {
		t.Errorf("%+v, %v", p, err)
	}
}
