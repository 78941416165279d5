package web_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"forge/docs"
	"forge/factory/web/webtest"
)

// onPage are the ids and the links of a page.
func onPage(t *testing.T, body string) (ids, links []string) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids = append(ids, a.Val)
			case a.Key == "href" && n.Data == "a":
				links = append(links, a.Val)
			}
		}
	}
	return ids, links
}

// Every page of the documentation is served, each link between them leads to a
// page and a heading that are there, and none of their text is HTML.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	owner := w.Owner()
	address := func(name string) string {
		if name == docs.Index {
			return "/docs"
		}
		return "/docs/" + name
	}
	ids, links := map[string][]string{}, map[string][]string{}
	for _, name := range docs.Names() {
		at := address(name)
		a := owner.Get(at)
		if a.Status != 200 || !strings.Contains(a.Body, "<title>"+strings.ReplaceAll(docs.Title(mustPage(t, name)), "'", "&#39;")) {
			t.Errorf("%s: %d:\n%.300s", at, a.Status, a.Body)
			continue
		}
		ids[at], links[at] = onPage(t, a.Body)
		slices.Sort(ids[at])
		if n := len(ids[at]); n != len(slices.Compact(slices.Clone(ids[at]))) {
			t.Errorf("%s has an id twice: %q", at, ids[at])
		}
		for _, raw := range []string{"<!--", "&lt;!--", "](", "|---|"} {
			if article := articleOf(a.Body); strings.Contains(article, raw) {
				t.Errorf("%s shows %q: it is not rendered", at, raw)
			}
		}
	}

	checked := 0
	for at, all := range links {
		for _, to := range all {
			page, anchor, _ := strings.Cut(to, "#")
			if page == "" {
				page = at
			}
			if !strings.HasPrefix(page, "/docs") {
				continue
			}
			checked++
			if _, ok := ids[page]; !ok {
				t.Errorf("%s links to %s, which is not there", at, to)
			} else if anchor != "" && !slices.Contains(ids[page], anchor) {
				t.Errorf("%s links to %s: there is no such heading", at, to)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d links were checked", checked)
	}

	if a := owner.Get("/docs/nothing"); a.Status != 404 {
		t.Errorf("a page that is not there: %d", a.Status)
	}
	if a := w.Somebody().Get("/docs/tutorial"); a.Status == 200 {
		t.Error("the documentation is shown to somebody who has not signed in")
	}
	if a := owner.Get("/p/demo"); !strings.Contains(a.Body, `href="/docs"`) {
		t.Error("the menu does not lead to the documentation")
	}
}

func mustPage(t *testing.T, name string) string {
	t.Helper()
	text, ok := docs.Page(name)
	if !ok {
		t.Fatalf("there is no page %s", name)
	}
	return text
}

// articleOf is what stands between the tags of the article.
func articleOf(body string) string {
	_, rest, _ := strings.Cut(body, "<article")
	rest, _, _ = strings.Cut(rest, "</article>")
	return rest
}
