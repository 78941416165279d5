package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newBare is a project without a .forge folder, whose files are committed.
func newBare(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := newWorld(t, "")
	if err := os.RemoveAll(filepath.Join(w.root, ".forge")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		w.write(name, text)
	}
	if len(files) > 0 {
		w.git("add", "-A")
		w.git("commit", "--quiet", "-m", "files")
	}
	return w
}

// program puts a shell script into a folder of PATH before all others.
func (w *world) program(name, script string) {
	w.t.Helper()
	dir := filepath.Join(w.home, "bin")
	w.write(filepath.Join(dir, name), "#!/bin/sh\n"+script)
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	for i, kv := range w.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok && !strings.HasPrefix(path, dir) {
			w.env[i] = "PATH=" + dir + ":" + path
		}
	}
}

// noClaude hides a claude that this machine may have.
func (w *world) noClaude() {
	w.program("claude", "exit 1\n")
}

func (w *world) read(name string) string {
	w.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.root, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// holds checks that a file holds every text.
func (w *world) holds(name string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if got := w.read(name); !strings.Contains(got, text) {
			w.t.Errorf("%s does not hold %q:\n%s", name, text, got)
		}
	}
}

// Each kind of project gets its own commands, and files that forge loads.
func TestInitKindsOfProjects(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		says  []string
		toml  []string
		plan  []string
	}{
		{
			"go", map[string]string{"go.mod": "module x\ngo 1.22\n"},
			[]string{"Verify   ? go test ./... (not tried: --no-try)"}, []string{`"go test ./...", # there is a go.mod`}, []string{`"go test ./..."`, "test -s OVERVIEW.md"},
		},
		{
			"node", map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`, "package-lock.json": "{}"},
			[]string{"Setup    ? npm ci", "Verify   ? npm test"},
			[]string{`"npm ci", # there is a package-lock.json`, `"npm test", # package.json has a test script (node --test)`, `cache_key = ["package-lock.json", "package.json"]`}, []string{`"npm test"`},
		},
		{
			"python", map[string]string{"requirements.txt": "pytest\n", "tests/conftest.py": ""},
			[]string{"Setup    ? python3 -m venv .venv && ", "Verify   ? .venv/bin/python -m pytest"}, []string{`cache_key = ["requirements.txt"]`}, []string{`.venv/bin/python -m pytest`},
		},
		{
			"make", map[string]string{"Makefile": "check:\n\ttrue\n"},
			[]string{"Verify   ? make check"}, []string{`"make check", # Makefile has the target check`}, []string{`"make check"`},
		},
		{
			"nothing", nil,
			[]string{"Verify   ✗ there is no command", "put yours into [verify] commands"}, []string{"# No test command was found."}, []string{`"test -s OVERVIEW.md"`},
		},
		{
			"shell characters", map[string]string{"package.json": `{"scripts":{"test":"a && b > c"}}`},
			[]string{"Verify   ? npm test"}, []string{"(a && b > c)"}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newBare(t, tt.files)
			w.forge("init", "--no-try").want(exitDone).says(append(tt.says, "Wrote", "Next:", "forge run")...)
			w.holds(".forge/forge.toml", tt.toml...)
			w.holds(".forge/phases.json", tt.plan...)
			w.holds(".forge/spec.md", "# What to build")
			w.holds(".forge/.gitignore", "/logs/")
			w.forge("list").want(exitDone).says("overview-check")
		})
	}
}

func TestInitTriesSetupAndVerify(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "package-lock.json": "{}"})
	w.program("npm", "case $1 in ci) mkdir node_modules && echo > node_modules/made ;; test) test -f node_modules/made ;; *) exit 9 ;; esac\n")
	w.forge("init").want(exitDone).says("Setup    ✓ npm ci", "Verify   ✓ npm test").warns("trying")
	if text := w.read(".forge/forge.toml"); strings.Contains(text, "FAILED") || w.exists("node_modules") {
		t.Errorf("a setup that works is called failed, or ran in the checkout:\n%s", text)
	}
}

