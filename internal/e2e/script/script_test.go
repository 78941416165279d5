package script

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts drives the command line as a user does: the real main, real git,
// scripted agents, an empty home.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("FORGE_UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			for name, value := range map[string]string{
				"HOME": home, "FORGE_STATE_DIR": filepath.Join(env.WorkDir, "state"), "GIT_CONFIG_NOSYSTEM": "1",
				"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.invalid",
				"GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@example.invalid",
				"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "USER": "tester", "NO_COLOR": "1",
				"GORACE": os.Getenv("GORACE"),
			} {
				env.Setenv(name, value)
			}
			// For scripts that take PATH away.
			forge, err := exec.LookPath("forge")
			if err != nil {
				return err
			}
			env.Setenv("FORGE", forge)
			env.Values[scriptStateKey{}] = &scriptState{}
			return nil
		},
		Cmds:      scriptCommands(),
		Condition: scriptCondition,
	})
}

// exits CODE forge …: runs a command and holds its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = "failed to start"
		var exit interface{ ExitCode() int }
		if errors.As(err, &exit) {
			code = strconv.Itoa(exit.ExitCode())
		}
	}
	if code != args[0] {
		ts.Fatalf("%v: exit code %s, want %s", args[1:], code, args[0])
	}
}

// repo DIR: makes DIR a git repository with everything in it committed, and
// goes there.
func repo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	ts.Check(ts.Exec("git", "-C", args[0], "init", "-q", "-b", "main"))
	ts.Check(ts.Exec("git", "-C", args[0], "add", "-A"))
	ts.Check(ts.Exec("git", "-C", args[0], "commit", "-q", "-m", "start"))
	ts.Check(ts.Chdir(args[0]))
}
