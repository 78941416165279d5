//go:build real

package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// A shop whose page is named in forge.toml: no test of it would notice that its
// button does nothing any more. The browser does, the agent is told, and a person who
// is asked sees the page as it was, as it is, and what differs.
func TestRealPagesAreProven(t *testing.T) {
	pace.Slow(t, "a browser shows a page four times in a sandbox")
	t.Parallel()
	const (
		page   = `<!doctype html><title>Shop</title><h1>Shop</h1><button id=save>Save</button><p id=said></p><script src=shop.js></script>`
		script = `document.querySelector('#%s').onclick = () => { document.querySelector('#said').textContent = 'Saved'; document.querySelector('#said').className = 'done' }`
	)
	step := func(n int, id, head string) string {
		return fmt.Sprintf("[[step]]\nphase = \"01\"\niteration = %d\ndo = [{write = \"index.html\", content = %q}, {write = \"shop.js\", content = %q}, {print = \"<promise>PHASE 01 DONE</promise>\"}]\n",
			n, strings.Replace(page, "<h1>Shop</h1>", "<h1>"+head+"</h1>", 1), fmt.Sprintf(script, id))
	}
	w := newWorld(t, step(1, "safe", "The Shop")+step(2, "save", "The Shop"), "true")
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "")
	w.write("index.html", page)
	w.write("shop.js", fmt.Sprintf(script, "save"))
	w.git("add", ".")
	w.git("commit", "--quiet", "-m", "a shop")
	w.configure("[[proof.pages]]\nurl = \"http://localhost:8023/\"\nstart = \"python3 -m http.server --bind 127.0.0.1 8023\"\nviewport = \"390x300\"\nsteps = [\"click #save\", \"wait .done\"]\ntimeout_secs = 20\n", "true")
	w.plan(phase("01", "first", 3))
	w.forge("doctor").says("✓ browser ", "for 1 page of [[proof.pages]]")

	w.forge("run", "--level", "guided").want(exitFrozen)
	w.forge("why").want(0).says("could not be shown: ", "of it looks different", "2 steps", "pictures")
	s := withPages(t, w)
	var found []work.PageShown
	evs, err := s.worker.Journal.Events(t.Context(), s.runID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range evs {
		var d work.VerifyFinishedData
		if e.Kind != work.VerifyFinished {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		if found = append(found, d.Pages...); len(d.Pages) > 0 && d.OK != (d.Pages[0].Red() == "") {
			t.Errorf("a verify is green %v, and its page %+v", d.OK, d.Pages[0])
		}
	}
	if len(found) != 2 || !strings.Contains(found[0].Problem, "wait .done") || found[1].Red() != "" || found[1].Changed == 0 {
		t.Fatalf("%+v", found)
	}

	for _, sha := range found[1].Pictures() {
		if a := s.Owner().Get("/p/demo/runs/" + s.runID() + "/pictures/" + sha); a.Status != 200 || !strings.HasPrefix(a.Body, "\x89PNG") {
			t.Errorf("picture %s: %d", sha, a.Status)
		}
	}
}
