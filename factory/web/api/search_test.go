package api_test

import (
	"context"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/internal/search"
)

type oneHit struct{ asked *web.Sought }

func (o oneHit) Find(_ context.Context, s web.Sought) (search.Found, error) {
	*o.asked = s
	return search.Found{Hits: []search.Hit{{Kind: search.KindFinding, Run: "r-1", Path: "7", Excerpt: "it leaks"}}, Partly: true, Note: "by words"}, nil
}

func TestSearch(t *testing.T) {
	w := newWorld(t)
	var asked web.Sought
	for n := range w.site.list {
		w.site.list[n].Search = oneHit{&asked}
	}
	at := "/api/v1/projects/" + w.site.list[0].ID + "/search"
	got := w.ask("viewer", "GET", at+"?q=leak+kind:finding&limit=5", "").is(200, "")
	for _, want := range []string{`"excerpt":"it leaks"`, `"partly":true`, `"note":"by words"`, `"kind":"finding"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("without %s: %s", want, got.body)
		}
	}
	if asked != (web.Sought{Said: "leak kind:finding", Limit: 5}) {
		t.Errorf("asked %+v", asked)
	}
	w.ask("viewer", "GET", at+"?q=kind:nil", "").is(422, "invalid")
	w.ask("viewer", "GET", at+"?q=x&limit=101", "").is(422, "invalid")
}