func TestInitSaysWhatFails(t *testing.T) {
	t.Parallel()
	t.Run("setup", func(t *testing.T) {
		t.Parallel()
		w := newBare(t, map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "package-lock.json": "{}"})
		w.program("npm", "echo no network; exit 7\n")
		w.forge("init").want(exitDone).says("Setup    ✗ npm ci: exit code 7", "no network", "npm test (not tried: setup failed)", "mend what failed")
		w.holds(".forge/forge.toml", "there is a package-lock.json; it FAILED when forge init tried it: exit code 7")
	})
	t.Run("verify", func(t *testing.T) {
		t.Parallel()
		w := newBare(t, map[string]string{"Makefile": "test:\n\t@printf 'bad \\033[31m result\\n'; exit 1\n"})
		e := w.forge("init").want(exitDone).says("Verify   ✗ make test: exit code 2", "bad ", "mend what failed")
		if strings.Contains(e.stdout, "\x1b") {
			t.Errorf("an escape sequence of the project's came through: %q", e.stdout)
		}
		w.holds(".forge/forge.toml", `"make test", # Makefile has the target test; it FAILED when forge init tried it: exit code 2`)
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		w := newBare(t, map[string]string{"Makefile": "test:\n\tsleep 100\n"})
		w.forge("init", "--limit", "1s").want(exitDone).says("Verify   ✗ make test: it took too long")
		w.forge("init", "--limit", "1ms").want(exitUsage)
	})
}

func TestInitNeverOverwrites(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{"Makefile": "test:\n\ttrue\n"})
	w.write(".forge/spec.md", "my spec\n")
	w.write(".forge/forge.toml", "[verify]\ncommands = [\"false\"]\n")
	w.forge("init").want(exitDone).
		says("Kept       .forge/forge.toml, .forge/spec.md: already there", "Wrote      .forge/.gitignore, .forge/phases.json", "Verify   ✗ false: exit code 1")
	if w.read(".forge/spec.md") != "my spec\n" || w.read(".forge/forge.toml") != "[verify]\ncommands = [\"false\"]\n" {
		t.Error("a file that was there was changed")
	}
	w.holds(".forge/phases.json", `"false"`)
	e := w.forge("init", "--no-try").want(exitDone).says("already there")
	if strings.Contains(e.stdout, "Wrote") {
		t.Errorf("the second init wrote:\n%s", e.stdout)
	}
}

func TestInitRefusesBrokenConfiguration(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	w.write(".forge/forge.toml", "[verify]\ncomands = []\n")
	w.forge("init").want(exitUsage).warns(".forge/forge.toml:2", "commands")
	if w.exists(".forge/phases.json") {
		t.Error("something was written all the same")
	}
}

// Of several commands each is said for itself.
func TestInitSaysWhichCommandFails(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	w.write(".forge/forge.toml", "[worktree]\nsetup = [\"echo 1 > made\"]\n[verify]\ncommands = [\"test -f made\", \"exit 4\", \"true\"]\n")
	w.forge("init").want(exitDone).says("Setup    ✓ echo 1 > made", "Verify   ✓ test -f made", "Verify   ✗ exit 4: exit code 4", "Verify   ? true (not tried")
}

// A kept file that forge run would refuse is said at once.
func TestInitSaysWhatRunWouldRefuse(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	w.write(".forge/phases.json", `{"phases":[{"number":"x"}]}`)
	w.forge("init").want(exitDone).says("Kept       .forge/phases.json").warns("forge run would refuse", "not a phase number")
}

func TestInitFindsTheAgent(t *testing.T) {
	const answers = `case "$*" in --version) echo "9.9.9 (fake)" ;; "auth status") echo '{"loggedIn":%s}' ;; *) exit 1 ;; esac`
	tests := []struct {
		name, claude string
		args         []string
		code         int
		says         []string
		toml         string
	}{
		{"logged in", strings.ReplaceAll(answers, "%s", "true"), nil, 0, []string{"Agent    ✓ claude 9.9.9, logged in"}, "[agent]\nuse = \"claude\""},
		{"not logged in", strings.ReplaceAll(answers, "%s", "false"), nil, 0, []string{"Agent    ✗ claude 9.9.9, not logged in", "log in"}, "[agent]\nuse = \"claude\""},
		{"broken", "exit 1", nil, 0, []string{"Agent    ✗ none found", "forge init --agent exec", "install an agent"}, "# No agent was found when this file was made."},
		{"asked for and broken", "exit 1", []string{"--agent", "claude"}, 0, []string{"Agent    ✗ claude: ", "install the agent"}, "[agent]\nuse = \"claude\""},
		{"a command", "exit 1", []string{"--agent", "exec"}, 0, []string{"put it into [agents.mine]", "the command of your agent"}, "[agents.mine]\nkind = \"exec\""},
		{"a script", "exit 1", []string{"--agent", "script"}, 0, []string{"Agent    ✓ a script"}, "[agents.dry]\nkind = \"script\""},
		{"unknown", "exit 1", []string{"--agent", "clade"}, 2, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newBare(t, nil)
			w.program("claude", tt.claude+"\n")
			w.forge(append([]string{"init"}, tt.args...)...).want(tt.code).says(tt.says...)
			if tt.code != 0 {
				if w.exists(".forge") {
					t.Error("something was written all the same")
				}
				return
			}
			w.holds(".forge/forge.toml", tt.toml)
			w.forge("list").want(exitDone)
		})
	}
}

