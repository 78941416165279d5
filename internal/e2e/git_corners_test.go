package e2e

import (
	"strings"
	"testing"

	"forge/internal/pace"
)

// corner is a repository, or an agent, that git makes difficult: a whole run
// ends as it should, and what reaches the user's checkout is what the agent
// left in its folder.
type corner struct {
	name   string
	before string // sh in the user's repository before the run; commits what it wants committed
	agent  string // sh in the phase folder; claims by itself
	verify string // "" = true
	why    string // why the checked-out branch is not moved; "" = it is
	fails  string // how the phase fails; "" = it is done
	after  string // sh in the user's repository after the run; a non-zero exit fails
	dir    string // where forge is started, below the root; "" = repo
}

// cornerConfig has one phase, driven by a program of the project.
const cornerConfig = `
[agent]
use = "own"
[agents.own]
kind = "exec"
command = ["./agent.sh"]
[verify]
commands = ["test -f agent.sh"]
[proof]
product = ["**"] # of a repository without a language, nobody knows which files are
evidence = ["*_test.sh"]
`

const cornerPlan = `{"phases":[{"number":"01","name":"corner","promise":"CORNER DONE","budget":3,"verify":["sh check.sh"]}]}`

// cornerShell stops at the first command that fails, and says where it stands.
const cornerShell = "#!/bin/sh\nset -eux\n"

const claims = "\necho '<promise>CORNER DONE</promise>'\n"

// cornerWords are words that the scripts in the user's repository use.
const cornerWords = `
mode() { git ls-tree "$1" -- "$2" | cut -c1-6; }
clean() { test -z "$(git status --porcelain)"; }
`

