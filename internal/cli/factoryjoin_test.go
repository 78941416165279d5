package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/internal/work"
)

// repository makes a checkout with one commit that knows nothing of Forge.
func (w *world) repository(dir string) string {
	w.t.Helper()
	w.write(filepath.Join(dir, "start.txt"), "here\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "-A"}, {"commit", "--quiet", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return dir
}

// A repository below the roots becomes a project of a running server, which works
// on its board; nothing else does, by whatever path it is named.
func TestAProjectIsAddedToARunningServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, issueScript, "test -f README.md")
	top, err := filepath.EvalSymlinks(filepath.Dir(w.root))
	if err != nil {
		t.Fatal(err)
	}
	fresh, outside := w.repository(filepath.Join(top, "fresh")), w.repository(t.TempDir())
	w.repository(filepath.Join(top, "deep", "inner"))
	w.repository(filepath.Join(top, ".hidden"))
	if err := os.Symlink(outside, filepath.Join(top, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(top, "plain"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.server(`roots = ["` + top + `"]`)
	user := filepath.Join(w.home, ".config/forge/config.toml")
	text, err := os.ReadFile(user)
	if err != nil {
		t.Fatal(err)
	}
	w.write(user, string(text)+"\n[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \""+filepath.Join(w.root, ".forge/agent.toml")+"\"\n")

	s := w.serve("bot")
	var list struct{ Folders []web.Folder }
	s.ask("GET", "/folders", "", 200, &list)
	if len(list.Folders) != 1 || list.Folders[0].Path != fresh || list.Folders[0].Changed.IsZero() {
		t.Fatalf("offered: %+v", list.Folders)
	}
	for _, path := range []string{outside, filepath.Join(top, "away"), top, w.root, filepath.Join(top, "plain"), filepath.Join(top, "deep", "inner"), filepath.Join(top, ".hidden"),
		fresh + "/", fresh + "/../fresh", top + "/plain/../fresh", "fresh", "../fresh", "/"} {
		body, _ := json.Marshal(map[string]string{"path": path})
		if code, answer := s.send("POST", "/projects", string(body)); code != 422 || !strings.Contains(answer, "no folder that may be added") {
			t.Errorf("%s is added: %d %s", path, code, answer)
		}
	}
	var made struct{ ID string }
	s.ask("POST", "/projects", `{"path":"`+fresh+`"}`, 200, &made)
	s.ask("POST", "/projects", `{"path":"`+fresh+`"}`, 422, nil)
	if !w.exists(filepath.Join(fresh, ".forge/forge.toml")) || w.exists(filepath.Join(outside, ".forge")) {
		t.Error("the files of the project are not where they belong")
	}

	s.project = "/projects/" + made.ID
	var issue work.Issue
	s.ask("POST", s.project+"/issues", `{"title":"Write it","column":"ready","level":"full"}`, 200, &issue)
	s.eventually("the new project's issue is worked on", func() bool {
		s.ask("GET", fmt.Sprintf("%s/issues/%d", s.project, issue.ID), "", 200, &issue)
		s.approve()
		return issue.Run != "" || issue.State != ""
	})
	s.run.stop()
	<-s.run.over
	if s.run.end.code != exitDone {
		t.Errorf("the server ended with %d: %s", s.run.end.code, s.run.stderr)
	}
}
