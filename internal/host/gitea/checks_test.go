package gitea_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// The log of a job of Gitea's own Actions is read, where that job is of the
// commit. Answers are as the source of Gitea 1.26 writes them: the servers of the
// other tests have no runner.
func TestGiteaCheckLog(t *testing.T) {
	says := func(w http.ResponseWriter, v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		const api = "/api/v1/repos/o/r"
		switch req.URL.Path {
		case "/api/v1/version":
			says(w, map[string]string{"version": "1.26.0"})
		case api + "/commits/c1/statuses":
			status := func(id int, name, target string) map[string]any {
				return map[string]any{"id": id, "status": "failure", "context": name, "description": "Failing after 3s", "target_url": target, "created_at": "2026-01-02T03:04:05Z"}
			}
			says(w, []map[string]any{
				status(1, "ci / unit (push)", "/o/r/actions/runs/4/jobs/12"), status(2, "ci / old (push)", "/o/r/actions/runs/3/jobs/11"),
				status(3, "elsewhere", "https://ci.example.com/x/r/actions/runs/4/jobs/12"), status(4, "gone", "/o/r/actions/runs/4/jobs/13"),
				status(5, "each step as its job", "/o/r/actions/runs/4/jobs/14"),
			})
		case api + "/actions/jobs/12":
			says(w, map[string]any{"id": 12, "head_sha": "c1", "steps": []map[string]any{{"name": "checkout", "conclusion": "success"}, {"name": "make test", "conclusion": "failure"}}})
		case api + "/actions/jobs/14":
			says(w, map[string]any{"id": 14, "head_sha": "c1", "steps": []map[string]any{{"name": "checkout", "conclusion": "failure"}, {"name": "make test", "conclusion": "failure"}}})
		case api + "/actions/jobs/11":
			says(w, map[string]any{"id": 11, "head_sha": "c0"})
		case api + "/actions/jobs/12/logs":
			_, _ = w.Write([]byte("2026-01-02T03:04:05.1234567Z ok\n2026-01-02T03:04:06.1234567Z exit status 1\n"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	h, err := gitea.New(gitea.Config{URL: address, Owner: "o", Repo: "r", Token: "of-the-tests"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Checks(t.Context(), "c1")
	if err != nil || len(got.Failed) != 5 {
		t.Fatalf("checks: %+v (%v)", got, err)
	}
	logs := map[string]work.PullCheck{}
	for _, c := range got.Failed {
		if logs[c.Name], err = h.CheckLog(t.Context(), c); err != nil {
			t.Errorf("log of %s: %v", c.Name, err)
		}
	}
	if c := logs["ci / unit (push)"]; c.Step != "make test" || c.Log != "ok\nexit status 1" {
		t.Errorf("its log: %+v", c)
	}
	for _, name := range []string{"ci / old (push)", "elsewhere", "gone", "each step as its job"} {
		if c, ok := logs[name]; !ok || c.Log != "" || c.Step != "" || !strings.HasPrefix(c.Words, "Failing") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