func corners() []corner {
	return []corner{
		{name: "submodule stays",
			before: `
mkdir ../lib; git -C ../lib init -q -b main; echo lib >../lib/lib.txt; git -C ../lib add -A; git -C ../lib commit -qm lib
git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qam 'add lib'`,
			agent: `echo beside >beside.txt; test -d lib; test ! -e lib/lib.txt; echo planted >lib/planted.txt` + claims,
			after: `
test "$(git rev-parse HEAD:lib)" = "$(git -C lib rev-parse HEAD)"; test "$(mode HEAD lib)" = 160000
test "$(git ls-tree -r --name-only HEAD | grep -c ^lib)" = 1; test ! -e lib/planted.txt; grep beside beside.txt; grep lib lib/lib.txt; clean`},
		{name: "submodule that is not checked out",
			before: `
mkdir ../lib; git -C ../lib init -q -b main; echo lib >../lib/lib.txt; git -C ../lib add -A; git -C ../lib commit -qm lib
git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qam 'add lib'; git submodule --quiet deinit -f lib; rm -rf .git/modules; git rev-parse HEAD:lib >../gitlink`,
			agent: `echo beside >beside.txt; rm -rf lib; git init -q lib; echo own >lib/own.txt` + claims,
			after: `test "$(git rev-parse HEAD:lib)" = "$(cat ../gitlink)"; grep beside beside.txt; test -z "$(ls -A lib)"; clean`},

		// git-lfs itself is these two commands and a store.
		{name: "large file pointers",
			before: `
mkdir ../bin ../store
cat >../bin/clean <<'END'
#!/bin/sh
cat >"$0.$$"; id=$(sha256sum <"$0.$$" | cut -c1-64); mv "$0.$$" "${0%/bin/clean}/store/$id"; printf 'version fake\noid %s\n' $id
END
cat >../bin/smudge <<'END'
#!/bin/sh
id=$(sed -n 's/^oid //p'); cat "${0%/bin/smudge}/store/$id"
END
chmod +x ../bin/*; bin=$(cd ../bin; pwd)
git config filter.fake.clean "$bin/clean"; git config filter.fake.smudge "$bin/smudge"; git config filter.fake.required true
echo '*.bin filter=fake -text' >.gitattributes; echo one >old.bin; git add -A; git commit -qm large; git cat-file -p HEAD:old.bin | grep 'oid '`,
			agent:  `grep one old.bin; echo two >>old.bin; echo new >new.bin` + claims,
			verify: `grep two old.bin && grep new new.bin`,
			after:  `git cat-file -p HEAD:new.bin | grep 'oid '; git cat-file -p HEAD:old.bin | grep 'oid '; grep new new.bin; grep two old.bin; clean`},
		{name: "pointers without their filter",
			before: `echo '*.bin filter=absent -text' >.gitattributes; printf 'version fake\noid 1\n' >old.bin; git add -A; git commit -qm pointer`,
			agent:  `grep 'oid 1' old.bin; echo beside >beside.txt` + claims,
			after:  `git cat-file -p HEAD:old.bin | grep 'oid 1'; clean`},

		{name: "sparse checkout",
			before: `mkdir src docs; echo s >src/s; echo d >docs/d; git add -A; git commit -qm folders; git sparse-checkout set --cone src .forge; test ! -e docs`,
			agent:  `grep d docs/d; echo more >>docs/d; echo new >docs/new; echo more >>src/s` + claims,
			after:  `git show HEAD:docs/d | grep more; git show HEAD:docs/new | grep new; grep more src/s; test ! -e docs; clean`},
		{name: "sparse index",
			before: `mkdir src docs; echo s >src/s; echo d >docs/d; git add -A; git commit -qm folders; git sparse-checkout set --cone --sparse-index src .forge`,
			agent:  `rm docs/d; echo new >docs/new; echo more >>src/s` + claims,
			after:  `test "$(git ls-tree -r --name-only HEAD docs)" = docs/new; grep more src/s; test ! -e docs; clean`},

		{name: "linked worktree", dir: "linked",
			before: `git worktree add -q -b side ../linked`,
			agent:  `echo new >new.txt` + claims,
			after:  `test ! -e new.txt; clean; cd ../linked; grep new new.txt; clean; test "$(git symbolic-ref HEAD)" = refs/heads/side; test "$(git rev-parse side~1)" = "$(git rev-parse main)"`},
		{name: "branch in two worktrees", why: "checked out in another worktree",
			before: `git worktree add -q --force ../linked main`,
			agent:  `echo new >new.txt` + claims,
			after:  `test ! -e new.txt; test ! -e ../linked/new.txt; clean; git -C ../linked status --porcelain; git show "$FORGE_BRANCH:new.txt"`},
		{name: "shallow clone", dir: "shallow", why: "shallow clone",
			before: `git commit -q --allow-empty -m second; git clone -q --depth 1 "file://$PWD" ../shallow`,
			agent:  `echo new >new.txt; test "$(git log --format=%s | wc -l)" -ge 1` + claims,
			after:  `cd ../shallow; test ! -e new.txt; git show "$FORGE_BRANCH:new.txt"; git fsck --connectivity-only; test "$(git rev-parse --is-shallow-repository)" = true; clean; git merge -q --ff-only "$FORGE_BRANCH"; clean`},

		{name: "repositories made by the agent",
			agent: `
git init -q own; echo o >own/o.txt; git -C own add -A; git -C own -c user.name=x -c user.email=x@example.invalid commit -qm x
mkdir -p deep/er; git init -q deep/er/empty; git init -q --bare bare.git; echo d >deep/er/d.txt` + claims,
			verify: `grep o own/o.txt`,
			after:  `test "$(mode HEAD own/o.txt)" = 100644; test -z "$(git ls-tree -r HEAD | grep ^160000)"; test ! -e own/.git; grep d deep/er/d.txt; clean`},
		{name: "ignored files",
			before: `echo 'build/' >.gitignore; echo '*.tmp' >>.git/info/exclude; git add -A; git commit -qm ignore; mkdir build; echo mine >build/cache`,
			agent:  `test ! -e build; mkdir -p build; echo its >build/cache; echo x >x.tmp; echo new >new.txt` + claims,
			verify: `test ! -e build && test ! -e x.tmp && grep new new.txt`,
			after:  `grep mine build/cache; test ! -e x.tmp; test -z "$(git ls-tree -r --name-only HEAD build x.tmp)"; clean`},
		{name: "ignored file of the user's in the way", why: "untracked file secret.env is in the way",
			before: `echo secret.env >.gitignore; git add -A; git commit -qm ignore; echo mine >secret.env`,
			agent:  `rm .gitignore; echo its >secret.env` + claims,
			after:  `grep mine secret.env; git show "$FORGE_BRANCH:secret.env" | grep its`},

		{name: "links",
			before: `mkdir dir ../outside; echo f >dir/f; echo theirs >../outside/f; ln -s dir/f old; git add -A; git commit -qm links`,
			agent: `
ln -s start.txt inside; ln -s ../../../../../outside out; ln -s /nonexistent/file dangling; ln -s loop loop
rm -rf dir; ln -s ../../../../../outside dir; ln -sfn start.txt old; ln -s .git/config config` + claims,
			verify: `test -L inside && test -L dangling && grep here inside`,
			after: `
for l in inside out dangling loop dir old config; do test "$(mode HEAD $l)" = 120000; test -L $l; done
test "$(cat ../outside/f)" = theirs; test "$(git ls-tree -r --name-only HEAD dir)" = dir; test "$(readlink old)" = start.txt; clean`},
		{name: "a link becomes a folder",
			before: `mkdir ../outside; echo theirs >../outside/f; ln -s ../outside d; git add -A; git commit -qm link`,
			agent:  `rm d; mkdir d; echo its >d/f` + claims,
			after:  `test ! -L d; grep its d/f; grep theirs ../outside/f; clean`},

		{name: "executable bits alone",
			before: `echo 'exit 0' >tool; echo 'exit 0' >plain; chmod +x plain; git add -A; git commit -qm tools`,
			agent:  `chmod +x tool; chmod -x plain` + claims,
			verify: `test -x tool && test ! -x plain`,
			after:  `test "$(mode HEAD tool)" = 100755; test "$(mode HEAD plain)" = 100644; test -x tool; test ! -x plain; clean`},
		{name: "core.filemode off",
			before: `git config core.filemode false; echo 'exit 0' >tool; git add -A; git commit -qm tool; chmod +x tool`,
			agent:  `chmod +x tool; echo new >new.txt` + claims,
			after:  `test "$(mode HEAD tool)" = 100644; clean`},

		{name: "core.autocrlf",
			before: `echo '*.sh eol=lf' >.gitattributes; git add -A; git commit -qm eol; git config core.autocrlf true; rm -f start.txt; git checkout -q start.txt; grep -q "$(printf 'here\r')" start.txt`,
			agent:  `grep -q "$(printf 'here\r')" start.txt; printf 'a\r\nb\r\n' >crlf.txt; printf 'a\nb\n' >lf.txt; printf 'more\r\n' >>start.txt` + claims,
			verify: `grep -q "$(printf 'here\r')" start.txt`,
			after:  `for f in crlf.txt lf.txt start.txt; do test -z "$(git cat-file -p HEAD:$f | tr -dc '\r')"; grep -q "$(printf '\r')" $f; done; clean`},
		{name: "eol by attributes",
			before: `git config core.eol lf; printf '* text=auto\n*.bat text eol=crlf\n*.raw -text\n' >.gitattributes; printf 'x\r\n' >x.bat; git add -A; git commit -qm eol`,
			agent:  `printf 'y\r\n' >>x.bat; printf 'r\r\n' >r.raw; printf 't\r\n' >t.txt` + claims,
			after:  `test "$(git cat-file -p HEAD:x.bat | tr -dc '\r')" = ""; git cat-file -p HEAD:r.raw | grep -q "$(printf '\r')"; test -z "$(git cat-file -p HEAD:t.txt | tr -dc '\r')"; grep -q "$(printf 'y\r')" x.bat; clean`},

		{name: "odd names",
			before: `printf base >'to be changed
here'; printf base >"$(printf 'old\377')"; git add -A; git commit -qm odd`,
			agent: `
echo 1 >'a b'; echo 2 >'new
line'; echo 3 >"$(printf 'latin\351')"; echo 4 >'"quoted" \back'; echo 5 >-n; echo 6 >':(top)colon'; echo 7 >'*'; echo 8 >' '; echo 9 >"$(printf 'tab\there')"
mkdir "$(printf 'dir\376')"; echo 10 >"$(printf 'dir\376/f')"; echo 11 >'#hash'; echo 12 >'!not'; echo more >>'to be changed
here'; rm "$(printf 'old\377')"` + claims,
			verify: `test "$(ls | wc -l)" -ge 14 && test -e "$(printf 'dir\376/f')"`,
			after: `
test "$(cat 'a b')" = 1; test "$(cat 'new
line')" = 2; test "$(cat "$(printf 'latin\351')")" = 3; test "$(cat ./-n)" = 5; test "$(cat ':(top)colon')" = 6; test "$(cat '*')" = 7; test "$(cat "$(printf 'dir\376/f')")" = 10
test ! -e "$(printf 'old\377')"; grep more 'to be changed
here'; test "$(git ls-tree -r -z --name-only HEAD | tr '\0\n' '\n_' | LC_ALL=C grep -a -c .)" = 18; clean`},
		{name: "a test of an odd name is changed", fails: "evidence_changed",
			before: `printf 'test ! -e bad\n' >"$(printf 'a\nb \351_test.sh')"; git add -A; git commit -qm odd`,
			agent:  `echo 'exit 0' >"$(printf 'a\nb \351_test.sh')"; echo x >bad` + claims,
			verify: `sh ./a*_test.sh`, after: `test ! -e bad; clean`},
		{name: "case-only rename",
			before: `echo r >Readme.md; mkdir Dir; echo d >Dir/d; git add -A; git commit -qm case`,
			agent:  `mv Readme.md README.md; mv Dir dir` + claims,
			verify: `test -e README.md && test ! -e Readme.md && test -e dir/d`,
			after:  `test "$(git ls-tree -r --name-only HEAD README.md Readme.md dir Dir | tr '\n' ' ')" = 'README.md dir/d '; test ! -e Readme.md; test ! -e Dir; clean`},
		{name: "names that differ in case alone",
			before: `echo r >Readme.md; git add -A; git commit -qm case`,
			agent:  `echo other >README.md` + claims,
			verify: `grep r Readme.md && grep other README.md`,
			after:  `grep r Readme.md; grep other README.md; clean`},
		{name: "a file becomes a folder and the other way round",
			before: `echo f >f; mkdir d; echo x >d/x; git add -A; git commit -qm shapes`,
			agent:  `rm f; mkdir f; echo in >f/in; rm -r d; echo file >d` + claims,
			after:  `grep in f/in; grep file d; clean`},
		{name: "files that git hides",
			before: `echo a >assumed; echo s >skipped; git add -A; git commit -qm hidden; git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped; echo mine >skipped`,
			agent:  `echo new >new.txt; grep s skipped; git update-index --assume-unchanged assumed; echo its >>assumed` + claims,
			after:  `git show HEAD:assumed | grep its; grep mine skipped`},
	}
}

