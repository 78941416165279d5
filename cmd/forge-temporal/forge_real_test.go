//go:build real

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/agent"
	"forge/internal/cli"
	"forge/internal/proc"
)

// TestMain lets the test program be forge, and forge-temporal, under their names.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	switch filepath.Base(os.Args[0]) {
	case "forge":
		os.Exit(cli.Main(cli.Extras{}))
	case "forge-temporal":
		main()
	}
	os.Exit(m.Run())
}

// station is a machine with the programs, a checkout and a state folder.
type station struct {
	*testing.T
	bin, root string
	env       []string
}

const plan = `{"phases": [{"number": "01", "name": "first", "promise": "DONE", "verify": ["test -f one.txt"]}]}`

const settings = `[agent]
use = "dry"
[agents.dry]
kind = "script"
file = "script.toml"
[verify]
commands = ["test -f script.toml"]
`

// newMachine has a checkout whose plan takes an agent that works for a while.
func newMachine(t *testing.T, work string) *station {
	t.Helper()
	dir := t.TempDir()
	m := &station{T: t, bin: filepath.Join(dir, "bin"), root: filepath.Join(dir, "project")}
	home := filepath.Join(dir, "home")
	for name, text := range map[string]string{
		"project/.forge/forge.toml": settings, "project/.forge/phases.json": plan,
		"project/script.toml": "[[step]]\ndo = [" + work + "{ write = \"one.txt\", content = \"1\\n\" }, { print = \"<promise>DONE</promise>\" }]\n",
		"home/x":              "", "bin/x": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.install("forge")
	m.env = []string{
		"PATH=" + m.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "USER=tester", "NO_COLOR=1",
		"FORGE_STATE_DIR=" + filepath.Join(dir, "state"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid",
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = m.root, m.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return m
}

// install puts this program under a name into the folder of programs.
func (m *station) install(name string) {
	m.Helper()
	self, err := os.Executable()
	if err == nil {
		err = os.Link(self, filepath.Join(m.bin, name))
	}
	if err != nil {
		var from, to *os.File
		if from, err = os.Open(self); err != nil {
			m.Fatal(err)
		}
		defer from.Close()
		if to, err = os.OpenFile(filepath.Join(m.bin, name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755); err != nil {
			m.Fatal(err)
		}
		defer to.Close()
		if _, err := io.Copy(to, from); err != nil {
			m.Fatal(err)
		}
	}
}

// with is another machine, or the same with other variables.
func (m *station) with(env ...string) *station {
	other := *m
	other.env = append(append([]string(nil), m.env...), env...)
	return &other
}

// configure writes the user's configuration.
func (m *station) configure(text string) {
	m.Helper()
	path := filepath.Join(filepath.Dir(m.root), "home", ".config", "forge", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
}

func (m *station) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(m.bin, "forge"), args...)
	cmd.Dir, cmd.Env = m.root, m.env
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// forge runs forge, which must exit with code and say want.
func (m *station) forge(code int, want string, args ...string) {
	m.Helper()
	cmd, out := m.command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(out.String(), want) {
		m.Fatalf("forge %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, code, want, out)
	}
	if strings.Contains(out.String(), "hunter2") {
		m.Errorf("forge %s shows the password:\n%s", strings.Join(args, " "), out)
	}
}

const inPostgres = "[store]\nurl_env = \"TEAM_DB\"\n"

// Forge goes on as forge-temporal where the journal is in Postgres, and says what
// is missing before anything begins.
func TestRealForgeWithPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	m := newMachine(t, "")
	m.configure(inPostgres)
	url := "TEAM_DB=" + cluster.Schema(t) + "&password=hunter2"
	m.with(url).forge(2, "needs the program forge-temporal", "run", "--autonomous")
	m.with(url).forge(2, "needs the program forge-temporal", "status")
	m.forge(0, "forge 0", "version")
	m.install("forge-temporal")
	m.forge(2, "TEAM_DB is not set", "run", "--autonomous")
	m.with("TEAM_DB=postgres://u:hunter2@127.0.0.1:1/d").forge(2, "start it, or look at the address", "run", "--autonomous")
	m.with("TEAM_DB=somewhere:hunter2").forge(2, "does not hold the URL", "status")
	m.with(url).forge(0, "", "run", "--autonomous")
	if _, err := os.Stat(filepath.Join(filepath.Dir(m.root), "state", "journal.db")); !os.IsNotExist(err) {
		t.Errorf("the journal is a file as well: %v", err)
	}
	m.with(url).forge(0, "completed", "status")
	// Another machine sees the run, and has its own state folder.
	m.with(url, "FORGE_STATE_DIR="+filepath.Join(t.TempDir(), "other")).forge(0, "completed", "status")
	m.with(url).forge(2, "for all machines", "reset", "--yes")
}

// A server that goes away while an agent works, and comes back, costs nothing
// but the wait, and it is said.
func TestRealForgeWaitsForPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	m := newMachine(t, `{ sleep = "4s" }, `)
	m.configure(inPostgres)
	m.install("forge-temporal")
	m = m.with("TEAM_DB=" + cluster.Schema(t))
	cmd, out := m.command("run", "--autonomous", "--output", "json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	status := func() string {
		look, said := m.command("status", "--output", "json")
		_ = look.Run()
		return said.String()
	}
	for began := time.Now(); !strings.Contains(status(), `"iteration`); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("no iteration began:\n%s", status())
		}
	}
	cluster.Stop(syscall.SIGQUIT)
	time.Sleep(6 * time.Second) // longer than the agent works
	cluster.Up()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"does not answer", "answers again", `"outcome":"completed"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	if n := strings.Count(out.String(), `"kind":"iteration.started"`); n != 1 {
		t.Errorf("%d iterations began, want 1:\n%s", n, out)
	}
}

// A journal moves into Postgres and back; nobody goes on with the one that was
// left.
func TestRealForgeStoreMove(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	m := newMachine(t, "")
	m.install("forge-temporal")
	m = m.with("TEAM_DB=" + cluster.Schema(t))
	m.forge(0, "", "run", "--autonomous")
	m.forge(2, "store.url_env does not say", "store", "move", "--to", "postgres")
	m.configure(inPostgres)
	m.forge(2, "is still in", "status")
	m.forge(2, "cannot be moved to", "store", "move", "--to", "oracle")
	m.forge(0, "Nothing was moved", "store", "move", "--to", "postgres")
	m.forge(2, "is still in", "status")
	m.forge(0, "Moved, and held", "store", "move", "--to", "postgres", "--yes")
	m.forge(0, "completed", "status")
	m.forge(2, "nothing is left to do", "store", "move", "--to", "postgres", "--yes")
	m.configure("")
	m.forge(2, "was moved to postgres://", "status")
	m.configure(inPostgres)
	m.forge(0, "Moved, and held", "store", "move", "--to", "sqlite", "--yes")
	m.forge(2, "is still in", "status")
	m.configure("")
	m.forge(0, "completed", "status")
	m.forge(0, "", "run", "--autonomous", "--new")
}
