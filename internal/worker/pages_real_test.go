//go:build real

package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/pace"
	"forge/internal/project/projecttest"
	"forge/internal/work"
)

// The page of the project is good with the work of each issue, and cannot be shown with
// that of a and b together. No test notices; what would land is shown in a browser, so
// that b is named, and its target never holds such a tree.
func TestRealPagesAreShownBeforeAResultLands(t *testing.T) {
	pace.Slow(t, "a browser in a sandbox, for four runs and their landings")
	t.Parallel()
	env := projecttest.New(t, "", "")
	top := filepath.Dir(env.Dir)
	for name, text := range map[string]string{
		filepath.Join(top, "home/.config/forge/config.toml"): "",
		filepath.Join(env.Dir, ".forge/forge.toml"): `[project]
name = "demo"
[agent]
use = "mine"
[agents.mine]
kind = "exec"
command = ["sh", "-c", "echo $FORGE_PHASE_NAME >$FORGE_PHASE_NAME.txt; echo \"<promise>ISSUE $(echo $FORGE_PHASE_NAME | tr abcde 12345) DONE</promise>\""]
[factory]
triage = "off"
default_policy = "full"
[verify]
commands = ["test -e README.md"]
[proof]
controls = false
product = ["*.txt"]
[[proof.pages]]
url = "http://localhost:8024/"
start = "mkdir -p site && { [ -e a.txt ] && [ -e b.txt ] && echo '<p id=broken>' || echo '<p id=app>fine'; } >site/index.html && exec python3 -m http.server --bind 127.0.0.1 --directory site 8024"
wait = "#app"
viewport = "300x200"
timeout_secs = 10
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := openLineWorld(t, env, "a", "b", "c", "d")

	// Nothing has moved: what would land is what the run has shown.
	alone, err := w.worker.Land(t.Context(), w.of["a"], "", func(work.IssuePull) error { return nil })
	if err != nil || alone.Commit == "" {
		t.Fatalf("a: %+v, %v", alone, err)
	}
	if shown := w.shown("a"); len(shown) != 0 {
		t.Errorf("the very tree of the run was shown again: %+v", shown)
	}

	got := map[string]factory.Landed{}
	for title, done := range w.line(nil, "c", "b", "d") {
		o := <-done
		if o.err != nil {
			t.Fatalf("%s: %v", title, o.err)
		}
		got[title] = o.landed
	}
	if b := got["b"]; b.Commit != "" || b.Hold != factory.HoldLandingRed || !strings.Contains(b.Reason, "could not be shown") {
		t.Errorf("b breaks the page beside a: %+v", b)
	}
	if got["c"].Commit == "" || got["d"].Commit == "" {
		t.Errorf("c and d: %+v", got)
	}
	if files := strings.Join(w.git("ls-tree", "--name-only", "forge/landed", "a.txt", "b.txt", "c.txt", "d.txt"), " "); files != "a.txt c.txt d.txt" {
		t.Errorf("the target holds %s", files)
	}
	trees := map[string]bool{}
	for _, title := range []string{"b", "c", "d"} {
		for _, one := range w.shown(title) {
			if trees[one.tree] {
				t.Errorf("tree %s is shown twice", one.tree)
			}
			trees[one.tree] = true
			if green := one.page.Red() == ""; green != (one.verdict == landing.Green) || green && (one.page.Before == "" || one.page.After == "") {
				t.Errorf("%s: %+v", title, one)
			}
		}
	}
	if len(trees) < 3 {
		t.Errorf("%d trees were shown", len(trees))
	}
}

// landingShown is a page that was shown for a landing.
type landingShown struct {
	tree    string
	verdict landing.Verdict
	page    work.PageShown
}

// shown are the pages that were shown to land the work of an issue.
func (w *lineWorld) shown(title string) (out []landingShown) {
	w.t.Helper()
	evs, err := w.worker.Journal.Events(w.t.Context(), w.of[title].Run, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range evs {
		var d landing.FinishedData
		if e.Kind != work.LandingFinished {
			continue
		}
		if err := work.Decode(e, &d); err != nil {
			w.t.Fatal(err)
		}
		if p := d.Probe; p != nil {
			for _, page := range p.Pages {
				out = append(out, landingShown{p.Tree, p.Verdict, page})
			}
		}
		if p := d.Proof; p != nil {
			for _, page := range p.Pages {
				out = append(out, landingShown{p.Tree, p.Verdict, page})
			}
		}
	}
	return out
}
