package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/search"
)

// found is a search with a fixed answer, which remembers what it was asked.
type found struct {
	hits  []search.Hit
	asked *[]string
}

func (f found) Find(_ context.Context, s web.Sought) (search.Found, error) {
	*f.asked = append(*f.asked, s.Said)
	return search.Found{Hits: f.hits, Note: "Found by <i>words</i> alone."}, nil
}

type unknownRun struct{}

func (unknownRun) Find(context.Context, web.Sought) (search.Found, error) {
	return search.Found{}, &web.Complaint{Status: 422, What: "There is no run r-9."}
}

func TestSearchPage(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	var here, hidden []string
	w.Site.Change("demo", func(p *web.Project) {
		p.Search = found{[]search.Hit{
			{Kind: search.KindEvent, Run: "r-1", Phase: "01", Path: "12", Excerpt: "verify <b>failed</b>"},
			{Kind: search.KindFile, Run: "r-1", Path: "a b.go", Line: 3, Excerpt: "func x()"},
			{Kind: search.KindIssue, Path: "#7", Run: "r-1", Excerpt: "a wish"},
			{Kind: search.KindFile, Path: "plain.go", Line: 1, Excerpt: "package x"},
		}, &here}
	})
	owner := w.Owner()
	a := owner.Get("/search?q=" + url.QueryEscape("verify kind:event"))
	for _, want := range []string{
		`href="/p/demo/runs/r-1#event-12"`, "verify &lt;b&gt;failed&lt;/b&gt;", "Found by &lt;i&gt;words&lt;/i&gt; alone.", `href="/p/demo/runs/r-1/file?path=a&#43;b.go"`, `href="/p/demo/issues/7"`, "plain.go:1",
	} {
		if a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%d, without %q:\n%s", a.Status, want, a.Body)
		}
	}
	if len(here) != 1 || here[0] != "verify kind:event" {
		t.Errorf("asked %q", here)
	}
	if a := owner.Get("/search?q=kind:x"); !strings.Contains(a.Body, "kind:x is no kind") || len(here) != 1 {
		t.Errorf("a wrong question: asked %q\n%s", here, a.Body)
	}
	if a := owner.Get("/search?q=x&project=other"); !strings.Contains(a.Body, "Nothing was found") || len(here) != 1 {
		t.Errorf("another project: asked %q", here)
	}
	w.Site.Change("demo", func(p *web.Project) { p.Search = unknownRun{} })
	if a := owner.Get("/search?q=x+run:r-9"); a.Status != 200 || !strings.Contains(a.Body, "Nothing was found") {
		t.Errorf("a run of another project: %d\n%s", a.Status, a.Body)
	}
	// Whoever may see nothing of a project finds nothing of it.
	w.Site.Change("demo", func(p *web.Project) { p.Search = found{nil, &hidden} })
	w.AddProject("elsewhere")
	stranger := w.User("sam", web.RoleViewer, "elsewhere")
	if a := stranger.Get("/search?q=verify"); len(hidden) != 0 {
		t.Errorf("a project was searched for somebody who may not see it: %d %q", a.Status, hidden)
	}
}
