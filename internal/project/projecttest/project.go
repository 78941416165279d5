// Package projecttest makes projects for tests: a repository with one commit, a
// home and a state folder, and a scripted agent.
package projecttest

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/project"
)

// New is a new project in which nothing is said. Its agent plays script, "" = it
// does nothing; more settings stand at the end of its configuration. The variable
// HOST_TOKEN has a value there.
func New(t testing.TB, script, more string) project.Env {
	t.Helper()
	if script == "" {
		script = "[[step]]\ndo = []\n"
	}
	top := t.TempDir()
	root, home := filepath.Join(top, "project"), filepath.Join(top, "home")
	for name, text := range map[string]string{
		filepath.Join(home, ".config/forge/config.toml"): "[sandbox]\nmode = \"off\"\n",
		filepath.Join(home, ".gitconfig"):                "[user]\nname = Test\nemail = test@example.invalid\n[init]\ndefaultBranch = main\n",
		filepath.Join(root, ".forge/agent.toml"):         script,
		filepath.Join(root, ".forge/forge.toml"): "[project]\nname = \"demo\"\n[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \".forge/agent.toml\"\n" +
			"[verify]\ncommands = [\"true\"]\n" + more,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	env := project.Env{Now: time.Now, Dir: root, Log: log.New(io.Discard), Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=tester", "TMPDIR=" + os.TempDir(), "FORGE_STATE_DIR=" + filepath.Join(top, "state"),
		"GIT_CONFIG_NOSYSTEM=1", "LANG=C", "HOST_TOKEN=of the test",
	}}
	Repository(t, root, env.Environ)
	return env
}
