package web_test

import (
	"strings"
	"testing"

	"forge/factory/web/webtest"
	"forge/internal/work"
)

func TestPagesOfABoard(t *testing.T) {
	w := webtest.New(t)
	i := w.Issue("Parse <b>dates</b>", work.ColumnReady, func(i *work.Issue) { i.Labels = []string{"parser"} })
	owner := w.Owner()
	for path, want := range map[string]string{
		"/":                     `href="/p/demo"`,
		"/p/demo":               `Parse &lt;b&gt;dates&lt;/b&gt;`,
		"/p/demo?label=parser":  `id="card-1"`,
		"/p/demo?q=DATES":       `id="card-1"`,
		"/p/demo/columns/ready": `id="card-1"`,
		"/p/demo/issues/new":    `name="title"`,
		"/p/demo/issues/1/edit": `name="version" value="1"`,
		"/inbox":                `Nothing waits for you`,
		"/search":               `name="q"`,
	} {
		if a := owner.Get(path); a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d, without %q:\n%s", path, a.Status, want, a.Body)
		}
	}
	if a := owner.Get("/p/demo?label=other"); strings.Contains(a.Body, "card-1") {
		t.Errorf("the label's filter lets #%d through", i.ID)
	}
}
