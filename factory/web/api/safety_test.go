package api_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/work"
	"forge/orchestrator"
)

// TestLevelsAreAnAdmins: nobody below one lets work run more freely than its
// project says, by whichever door.
func TestLevelsAreAnAdmins(t *testing.T) {
	w := newWorld(t)
	ask := func(method, path, body string, headers ...string) reply {
		return w.ask("operator", method, api.Prefix+"/projects/p"+path, body, headers...)
	}
	ask("POST", "/issues", `{"title":"a","level":"full"}`).is(403, "forbidden")
	ask("POST", "/jobs", `{"description":"a","level":"partial"}`).is(403, "forbidden")
	w.site.list[0].Starts = noStarts{t}
	ask("POST", "/runs", `{"text":"a","level":"partial"}`).is(403, "forbidden")
	ask("POST", "/runs/forecast", `{"text":"a","level":"partial"}`).is(403, "forbidden")
	if list := w.v1("GET", "/projects/p/issues", ""); !strings.Contains(list.body, `"issues":[]`) || len(w.site.ports["p"].orders) != 0 {
		t.Errorf("something was begun: %s", list.body)
	}
	w.v1("POST", "/projects/p/issues", `{"title":"a","level":"review"}`).is(200, "")
	ask("PATCH", "/issues/1", `{"level":"full"}`, "If-Match", "*").is(403, "forbidden")
	ask("PATCH", "/issues/1", `{"level":""}`, "If-Match", "*").is(403, "forbidden")
	ask("PATCH", "/issues/1", `{"level":"review","title":"b"}`, "If-Match", "*").is(200, "").has(`"level":"review"`, `"title":"b"`)
	w.v1("PATCH", "/projects/p/issues/1", `{"level":"full"}`, "If-Match", "*").is(200, "").has(`"level":"full"`)
	w.v1("POST", "/projects/p/jobs", `{"description":"a","level":"partial"}`).is(200, "")
}

// noStarts fails when it is asked for anything.
type noStarts struct{ t *testing.T }

func (s noStarts) Forecast(context.Context, web.RunOrder) (web.Forecast, error) {
	s.t.Error("a forecast was made")
	return web.Forecast{}, nil
}

func (s noStarts) Begin(context.Context, web.RunOrder) (string, error) {
	s.t.Error("a run was begun")
	return "", nil
}

func (s noStarts) Fork(context.Context, string, work.Rewind, string) (string, error) {
	s.t.Error("a run was forked")
	return "", nil
}

func (s noStarts) Draft(context.Context, web.RunOrder) (string, error) {
	s.t.Error("a plan was drafted")
	return "", nil
}

func (noStarts) Drafts(context.Context) ([]web.Draft, error) { return nil, nil }

func (noStarts) Drafted(context.Context, string) (web.Draft, error) {
	return web.Draft{}, web.ErrNoDraft
}

func (noStarts) AnswerDraft(context.Context, string, string, string) error { return web.ErrNoDraft }
func (noStarts) DropDraft(context.Context, string) error                   { return web.ErrNoDraft }

func (noStarts) Again(*orchestrator.State) web.RunOrder { return web.RunOrder{} }

