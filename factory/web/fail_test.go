package web_test

import (
	"net/url"
	"strings"
	"testing"

	"forge/factory/web/webtest"
	"forge/internal/work"
)

// A request of a page's own script that comes to nothing puts its reason where
// notices stand, under the status that it has.
func TestFailuresOfAPagesOwnScript(t *testing.T) {
	w := webtest.New(t)
	w.Issue("Stay", work.ColumnBacklog)
	owner := w.Owner()
	token := owner.FormToken()
	for name, c := range map[string]struct {
		answer webtest.Answer
		status int
		says   string
	}{
		"what is not there": {owner.Get("/p/nothing", "HX-Request", "true"), 404, "There is no"},
		"what must not be":  {owner.Post("/p/demo/issues/1/move", url.Values{"column": {"in_progress"}, "forge_token": {token}}, "HX-Request", "true"), 409, "claim"},
	} {
		a := c.answer
		if a.Status != c.status || !strings.Contains(a.Body, `class="notice bad"`) || !strings.Contains(a.Body, c.says) {
			t.Errorf("%s: %d, want %d with a notice that says %q:\n%s", name, a.Status, c.status, c.says, a.Body)
		}
		if to := a.Header.Get("HX-Retarget"); to != "#notice" {
			t.Errorf("%s goes to %q, want #notice", name, to)
		}
	}
	if strings.Contains(w.Log.String(), "cannot be made") {
		t.Errorf("the server says:\n%s", w.Log)
	}
}
