package api_test

import (
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"forge/factory/web/api"
	"forge/internal/work"
)

var update = flag.Bool("update", false, "write the golden files")

// TestDescription: the OpenAPI document is what it was; a change of it is a
// change of what programs rely on.
func TestDescription(t *testing.T) {
	w := newWorld(t)
	got := w.ask("viewer", "GET", "/api/v1/openapi.json", "").is(200, "")
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, []byte(got.body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.body != string(want) {
		t.Error("the description changed; go test ./factory/web/api -update writes it, if that is meant")
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(want, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.api.Routes() {
		if doc.Paths[api.Prefix+r.Path][strings.ToLower(r.Method)].OperationID != r.ID {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
	}
	w.ask("", "GET", "/api/v1/openapi.json", "").is(401, "unauthenticated")
}

func TestIssues(t *testing.T) {
	w := newWorld(t)
	added := w.v1("POST", "/projects/p/issues", `{"title":" A <b>title</b> ","description":"a\r\nb","criteria":["it works"],"labels":["b","a"],"column":"ready"}`).is(200, "")
	if got := added.header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %s", got)
	}
	i := decode[work.Issue](added)
	if i.Title != "A <b>title</b>" || i.Description != "a\nb" || i.Author != "the admin" || i.Criteria[0] != (work.Criterion{ID: "c1", Text: "it works"}) || i.Column != work.ColumnReady {
		t.Errorf("added %+v", i)
	}
	if strings.Contains(added.body, "<b>") {
		t.Errorf("markup is not escaped: %s", added.body)
	}
	w.v1("POST", "/projects/p/issues", `{"title":"second","needs":[1]}`).is(200, "").has(`"blocked_by":[1]`, `"next_branch":"forge/issue-2-second"`)

	page := decode[struct {
		Issues []work.Issue
		Next   int64
	}](w.v1("GET", "/projects/p/issues?limit=1", "").is(200, ""))
	if len(page.Issues) != 1 || page.Next != 1 {
		t.Errorf("page %+v", page)
	}
	w.v1("GET", "/projects/p/issues?limit=1&after=1", "").has(`"title":"second"`)
	w.v1("GET", "/projects/p/issues?column=ready&after=2", "").is(409, "stale")

	const one = "/projects/p/issues/1"
	w.v1("PATCH", one, `{"title":"x"}`).is(428, "version_missing")
	w.v1("PATCH", one, `{"title":"x"}`, "If-Match", `1`).is(422, "invalid")
	w.v1("PATCH", one, `{"title":"new","criteria":[{"text":"also"},{"id":"c1","text":"kept"}]}`, "If-Match", `"1"`).is(200, "").has(`"c2"`, `"kept"`)
	p := decode[api.Problem](w.v1("PATCH", one, `{"title":"late"}`, "If-Match", `"1"`).is(412, "stale"))
	if p.Version != 2 || p.Fix == "" {
		t.Errorf("a stale edit: %+v", p)
	}
	w.v1("PATCH", one, `{"criteria":[{"id":"c9","text":"x"}]}`, "If-Match", "*").is(422, "invalid").has("c9")
	w.v1("PATCH", one, `{"level":"nonsense"}`, "If-Match", "*").is(422, "invalid").has("plan_then_review")
	w.v1("PATCH", one, `{"needs":[2]}`, "If-Match", "*").is(409, "refused").has("cycle")

	w.v1("POST", one+"/move", `{"column":"in_review"}`).is(409, "refused")
	w.v1("POST", one+"/move", `{"column":"backlog","place":"before"}`).is(422, "invalid")
	w.v1("POST", one+"/move", `{"column":"backlog","place":"before","beside":2,"note":"first\nof all"}`).is(200, "")
	w.v1("POST", one+"/cancel", `{"note":"no"}`).is(200, "").has(`"state":"cancelled"`)
	w.v1("POST", one+"/cancel", ``).is(409, "refused")
	w.v1("POST", one+"/retry", ``).is(200, "")
	h := decode[struct{ Entries []work.IssueEntry }](w.v1("GET", one+"/history?limit=100", "").is(200, ""))
	if len(h.Entries) != 5 || h.Entries[2].Note != "first of all" || h.Entries[2].By != "the admin" || h.Entries[2].Door != "api" {
		t.Errorf("history %+v", h.Entries)
	}
	w.v1("GET", "/projects/p/issues/99", "").is(404, "unknown_issue")
	w.v1("GET", "/projects/p/issues/99/history", "").is(404, "unknown_issue")
	w.v1("GET", "/projects/nope/issues/1", "").is(404, "unknown_project")
}

// TestInput: what is not understood is refused whole.
func TestInput(t *testing.T) {
	w := newWorld(t)
	const path = "/projects/p/issues"
	for name, c := range map[string]struct {
		body, code string
		status     int
	}{
		"unknown field":    {`{"title":"a","agent":"sh"}`, "invalid", 422},
		"no field":         {`{}`, "invalid", 422},
		"wrong type":       {`{"title":7}`, "invalid", 422},
		"unknown word":     {`{"title":"a","priority":"huge"}`, "invalid", 422},
		"a column of runs": {`{"title":"a","column":"done"}`, "invalid", 422},
		"not JSON":         {`{"title":`, "invalid", 400},
		"two values":       {`{"title":"a"} {"title":"b"}`, "invalid", 400},
		"no body":          {``, "invalid", 400},
		"too long a title": {`{"title":"` + strings.Repeat("x", 201) + `"}`, "invalid", 422},
		"control letters":  {`{"title":"a\u001b[2J"}`, "invalid", 422},
		"bad label":        {`{"title":"a","labels":["a,b"]}`, "invalid", 422},
		"no such issue":    {`{"title":"a","needs":[44]}`, "refused", 409},
		"too large":        {`{"title":"a","description":"` + strings.Repeat("x", 4<<20) + `"}`, "too_large", 413},
		"long description": {`{"title":"a","description":"` + strings.Repeat("x", work.MaxIssueDescription+1) + `"}`, "invalid", 422},
	} {
		t.Run(name, func(t *testing.T) {
			w.TB = t
			w.v1("POST", path, c.body).is(c.status, c.code)
		})
	}
	w.TB = t
	w.v1("GET", path+"?colour=red", "").is(422, "invalid")
	w.v1("GET", path+"?limit=100000", "").is(422, "invalid")
	w.v1("GET", path+"/one", "").is(422, "invalid")
	w.v1("DELETE", path, "").is(404, "unknown_address")
	w.v1("GET", "/nothing", "").is(404, "unknown_address")
	w.v1("POST", path, "title=a", "Content-Type", "application/x-www-form-urlencoded").is(415, "not_json")
	if list := w.v1("GET", path, ""); !strings.Contains(list.body, `"issues":[]`) {
		t.Errorf("something was stored: %s", list.body)
	}
}

func TestFloorProjectsAndPolicies(t *testing.T) {
	w := newWorld(t)
	w.v1("POST", "/projects/p/floor/pause", "").is(200, "").has(`"paused":true`)
	w.v1("GET", "/projects/p/floor", "").is(200, "").has(`"paused":true`, `"running":[]`)
	w.v1("POST", "/projects/p/floor/resume", "").is(200, "").has(`"paused":false`)
	w.v1("POST", "/projects/p/floor/drain", "").is(200, "").has(`"drain":true`)
	w.v1("GET", "/projects", "").is(200, "").has(`[{"id":"p","role":"admin"}]`)
	w.ask("everywhere", "GET", "/api/v1/projects", "").is(200, "").has(`"other"`, `"viewer"`)
	w.v1("GET", "/projects/p", "").is(200, "").has(`"ready":0`)
	w.v1("GET", "/me", "").is(200, "").has(`"name":"the admin"`)
	w.v1("GET", "/projects/p/policies", "").is(200, "").has(`"name":"partial"`, `"level":true`)
	w.v1("GET", "/projects/p/policies/review", "").is(200, "").has(`"axis":"final","gate":true,"value":"human"`)
	w.v1("GET", "/projects/p/policies/review/explain", "").is(200, "").has(`"stops":[{"point"`)
	w.v1("GET", "/projects/p/policies/nope", "").is(404, "unknown_policy")
	w.v1("GET", "/projects/p/policies/full/check?parent=review", "").is(200, "").has(`"allowed":false`, `"action_approved"`[:0])
	w.v1("GET", "/projects/p/policies/review/check?parent=full&parent=autonomous", "").is(200, "").has(`"allowed":true`, `["full","autonomous"]`)
	w.v1("GET", "/projects/p/policies/full/check", "").is(422, "invalid")
}

func TestMonitors(t *testing.T) {
	w := newWorld(t)
	w.v1("POST", "/projects/p/issues", `{"title":"a","column":"ready"}`).is(200, "")
	w.site.ports["p"].addRun("r1", false)
	w.ask("", "GET", "/healthz", "").is(200, "").has("ok")
	w.ask("", "GET", "/readyz", "").is(200, "").has("ready")
	w.ask("", "GET", "/metrics", "").is(401, "unauthenticated")
	w.ask("admin", "GET", "/metrics", "").is(403, "forbidden") // of project p alone
	// Who asks from this machine is asked as well: agents run on it.
	local := httptest.NewRequest("GET", "http://"+host+"/metrics", nil)
	local.RemoteAddr = "127.0.0.1:1234"
	rec := httptest.NewRecorder()
	if w.web.ServeHTTP(rec, local); rec.Code != 401 {
		t.Errorf("from loopback without a token: %d", rec.Code)
	}
	w.api.Webhooks = func() map[string]int { return map[string]int{"taken": 3, "too large": 1} }
	w.ask("everywhere", "GET", "/metrics", "").is(200, "").has(`forge_host_webhooks_total{outcome="taken"} 3`, `forge_host_webhooks_total{outcome="too_large"} 1`,
		`forge_issues{column="ready",project="p"} 1`, `forge_runs{project="p",state="running"} 1`, `forge_runs_cost_unknown{project="p"} 1`, `forge_project_up{project="other"} 1`, "go_goroutines")
	w.api.Close()
	if got := w.ask("", "GET", "/readyz", ""); got.status != 503 {
		t.Errorf("an ending server is ready: %d", got.status)
	}
}