// TestRoles: each operation is refused to each role below its own, and to
// everybody without one in that project; nothing is changed by it.
func TestRoles(t *testing.T) {
	w := newWorld(t)
	w.site.ports["p"].addRun("r1", false)
	w.v1("POST", "/projects/p/issues", `{"title":"a"}`).is(200, "")
	names := []string{"", "viewer", "reviewer", "operator", "admin"}
	for _, r := range w.api.Routes() {
		path := strings.NewReplacer("{project}", "p", "{issue}", "1", "{run}", "r1", "{checkpoint}", "c1", "{comment}", "1", "{phase}", "1", "{iteration}", "1", "{policy}", "full", "{proposal}", "1").Replace(r.Path)
		for n, who := range names {
			if r.ID == "follow-events" {
				continue // it would not end
			}
			// The body is no JSON, so that nothing is changed by who may.
			got := w.ask(who, r.Method, api.Prefix+path, "{", "Content-Type", "application/json")
			switch {
			case n == 0:
				got.is(401, "unauthenticated")
			case web.Role(n) < r.Role:
				got.is(403, "forbidden")
			case r.ID == "list-folders":
				got.is(403, "forbidden") // an admin of one project is none of all
			case got.status == 401 || got.status == 403:
				t.Errorf("%s is refused to %s: %s", r.ID, who, got.body)
			}
		}
		if strings.Contains(path, "/projects/p") {
			w.ask("admin", r.Method, api.Prefix+strings.Replace(path, "/p", "/other", 1), "").is(404, "")
			w.ask("admin", r.Method, api.Prefix+strings.Replace(path, "/projects/p", "/projects/other", 1), "").is(404, "unknown_project")
			if r.Method != http.MethodGet {
				w.ask("everywhere", r.Method, api.Prefix+strings.Replace(path, "/projects/p", "/projects/other", 1), "").is(403, "forbidden")
			}
		}
		if r.Method != http.MethodGet && r.Role < web.RoleReviewer {
			t.Errorf("%s changes something and takes only %s", r.ID, r.Role)
		}
	}
}

// TestForgery: what other sites' pages, other names of this address and stolen
// habits of browsers can send.
func TestForgery(t *testing.T) {
	w := newWorld(t)
	const path = "/api/v1/projects/p/issues"
	body := `{"title":"forged"}`
	for name, headers := range map[string][]string{
		"another name for this address": {"Host", "evil.example"},
		"an address as a name":          {"Host", "169.254.169.254"},
		"another site's page":           {"Origin", "https://evil.example"},
		"a page that hides":             {"Sec-Fetch-Site", "cross-site"},
		"a sister site":                 {"Sec-Fetch-Site", "same-site"},
		"an origin of nowhere":          {"Origin", "null"},
	} {
		if got := w.ask("admin", "POST", path, body, headers...); got.status != 403 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	w.ask("", "POST", path, body, "Authorization", "Bearer forge_nobody").is(401, "unauthenticated")
	w.ask("", "POST", path, body, "Authorization", "Basic "+w.tokens["admin"]).is(401, "unauthenticated")
	w.ask("", "POST", path+"?token="+w.tokens["admin"], body).is(401, "unauthenticated")

	// A session alone, which a browser sends by itself, changes nothing: it
	// takes the token that only our own pages carry.
	r := w.ask("", "POST", "/sign-in", "token="+w.tokens["admin"], "Content-Type", "application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatalf("sign-in: %d %s", r.status, r.body)
	}
	w.ask("", "POST", path, body, "Cookie", cookie).is(403, "forbidden")
	w.ask("", "POST", path, "forge_token=x&title=a", "Cookie", cookie, "Content-Type", "text/plain").is(403, "forbidden")
	// Without https other servers of this host have the cookie as well: it reads
	// nothing either.
	for _, route := range w.api.Routes() {
		if route.Method == "GET" {
			w.ask("", "GET", api.Prefix+route.Path, "", "Cookie", cookie).is(401, "unauthenticated")
		}
	}
	w.ask("", "GET", "/metrics", "", "Cookie", cookie).is(401, "unauthenticated")
	own := regexp.MustCompile(`name="forge-token" content="([^"]+)"`).FindStringSubmatch(r.body)
	if own == nil {
		t.Fatalf("sign-in leaves no token: %s", r.body)
	}
	w.ask("", "GET", path, "", "Cookie", cookie, "X-Forge-Token", own[1]).is(200, "").has(`"issues":[]`)
	w.ask("", "POST", path, body, "Cookie", cookie, "X-Forge-Token", own[1]).is(200, "").has("forged")
}