func TestGitCorners(t *testing.T) {
	pace.Sequential(t, processesAlone)
	for _, c := range corners() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.turn(t)
		})
	}
}

func newCorner(t *testing.T, agent, verify string) *checkout {
	t.Helper()
	return newCheckout(t, "off", map[string]string{
		".forge/forge.toml": cornerConfig, ".forge/phases.json": cornerPlan, "start.txt": "here\n",
		"agent.sh": cornerShell + agent, "check.sh": verify + "\n",
	})
}

// sh runs a script that has to succeed in the user's repository.
func (c *checkout) sh(script string, env ...string) string {
	c.t.Helper()
	c.write("script", cornerShell+cornerWords+script+"\n")
	cmd := c.command("sh", c.at("script"))
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func (c corner) turn(t *testing.T) {
	verify := c.verify
	if verify == "" {
		verify = "true"
	}
	k := newCorner(t, c.agent, verify)
	k.sh(c.before)
	if c.dir != "" {
		k.dir = c.dir
	}
	stdout, stderr, code := k.quick("run", "--autonomous")
	k.dir = ""
	told := func() string { logs, _, _ := k.quick("logs", "01"); return stdout + stderr + logs }
	if c.fails != "" {
		if code != 1 || !strings.Contains(stdout, c.fails) {
			t.Fatalf("exit code %d\n%s", code, told())
		}
		k.sh(c.after)
		return
	}
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, told())
	}
	if merged := strings.Contains(stdout, "\nUndo: "); merged != (c.why == "") || !strings.Contains(stdout, c.why) {
		t.Errorf("not as it should be: %s", told())
	}
	k.sh(c.after, "FORGE_BRANCH="+resultOf(t, stdout))
	k.must("git", "fsck", "--strict", "--no-dangling")
}

// resultOf is the branch that a run named as its result.
func resultOf(t *testing.T, stdout string) string {
	t.Helper()
	_, rest, ok := strings.Cut(stdout, "\nResult: ")
	if !ok {
		t.Fatalf("no result is named:\n%s", stdout)
	}
	return strings.TrimSuffix(strings.Fields(rest)[0], ",")
}
