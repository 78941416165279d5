package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/server"
)

// rooted makes checkouts with .forge/ under a folder of the world.
func (w *world) rooted(names ...string) (top string) {
	w.t.Helper()
	top, err := filepath.EvalSymlinks(filepath.Dir(w.root))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		dir := filepath.Join(top, name)
		w.write(filepath.Join(dir, ".forge/forge.toml"), "[project]\nname = \"x\"\n")
		for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "-m", "first"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = dir, w.env
			if out, err := cmd.CombinedOutput(); err != nil {
				w.t.Fatalf("git %s: %v\n%s", args, err, out)
			}
		}
	}
	return top
}

// under is which projects a server with these roots has, below top.
func (w *world) under(top string, roots ...string) []string {
	w.t.Helper()
	text := "roots = ["
	for _, r := range roots {
		text += `"` + r + `",`
	}
	w.server(text + "]")
	cfg, _, err := config.Load(config.Sources{ProjectDir: w.root, Without: config.AllOfProject, UserFile: config.UserFile(w.env), Environ: w.env})
	if err != nil {
		w.t.Fatal(err)
	}
	set, err := cfg.WebServer("", false)
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := server.Checkouts(w.t.Context(), log.New(io.Discard), set)
	if err != nil {
		w.t.Fatal(err)
	}
	for n, dir := range found {
		if found[n], err = filepath.Rel(top, dir); err != nil {
			w.t.Fatal(err)
		}
	}
	return found
}

// The projects are what lies in the roots or one level below, each once, by
// whichever way it is reached; links lead to nothing elsewhere.
func TestProjectsUnderTheRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	top := w.rooted("in/a", "in/b", "in/.hidden", "in/deep/c", "elsewhere/d", "alone")
	w.write(filepath.Join(top, "in/plain/README"), "not a project\n")
	w.write(filepath.Join(top, "in/nogit/.forge/forge.toml"), "")
	w.write(filepath.Join(top, "in/a/below/.forge/forge.toml"), "")
	for link, to := range map[string]string{"in/out": "../elsewhere/d", "in/same": "a", "in/down": "deep/c", "in/gone": "nowhere", "in/self": ".", "byname": "in"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return top + "/" + name }
	for name, c := range map[string]struct{ roots, want []string }{
		"one level":           {[]string{at("in")}, []string{"in/a", "in/b", "in/deep/c"}},
		"a root by a link":    {[]string{at("byname")}, []string{"in/a", "in/b", "in/deep/c"}},
		"a root with ..":      {[]string{at("elsewhere/../in/")}, []string{"in/a", "in/b", "in/deep/c"}},
		"a root twice":        {[]string{at("in"), at("byname"), at("in/a")}, []string{"in/a", "in/b", "in/deep/c"}},
		"itself a checkout":   {[]string{at("alone")}, []string{"alone"}},
		"a link to one's own": {[]string{at("in"), at("elsewhere")}, []string{"elsewhere/d", "in/a", "in/b", "in/deep/c"}},
	} {
		got := w.under(top, c.roots...)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Roots that are gone are said, all of them, with file and line; with a project
// that is named there is nothing to look for.
func TestRootsThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	top := w.rooted("in/a")
	w.write(filepath.Join(top, "file"), "")
	w.server("roots = [\n\"" + top + "/in\",\n\"" + top + "/gone\",\n\"" + top + "/file\"]")
	w.forge("factory", "--once", "--listen", "off").want(exitUsage).
		warns("config.toml:6", "config.toml:7", top+"/gone", top+"/file", "cannot be read", "make it, or take it out")
	w.forge("factory", "--once", "--listen", "off", "--project", w.root).want(exitDone)
	if err := os.MkdirAll(filepath.Join(top, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.server("roots = [\"" + top + "/empty\"]")
	w.forge("factory", "--once", "--listen", "off").want(exitUsage).warns("no checkout with .forge/", top+"/empty")
}

// A server whose roots hold no project yet waits for the first that somebody adds.
func TestServerWaitsForItsFirstProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	top := w.rooted("in/fresh")
	if err := os.RemoveAll(filepath.Join(top, "in/fresh/.forge")); err != nil {
		t.Fatal(err)
	}
	w.server("roots = [\"" + top + "/in\"]\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"true\"]\n" +
		"[host]\nkind = \"github\"\nurl = \"http://127.0.0.1:9\"\nrepo = \"octo/repo\"\ntoken_env = \"HOST_TOKEN\"")
	w.env = append(w.env, "HOST_TOKEN=of the test")
	s := w.serveWhatIsThere("ada")
	if said := s.run.stderr.String(); !strings.Contains(said, "no checkout with .forge/ is in server.roots") || !strings.Contains(said, "add a project in the browser") {
		t.Errorf("it says %s", said)
	}
	var list []struct{ ID string }
	s.ask("GET", "/projects", "", 200, &list)
	if len(list) != 0 {
		t.Fatalf("projects: %+v", list)
	}
	var added struct{ ID string }
	s.ask("POST", "/projects", `{"path":"`+top+`/in/fresh"}`, 200, &added)
	s.ask("GET", "/projects/"+added.ID+"/issues", "", 200, nil)
	s.eventually("its code host is watched", func() bool { return strings.Contains(s.run.stderr.String(), "watches the code host") })
	select {
	case <-s.run.over:
		t.Fatalf("it ended: %s", s.run.stderr)
	default:
	}
	s.run.stop()
	<-s.run.over
	s.run.end.want(exitDone)
}
