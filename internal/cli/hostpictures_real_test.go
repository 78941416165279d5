//go:build real

package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forge/internal/host"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// Who reads a pull request sees the page as it was, as it is, and what differs. After a
// rework the new pictures take the place of the old ones.
func TestRealPullRequestsShowPages(t *testing.T) {
	pace.Slow(t, "a Gitea, and a browser that shows a page four times")
	g := hosttest.StartCrowd(t)
	page := func(head string) string { return "<!doctype html><title>Shop</title><h1>" + head + "</h1>" }
	step := func(n int, head string) string {
		return fmt.Sprintf("[[step]]\nphase = \"01\"\niteration = %d\ndo = [{write = \"index.html\", content = %q}, {print = \"<promise>PHASE 01 DONE</promise>\"}]\n", n, page(head))
	}
	w := realPulls(t, g, step(1, "The Shop")+step(2, "THE SHOP"))
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "")
	w.write("index.html", page("Shop"))
	w.git("add", ".")
	w.git("commit", "--quiet", "-m", "a shop")
	w.hosted(g.URL, "forge")
	config, err := os.ReadFile(filepath.Join(w.root, ".forge/forge.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(".forge/forge.toml", string(config)+"[[proof.pages]]\nurl = \"http://localhost:8025/\"\nstart = \"python3 -m http.server --bind 127.0.0.1 8025\"\nviewport = \"390x300\"\ntimeout_secs = 20\n")
	w.plan(phase("01", "first", 3))

	w.forge("run").want(exitFrozen)
	first := w.pictured()
	look, _ := w.current()
	w.says("ann", look, work.PullChangesRequested)
	w.forge("resume").want(exitFrozen)
	second := w.pictured()
	if first[0] != second[0] || first[1] == second[1] || first[2] == second[2] {
		t.Errorf("before a rework %q, after it %q: the page before the change is the same, and is not put there again", first, second)
	}
	look, _ = w.current()
	w.says("ann", look, work.PullApproved)
	w.forge("resume").want(exitDone)
	w.landed(look)
	w.sound()
}

var shownPicture = regexp.MustCompile(`!\[(Before|After|What differs) http //localhost 8025/\]\((\S+)\)`)

// pictured are the addresses of the pictures on the current pull request, which are all
// that is attached to it, and PNGs.
func (w *giteaWorld) pictured() []string {
	w.t.Helper()
	look, _ := w.current()
	if !strings.Contains(look.Body, "## How the pages look") {
		w.t.Fatalf("the text shows no page:\n%s", look.Body)
	}
	var shown, attached []string
	for _, m := range shownPicture.FindAllStringSubmatch(look.Body, -1) {
		shown = append(shown, m[2])
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, m[2], nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set("Authorization", "token "+w.g.Tokens["ann"])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		head := make([]byte, 4)
		_, _ = res.Body.Read(head)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || string(head) != "\x89PNG" {
			w.t.Errorf("%s: %d, %q", m[2], res.StatusCode, head)
		}
	}
	var all []struct {
		Name string
		At   string `json:"browser_download_url"`
	}
	w.g.Do(w.t, w.g.Tokens["ann"], http.MethodGet, fmt.Sprintf("/repos/owner/%s/issues/%d/assets", w.repo, look.Number), nil, &all)
	for _, one := range all {
		if !host.IsPicture(one.Name) {
			w.t.Errorf("%q is attached", one.Name)
		}
		attached = append(attached, one.At)
	}
	if len(shown) != 3 || !slices.Equal(slices.Sorted(slices.Values(shown)), slices.Sorted(slices.Values(attached))) {
		w.t.Fatalf("the text shows %q, attached are %q", shown, attached)
	}
	return shown
}
