package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"forge/factory/web"
)

// onPages maps what pages change to the operations of the API that change the
// same; "" = nothing that a program needs.
var onPages = map[string][]string{
	"POST /sign-in":  {""}, // programs have tokens
	"POST /sign-out": {""},
	"POST /theme":    {""}, // of one browser
	"POST /projects": {"add-project"},

	"POST /p/{project}/issues":             {"add-issue"},
	"POST /p/{project}/issues/{id}/edit":   {"edit-issue"},
	"POST /p/{project}/issues/{id}/move":   {"move-issue"},
	"POST /p/{project}/issues/{id}/cancel": {"cancel-issue"},
	"POST /p/{project}/issues/{id}/retry":  {"retry-issue"},

	"POST /p/{project}/runs/{run}/cancel":     {"cancel-run", "cancel-job"},
	"POST /p/{project}/runs/{run}/level":      {"set-level"},
	"POST /p/{project}/runs/{run}/tell":       {"tell-agent"},
	"POST /p/{project}/runs/{run}/rewind":     {"rewind-phase"},
	"POST /p/{project}/runs/{run}/fork":       {"fork-run"},
	"POST /p/{project}/jobs":                  {"start-job"},
	"POST /p/{project}/runs":                  {"begin-run"},
	"POST /p/{project}/runs/forecast":         {"forecast-run", "draft-plan"},
	"POST /p/{project}/drafts/{draft}/drop":   {"drop-draft"},
	"POST /p/{project}/drafts/{draft}/answer": {"answer-draft"},

	"POST /p/{project}/checkpoints/{checkpoint}/comment":   {"comment-line"},
	"POST /p/{project}/checkpoints/{checkpoint}/uncomment": {"drop-comment"},
	"POST /p/{project}/checkpoints/{checkpoint}/judge":     {"judge-files"},
	"POST /p/{project}/checkpoints/{checkpoint}/answer":    {"approve-checkpoint", "request-changes-checkpoint", "reject-checkpoint"},

	"POST /p/{project}/checkpoints/{checkpoint}/edit":      {"edit-file"},
	"POST /p/{project}/checkpoints/{checkpoint}/edit/drop": {"drop-edit"},

	"POST /p/{project}/companion/ask":     {"ask-companion"},
	"POST /p/{project}/companion/confirm": {"confirm-proposal"},
	"POST /p/{project}/companion/dismiss": {"dismiss-proposal"},

	"POST /p/{project}/settings":        {"change-settings"},
	"POST /p/{project}/settings/fields": {"change-settings"},

	"POST /p/{project}/floor/{word}": {"pause-floor", "resume-floor", "drain-floor"},

	"POST /p/{project}/schedules/{word}": {"run-schedule", "pause-schedule", "resume-schedule"},
	"POST /p/{project}/lessons/{word}":   {"keep-lesson", "unlearn-lesson"},
}

// shownOnPages maps what pages show to the operations that tell the same; "" =
// nothing that a program needs.
var shownOnPages = map[string][]string{
	"GET /sign-in":             {""},
	"GET /static/{sum}/{name}": {""},
	"GET /favicon.ico":         {""},
	"GET /docs":                {""}, // the same for everybody
	"GET /docs/{page}":         {""},

	"GET /projects/new": {"list-folders"},

	"GET /{$}":         {"list-projects", "whoami"},
	"GET /inbox":       {"list-projects", "list-checkpoints", "list-issues", "list-drafts"},
	"GET /inbox/count": {"list-checkpoints", "list-issues", "list-drafts"},
	"GET /live":        {"follow-events"},
	"GET /search":      {"search-project"},

	"GET /p/{project}":                     {"show-project", "list-issues"},
	"GET /p/{project}/columns":             {"list-issues"},
	"GET /p/{project}/columns/{column}":    {"list-issues"},
	"GET /p/{project}/floor":               {"show-floor"},
	"GET /p/{project}/schedules":           {"list-schedules"},
	"GET /p/{project}/lessons":             {"list-lessons", "list-proposed-lessons"},
	"GET /p/{project}/metrics":             {"project-figures"},
	"GET /p/{project}/settings":            {"show-settings"},
	"GET /p/{project}/health":              {"check-health"},
	"GET /p/{project}/issues/new":          {"list-policies"},
	"GET /p/{project}/issues/{id}":         {"show-issue"},
	"GET /p/{project}/issues/{id}/history": {"issue-history"},
	"GET /p/{project}/issues/{id}/edit":    {"show-issue"},
	"GET /p/{project}/runs":                {"list-runs"},
	"GET /p/{project}/runs/new":            {"forecast-run", "list-drafts"},
	"GET /p/{project}/runs/{run}/back":     {"run-events"},
	"GET /p/{project}/drafts/{draft}":      {"show-draft"},
	"GET /p/{project}/runs/{run}":          {"show-run", "run-events"},
	"GET /p/{project}/runs/{run}/now":      {"show-run"},
	"GET /p/{project}/runs/{run}/events":   {"run-events"},
	"GET /p/{project}/runs/{run}/output":   {"run-output"},

	"GET /p/{project}/runs/{run}/pictures/{picture}": {"run-picture"},

	"GET /p/{project}/runs/{run}/changes": {"run-changes"},
	"GET /p/{project}/runs/{run}/file":    {"run-changes"},
	"GET /p/{project}/issues/{id}/live":   {"show-issue", "show-run"},
	"GET /p/{project}/companion":          {"show-conversation"},
	"GET /p/{project}/companion/talk":     {"show-conversation"},
	"GET /p/{project}/jobs":               {"list-jobs"},
	"GET /p/{project}/jobs/new":           {"job-choices"},
	"GET /p/{project}/jobs/{run}":         {"show-job"},

	"GET /p/{project}/checkpoints/{checkpoint}":         {"show-checkpoint"},
	"GET /p/{project}/checkpoints/{checkpoint}/now":     {"show-checkpoint"},
	"GET /p/{project}/checkpoints/{checkpoint}/file":    {"show-checkpoint", "read-checkpoint-file"},
	"GET /p/{project}/checkpoints/{checkpoint}/tree":    {"list-checkpoint-files"},
	"GET /p/{project}/checkpoints/{checkpoint}/blob":    {"read-checkpoint-file"},
	"GET /p/{project}/checkpoints/{checkpoint}/comment": {"show-checkpoint"},
	"GET /p/{project}/checkpoints/{checkpoint}/edit":    {"read-checkpoint-file"},
}

