package setup

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/work"
)

// told notes what a Teller is told.
type told struct{ lines []string }

func (t *told) note(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *told) Trying(kind string, _ []string) func() {
	t.note("%s begins", kind)
	return func() { t.note("%s is over", kind) }
}

func (t *told) Tried(kind string, _ []string, rep work.CommandsReport, _ time.Duration) {
	t.note("%s ok %v", kind, rep.OK)
}

func (t *told) Untried(c Commands, why string) {
	t.note("untried %s: %s", strings.Join(c.Verify, "; "), why)
}

func (t *told) Proven(_, warm time.Duration, problem string) {
	t.note("proven, warm %v, %q", warm > 0, problem)
}

// lookAt is the setup of a new repository with one commit and this forge.toml.
func lookAt(t *testing.T, toml string) *Setup {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".forge"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".forge", "forge.toml"), []byte(toml), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "start"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	env := project.Env{Log: charm.New(io.Discard), Now: time.Now, Dir: dir, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	s, err := Look(t.Context(), env, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each group is told of in order; what comes after one that failed is not tried,
// and a proof is made again with the caches of the first time.
func TestTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		toml   string
		failed bool
		want   []string
	}{
		"green":             {"[worktree]\nsetup = [\"true\"]\n[verify]\ncommands = [\"true\"]\n", false, []string{"setup begins", "setup is over", "setup ok true", "verify begins", "verify is over", "verify ok true", `proven, warm true, ""`}},
		"red":               {"[verify]\ncommands = [\"false\"]\n", true, []string{"verify begins", "verify is over", "verify ok false"}},
		"setup that fails":  {"[worktree]\nsetup = [\"false\"]\n[verify]\ncommands = [\"true\"]\n", true, []string{"setup begins", "setup is over", "setup ok false", "untried true: setup failed"}},
		"nothing but setup": {"[worktree]\nsetup = [\"true\"]\n", false, []string{"setup begins", "setup is over", "setup ok true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, heard := lookAt(t, c.toml), &told{}
			if err := s.Try(t.Context(), s.Commands(time.Minute), proc.Capabilities{}, heard); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(heard.lines, c.want) || s.Failed != c.failed {
				t.Errorf("failed %v, told\n%s\nwant\n%s", s.Failed, strings.Join(heard.lines, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A command is tried for as long as the caller says at most.
func TestCommandsHaveALimit(t *testing.T) {
	t.Parallel()
	s := lookAt(t, "[verify]\ncommands = [\"true\"]\ntimeout_secs = 600\n")
	if c := s.Commands(2 * time.Second); c.Seconds != 2 || c.Worktree.TimeoutSecs != 2 {
		t.Errorf("limits of %d and %d s, want 2", c.Seconds, c.Worktree.TimeoutSecs)
	}
	if c := s.Commands(time.Hour); c.Seconds != 600 {
		t.Errorf("a limit of %d s, want the project's own 600", c.Seconds)
	}
}