// What the user's configuration says of the agent is not said again.
func TestInitKeepsTheUsersAgent(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	w.noClaude()
	w.program("my-agent", "cat > /dev/null\n")
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[agent]\nuse = \"own\"\n[agents.own]\nkind = \"exec\"\ncommand = [\"my-agent\"]\n")
	w.forge("init").want(exitDone).says("Agent    ✓ own (", "Sandbox  ✗ off, as your configuration says")
	if strings.Contains(w.read(".forge/forge.toml"), "[agent]") {
		t.Error("the project names an agent again")
	}
}

func TestInitOfAFolderInside(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{"services/api/Makefile": "test:\n\t@test -f here\n", "services/api/here": ""})
	top := w.root
	w.root = filepath.Join(top, "services", "api")
	w.forge("init").want(exitDone).says("you are in its folder services/api", "Verify   ✓ cd services/api && make test")
	if w.exists(".forge") {
		t.Error(".forge was made in the folder inside")
	}
	w.root = top
	w.holds(".forge/forge.toml", `"cd services/api && make test", # services/api: Makefile has the target test`)
}

func TestInitDryRun(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{"Makefile": "test:\n\t@touch " + "/nowhere/ran\n"})
	w.forge("init", "--dry-run").want(exitDone).says("make test (not tried: a dry run runs nothing)", "Would write .forge/forge.toml", "commands = [", "Nothing was written")
	if w.exists(".forge") || w.exists(w.state) {
		t.Error("a dry run wrote")
	}
}

func TestInitWithoutACommit(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	if err := os.RemoveAll(filepath.Join(w.root, ".git")); err != nil {
		t.Fatal(err)
	}
	w.forge("init").want(exitUsage).warns("not in a git repository", "git init")
	w.git("init", "--quiet", ".")
	w.write("Makefile", "test:\n\ttrue\n")
	w.forge("init").want(exitDone).says("it has no commit yet", "make test (not tried: the repository has no commit yet)", `1. git add -A && git commit -m start`)
	w.holds(".forge/forge.toml", "make test")
}

func TestInitRefusesALinkedFolder(t *testing.T) {
	t.Parallel()
	w := newBare(t, nil)
	other := t.TempDir()
	if err := os.Symlink(other, filepath.Join(w.root, ".forge")); err != nil {
		t.Fatal(err)
	}
	w.forge("init").want(exitUsage)
	if entries, err := os.ReadDir(other); err != nil || len(entries) > 0 {
		t.Errorf("written through the link: %v %v", entries, err)
	}
}

// Trying leaves nothing behind: no folder, no state, nothing in the repository.
func TestInitLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	w := newBare(t, map[string]string{"Makefile": "test:\n\t@echo > left; echo > $$HOME/left\n"})
	refs := w.git("for-each-ref")
	w.forge("init").want(exitDone).says("Verify   ✓ make test")
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 1 { // the world's own folder
		t.Errorf("left behind: %v %v", left, err)
	}
	if w.exists(w.state) || w.exists("left") || w.git("for-each-ref") != refs || w.git("status", "--porcelain") != "?? .forge/" {
		t.Errorf("state or repository changed: %s", w.git("status", "--porcelain"))
	}
}

func TestInitIsStopped(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{"Makefile": "test:\n\tsleep 100\n"})
	s := w.begin("init")
	w.eventually("it tries the tests", func() bool { return strings.Contains(s.stderr.String(), "trying") })
	s.stop()
	s.wait().want(exitInterrupted).warns("nothing was written")
	if w.exists(".forge") {
		t.Error("something was written")
	}
}

// A project with setup alone hears that nothing would prove a phase.
func TestInitOfSetupWithoutVerify(t *testing.T) {
	t.Parallel()
	w := newBare(t, map[string]string{".forge/forge.toml": "[worktree]\nsetup = [\"true\"]\n"})
	w.noClaude()
	w.forge("init", "--yes").want(exitDone).says("Setup    ✓ true", "Verify   ✗ there is no command")
}