// TestEverythingThatPagesShow: whatever a page shows, the API tells.
func TestEverythingThatPagesShow(t *testing.T) {
	w := newWorld(t)
	there := map[string]bool{"": true}
	for _, r := range w.api.Routes() {
		there[r.ID] = true
	}
	n := 0
	for page := range pageRoutes(t) {
		if !strings.HasPrefix(page, "GET ") {
			continue
		}
		n++
		ids, known := shownOnPages[page]
		if !known {
			t.Errorf("%s has no operation of the API", page)
		}
		for _, id := range ids {
			if !there[id] {
				t.Errorf("%s is told by %s, which there is not", page, id)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d pages were found in the source", n)
	}
}

// TestEverythingThatPagesChange: whatever a page can change, the API can, and
// takes the same role for it.
func TestEverythingThatPagesChange(t *testing.T) {
	w := newWorld(t)
	roles := map[string]web.Role{}
	for _, r := range w.api.Routes() {
		roles[r.ID] = r.Role
	}
	pages := pageRoutes(t)
	if len(pages) < 10 {
		t.Fatalf("only %d routes were found in the source: %v", len(pages), pages)
	}
	for page, role := range pages {
		if strings.HasPrefix(page, "GET ") {
			continue
		}
		ids, known := onPages[page]
		if !known {
			t.Errorf("%s has no operation of the API", page)
		}
		for _, id := range ids {
			if got, ok := roles[id]; id != "" && (!ok || got.String() != role) {
				t.Errorf("%s takes the role %s, %s takes %s (known: %v)", page, role, id, got, ok)
			}
		}
	}
}

// pageRoutes reads from the source the routes of pages, and the role that each
// takes.
func pageRoutes(t *testing.T) map[string]string {
	files, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), "../"+f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		words := map[string]string{} // constants
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if len(n.Names) == 1 && len(n.Values) == 1 {
					words[n.Names[0].Name] = text(n.Values[0], words)
				}
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
					words[name.Name] = text(n.Rhs[0], words)
				}
			case *ast.CallExpr:
				call, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || len(n.Args) != 2 || !strings.HasPrefix(call.Sel.Name, "Handle") {
					return true
				}
				pattern := text(n.Args[0], words)
				method, _, _ := strings.Cut(pattern, " ")
				if method == "" || !strings.Contains(pattern, " ") {
					return true
				}
				routes[pattern] = ""
				if need, ok := n.Args[1].(*ast.CallExpr); ok && len(need.Args) > 0 {
					if role, ok := need.Args[0].(*ast.Ident); ok {
						routes[pattern] = strings.ToLower(strings.TrimPrefix(role.Name, "Role"))
					}
				}
			}
			return true
		})
	}
	return routes
}

// text is what a constant expression of texts comes to.
func text(e ast.Expr, words map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Ident:
		return words[e.Name]
	case *ast.BinaryExpr:
		return text(e.X, words) + text(e.Y, words)
	}
	return ""
}

// TestTheTableOfPages: what docs/api.md lists page by page are the operations
// that the pages' routes map to, each and no other.
func TestTheTableOfPages(t *testing.T) {
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Page by page\n")
	table, _, _ = strings.Cut(table, "\nA test holds")
	listed := map[string]bool{}
	for n, word := range strings.Split(table, "`") {
		if n%2 == 1 {
			listed[word] = true
		}
	}
	wanted := map[string]bool{"": true}
	for _, all := range []map[string][]string{onPages, shownOnPages} {
		for page, ids := range all {
			for _, id := range ids {
				if wanted[id] = true; id != "" && !listed[id] {
					t.Errorf("docs/api.md does not list %s, which is %s", id, page)
				}
			}
		}
	}
	for id := range listed {
		if !wanted[id] {
			t.Errorf("docs/api.md lists %s, which no page has", id)
		}
	}
}
