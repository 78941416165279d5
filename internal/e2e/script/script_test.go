package script

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/internal/pace"
)

// TestScripts drives the command line as a user does: the real main, real git,
// scripted agents, an empty home.
func TestScripts(t *testing.T) {
	nothingLeft(t)
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
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
			state := &scriptState{}
			for _, kv := range env.Vars {
				name, _, _ := strings.Cut(kv, "=")
				state.names = append(state.names, name)
			}
			env.Values[scriptStateKey{}] = state
			return nil
		},
		Cmds:      scriptCommands(),
		Condition: scriptCondition,
	})
}

// scripts are those of testdata that are played now (see pace.Left). Those in which
// something happens at the same time say in a comment what that is, and those that are
// slow why. The former are left to make race, as the slow ones are.
func scripts(t *testing.T) []string {
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	background := regexp.MustCompile(`(?m)^(! |\? )?exec .*&\w*&?$`)
	return slices.DeleteFunc(all, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		atOnce := strings.Contains("\n"+string(text), "\n# at once: ")
		if !atOnce && background.Match(text) {
			t.Errorf("%s has something in the background, and says nowhere \"# at once: why\"", name)
		}
		slow := strings.Contains("\n"+string(text), "\n# slow: ")
		return pace.LeftButLong(slow || atOnce, !atOnce)
	})
}

// nothingLeft gives this process, in which most commands of scripts run, a
// folder of its own for temporary files, and fails when one of Forge's is left.
// Not counted is the text of a person that could not be taken as it was.
func nothingLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Cleanup(func() {
		left, _ := filepath.Glob(filepath.Join(temp, "*forge*"))
		left = slices.DeleteFunc(left, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "forge-issue-") })
		if len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// exits CODE forge …: runs a command and holds its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) { exitsWith(ts, neg, args) }

// exitsWith is exits, and returns what was printed.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) (stdout, stderr string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args]")
	}
	code, stdout, stderr, err := call(ts, args[1], args[2:])
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%v: exit code %d, want %s: %v", args[1:], code, args[0], err)
	}
	return stdout, stderr
}

// exitCode is that of a program that has ended so, -1 when it did not end by
// itself.
func exitCode(err error) int {
	var exit interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
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
