package e2e

import (
	"strings"
	"testing"

	"forge/internal/pace"
)

// meanwhile is what a user does to the repository while a run waits for an
// answer: one phase is merged into the run branch, the other is not begun.
type meanwhile struct {
	name    string
	before  string // sh in the user's repository before the run
	does    string // sh in the user's repository while the run is frozen
	why     string // why the checked-out branch is not moved in the end; "" = it is
	refused string // what forge resume refuses with; "" = it goes on
	mends   string // sh in the user's repository after that, so that the run goes on; "" = it is left
	after   string // sh in the user's repository after the end
}

const meanwhileConfig = `
[agent]
use = "dry"
[agents.dry]
kind = "script"
file = "script.toml"
[defaults]
auto_approve_threshold = 0
[verify]
commands = ["test -f start.txt"]
[proof]
product = ["**"] # of a repository without a language, nobody knows which files are
`

const meanwhilePlan = `{"phases":[
 {"number":"01","name":"first","promise":"FIRST DONE"},
 {"number":"02","name":"second","promise":"SECOND DONE","depends_on":["01"],"verify":["test -f one.txt", "test -f two.txt"]}
]}`

const meanwhileScript = `
[[step]]
phase = "01"
do = [ { write = "one.txt", content = "the first file\n" }, { print = "<promise>FIRST DONE</promise>" } ]
[[step]]
phase = "02"
do = [ { write = "two.txt", content = "the second file\n" }, { print = "<promise>SECOND DONE</promise>" } ]
`

const prune = "\ngit reflog expire --expire=now --all; git gc -q --prune=now\n"

// whole holds that the result is all there, where the user's own git sees it.
const whole = `
git show "$FORGE_BRANCH:one.txt" | grep 'first file'; git show "$FORGE_BRANCH:two.txt" | grep 'second file'; git show "$FORGE_BRANCH:start.txt" | grep here
test -z "$(git for-each-ref refs/forge)"; git fsck --strict --no-dangling
`

func meanwhiles() []meanwhile {
	return []meanwhile{
		{name: "collects garbage", does: prune, after: whole + prune + whole + `test -f two.txt; clean`},
		{name: "packs references", does: `git pack-refs --all --prune; git repack -adq`, after: whole + `test -f two.txt`},
		{name: "rewrites the base and collects garbage", why: "branch main has moved since the run started",
			does:  `git commit -q --amend -m 'another start'` + prune,
			after: whole + `test ! -e one.txt; test "$(git log -1 --format=%s main)" = 'another start'; clean`},
		{name: "goes on", why: "branch main has moved since the run started",
			does:  `echo mine >mine.txt; git add mine.txt; git commit -qm mine`,
			after: whole + `test ! -e one.txt; git merge -q -m both "$FORGE_BRANCH"; test -f mine.txt; test -f two.txt; clean`},
		{name: "goes back", why: "branch main has moved since the run started",
			before: `echo later >later.txt; git add -A; git commit -qm later`,
			does:   `git reset -q --hard HEAD~1` + prune,
			after:  `git show "$FORGE_BRANCH:later.txt"` + whole + `test ! -e one.txt; clean; git merge -q --ff-only "$FORGE_BRANCH"; test -f later.txt`},
		{name: "deletes the branch", why: "branch main is not checked out any more",
			does:  `git checkout -q -b other; git branch -q -D main` + prune,
			after: whole + `test ! -e one.txt; test -z "$(git for-each-ref refs/heads/main)"; clean`},
		{name: "deletes the checked-out branch", why: "branch main is not checked out any more",
			does: `git update-ref -d refs/heads/main`, refused: "the checked-out branch main has no commit; check out a branch that has one", mends: `git switch -q other`,
			before: `git branch other`,
			after:  whole + `test ! -e one.txt; test -z "$(git for-each-ref refs/heads/main)"`},
		{name: "begins an empty history", why: "branch main is not checked out any more",
			does: `git checkout -q --orphan fresh`, refused: "the checked-out branch fresh has no commit", mends: `git commit -qm fresh`,
			after: whole + `test ! -e one.txt; test "$(git log --format=%s)" = fresh; test "$(git log --format=%s main)" = start`},
		{name: "detaches HEAD", why: "branch main is not checked out any more", does: `git checkout -q --detach`,
			after: whole + `test ! -e one.txt; test "$(git log --format=%s main)" = start`},
		{name: "is in the middle of a merge", refused: "a merge is in progress in the repository", mends: `git merge --abort`,
			before: `git checkout -q -b other; echo other >start.txt; git commit -qam other; git checkout -q main; echo here >>start.txt; git commit -qam mine`,
			does:   `git merge -q other >/dev/null || true; test -f .git/MERGE_HEAD`,
			after:  whole + `test -f two.txt; clean`},
		{name: "prunes an object that the work relies on",
			before: `echo 'the first file' | git hash-object -w --stdin`, does: prune,
			refused: "objects that the run is made of are missing: object ", mends: `echo 'the first file' | git hash-object -w --stdin`,
			after: whole + `test -f one.txt; clean`},
		{name: "prunes what the run began from", does: `git for-each-ref --format='delete %(refname)' refs/forge/keep | git update-ref --stdin; git commit -q --amend -m other` + prune,
			refused: "objects that the run is made of are missing: commit ", after: `test ! -e one.txt; clean`},
	}
}

func TestUserWorksMeanwhile(t *testing.T) {
	pace.Slow(t, "a run with three stops")
	for _, m := range meanwhiles() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.happen(t)
		})
	}
}

func (m meanwhile) happen(t *testing.T) {
	k := newCheckout(t, "off", map[string]string{
		".forge/forge.toml": meanwhileConfig, ".forge/phases.json": meanwhilePlan, "script.toml": meanwhileScript, "start.txt": "here\n",
	})
	k.sh(m.before)
	stdout, stderr, code := k.quick("run")
	if code != 3 {
		t.Fatalf("forge run: exit code %d\n%s%s", code, stdout, stderr)
	}
	run := strings.TrimSuffix(strings.Fields(stdout)[1], ":")
	if stdout, stderr, code = k.quick("approve", run+".1", "--resume"); code != 3 {
		t.Fatalf("forge approve: exit code %d\n%s%s", code, stdout, stderr)
	}
	k.sh(m.does)
	stdout, stderr, code = k.quick("approve", run+".2", "--resume")
	if m.refused != "" {
		if code != 2 || !strings.Contains(stderr, m.refused) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if m.mends == "" {
			k.sh(m.after)
			return
		}
		k.sh(m.mends)
		stdout, stderr, code = k.quick("resume")
		// What could be known to stand in the way was said before the answer was taken.
		if o, e, c := k.quick("approve", run+".2", "--resume"); c != 2 {
			stdout, stderr, code = o, e, c
		}
	}
	if code != 3 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = k.quick("approve", run+".3", "--resume")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if merged := strings.Contains(stdout, "\nUndo: "); merged != (m.why == "") || !strings.Contains(stdout, m.why) {
		t.Errorf("not as it should be:\n%s%s", stdout, stderr)
	}
	k.sh(m.after, "FORGE_BRANCH="+resultOf(t, stdout))
}
