package verify

import (
	"strings"
	"testing"

	"forge/internal/work"
)

// What a command does to the tree that is being judged ends the judgement, also
// when it was the last one, and however little it looks like it.
func TestVerifyIsDisturbed(t *testing.T) {
	base := files{"a_test.sh": "exit 1", "lib/x.sh": "echo x"}
	for name, tt := range map[string]struct {
		commands []string
		setup    []string
		what     string
	}{
		"a test is rewritten":              {commands: []string{"echo exit 0 >a_test.sh", "sh a_test.sh"}, what: "a_test.sh"},
		"a test is removed":                {commands: []string{"rm a_test.sh", "true"}, what: "a_test.sh"},
		"product is rewritten":             {commands: []string{"true", "echo y >lib/x.sh"}, what: "lib/x.sh"},
		"with the old size and time":       {commands: []string{"touch -r a_test.sh .t; printf 'exit 0' >a_test.sh; touch -r .t a_test.sh"}, what: "a_test.sh"},
		"a file is moved there":            {commands: []string{"printf 'exit 0' >n; mv n a_test.sh"}, what: "a_test.sh"},
		"it becomes a link":                {commands: []string{"ln -sf /dev/null a_test.sh"}, what: "a_test.sh"},
		"its folder becomes a file":        {commands: []string{"rm -r lib; echo >lib"}, what: "lib/x.sh"},
		"it cannot be run any more":        {commands: []string{"chmod 000 a_test.sh"}, what: "a_test.sh"},
		"by setup":                         {setup: []string{"echo exit 0 >a_test.sh"}, commands: []string{"sh a_test.sh"}, what: "a_test.sh"},
		"a package of setup is rewritten":  {setup: []string{"mkdir -p node_modules/t; echo fail >node_modules/t/i.js"}, commands: []string{"echo pass >node_modules/t/i.js", "true"}, what: "node_modules/t/i.js"},
		"a tool of setup leads elsewhere":  {setup: []string{"mkdir -p node_modules/.bin; ln -s ../t node_modules/.bin/t"}, commands: []string{"ln -sf /bin/true node_modules/.bin/t", "true"}, what: "node_modules/.bin/t"},
		"a program of setup is rewritten":  {setup: []string{"mkdir -p .venv/bin; echo exit 1 >.venv/bin/t; chmod +x .venv/bin/t"}, commands: []string{"echo exit 0 >.venv/bin/t", "true"}, what: ".venv/bin/t"},
		"a link of setup is a folder":      {setup: []string{"mkdir x; ln -s x packages"}, commands: []string{"rm packages; mkdir packages", "true"}, what: "packages"},
		"a folder of setup is a link":      {setup: []string{"mkdir -p vendor/bin"}, commands: []string{"mkdir dist; rm -r vendor/bin; ln -s ../dist vendor/bin", "true"}, what: "vendor/bin"},
		"by what a command left behind":    {commands: []string{"(sleep 0.2; echo exit 0 >a_test.sh) >/dev/null 2>&1 & sleep 1", "true"}, what: "a_test.sh"},
		"though the command itself failed": {commands: []string{"echo exit 0 >a_test.sh; exit 3"}, what: "a_test.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, base)
			req := b.req(tt.commands...)
			req.Worktree = work.Worktree{Setup: tt.setup}
			rep := b.verify(req)
			if rep.OK || !strings.Contains(rep.Disturbed, tt.what) {
				t.Errorf("OK %v, disturbed %q, want one that names %s; %+v", rep.OK, rep.Disturbed, tt.what, rep)
			}
		})
	}
}

// Building is no disturbance, nor is what an owner lets commands write.
func TestVerifyLetsCommandsBuild(t *testing.T) {
	b := newBench(t, files{"src/a": "a", "gen/doc.txt": "old", "same": "x"})
	req := b.req("mkdir -p dist && cp src/a dist/a && echo new >gen/doc.txt && touch same", "test $(cat dist/a) = a && test $(cat gen/doc.txt) = new")
	req.MayWrite = []string{"gen/**"}
	b.green(req)
}

// A package manager that installs the same once more changes nothing.
func TestVerifyLetsToolsBeInstalledAgain(t *testing.T) {
	b := newBench(t, files{})
	install := "mkdir -p node_modules/.bin .venv/bin && ln -sf ../t/i.js node_modules/.bin/t && rm -f .venv/bin/t && echo exit 0 >.venv/bin/t && chmod +x .venv/bin/t"
	req := b.req(install+" && ln -s ../u/i.js node_modules/.bin/u", "sh .venv/bin/t && test -L node_modules/.bin/u")
	req.Worktree = work.Worktree{Setup: []string{install + " && mkdir -p target && echo a >target/app && chmod +x target/app"}}
	b.green(req)
	req.Commands = []string{"echo b >target/app", "rm -r node_modules"}
	b.green(req)
}

// What a command left that the next one would load is not there for it.
func TestVerifyTakesOutWhatIsLoaded(t *testing.T) {
	b := newBench(t, files{"src/a": "a"})
	for _, planted := range []string{
		"conftest.py", "src/__pycache__/a.pyc", "sitecustomize.py", "x.pth", ".npmrc", "src/.mocharc.json", "pytest.ini",
		"jest.config.js", "a_test.go", "test_a.py", "src/a.test.js", "pkg.dist-info/entry_points.txt", "Makefile",
	} {
		b.green(b.req("mkdir -p $(dirname "+planted+") && echo x >"+planted, "test ! -e "+planted))
	}
	b.green(b.req("echo x >made.js; mkdir lib; echo y >lib/out", "test -e made.js && test -e lib/out"))
}

// One command's home is nothing to the next, unless the owner says so.
func TestVerifyHomesAreApart(t *testing.T) {
	b := newBench(t, files{})
	w := work.Worktree{Setup: []string{"mkdir -p $HOME/.cache && echo kept >$HOME/.cache/k && ln -s k $HOME/.cache/l"}}
	write := "echo poison >$HOME/.cache/k; echo x >$HOME/.toolrc; echo x >$XDG_CONFIG_HOME.x; mkdir -p $XDG_DATA_HOME"
	apart := b.req(write, "test $(cat $HOME/.cache/k) = kept && test $(cat $HOME/.cache/l) = kept && test ! -e $HOME/.toolrc && test ! -e $XDG_DATA_HOME")
	apart.Worktree = w
	b.green(apart)
	if exists(keptHome(homeOf(apart.Dir))) {
		t.Error("the home that was kept is still there")
	}
	one := b.req(write, "test $(cat $HOME/.cache/k) = poison && test -e $HOME/.toolrc")
	one.Worktree, one.OneHome = w, true
	b.green(one)
}
