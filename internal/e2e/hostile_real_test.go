//go:build real

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
)

// hostile is an agent that does what none should. Whatever it does, its phase
// ends in a truthful outcome, and neither the innocent phase beside it, the
// user's repository, nor Forge is harmed.
type hostile struct {
	name   string
	script string // sh; the prompt is on stdin
	want   string // how its phase ends
	limits string // "" = those that nobody is to reach
	// confined: only a sandbox can keep it from doing this.
	confined bool
	check    func(t *testing.T, c *checkout, evs []event)
}

const hostilePlan = `{"phases":[
 {"number":"01","name":"hostile","promise":"ALL DONE","budget":2},
 {"number":"02","name":"innocent","promise":"INNOCENT DONE","budget":2}
]}`

const hostileConfig = `
[agent]
use = "hostile"
[agents.hostile]
kind = "exec"
command = ["./hostile.sh"]
[verify]
commands = ["make -s test"]
[autonomy]
stale_iterations_before_pivot = 0
[limits]
drain_secs = 1
`

// Limits that nobody is to reach, however slow the machine is, and one of two
// that ends an agent that hangs.
const (
	hostilePatient = "start_secs = 300\nidle_secs = 300\niteration_secs = 600\n"
	hostileSilent  = "start_secs = 300\nidle_secs = 4\niteration_secs = 600\n"
	hostileLong    = hostilePatient + "[phases.overrides.\"hostile\"]\niteration_timeout_secs = 4\n"
)

const hostileHead = `#!/bin/sh
if [ "$FORGE_PHASE" = 02 ]; then echo fine > innocent.txt; echo "<promise>INNOCENT DONE</promise>"; exit 0; fi
`

const claimed = "\necho '<promise>ALL DONE</promise>'\n"

func hostiles() []hostile {
	return []hostile{
		{name: "does nothing", script: "exit 0\n", want: "failed budget_exhausted"},
		{name: "echoes the prompt", script: "cat\n", want: "failed budget_exhausted"},
		{name: "claims a lie", script: "echo bad > broken" + claimed, want: "failed budget_exhausted"},
		{name: "prints rubbish", script: `printf '\377\376\033]0;owned\007\033[2J<promise>ALL DONE\377</promise>'`, want: "failed budget_exhausted",
			check: func(t *testing.T, c *checkout, evs []event) {
				for _, e := range evs {
					if strings.ContainsRune(string(e.Data), 0x1b) {
						t.Errorf("event %d holds an escape character", e.Seq)
					}
				}
			}},
		{name: "floods", script: "yes flood | head -c 50000000\nhead -c 20000000 /dev/zero | tr '\\0' x\necho ok > out.txt\n" + claimed, want: "done"},
		{name: "leaks children into new sessions", script: "setsid sh -c 'sleep 97531 & sleep 97531' >/dev/null 2>&1 &\nsetsid sleep 97531 </dev/null >/dev/null 2>&1 &\necho ok > out.txt\n" + claimed, want: "done", check: noneLeft("97531")},
		{name: "holds stdout open", script: "setsid sleep 97532 &\necho ok > out.txt\n" + claimed, want: "done", check: noneLeft("97532")},
		{name: "ignores SIGTERM", limits: hostileLong, script: "trap '' TERM INT HUP\nwhile :; do sleep 1; done\n", want: "failed agent_hung"},
		{name: "is silent for ever", limits: hostileSilent, script: "exec sleep 97533\n", want: "failed agent_hung", check: noneLeft("97533")},
		{name: "takes git over", script: `
git config filter.own.clean "touch $HOME/../owned; cat"; git config core.fsmonitor "touch $HOME/../owned"
mkdir -p .git/hooks; printf '#!/bin/sh\ntouch $HOME/../owned\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*
cp .git/hooks/pre-commit .git/hooks/post-checkout; echo '* filter=own' > .gitattributes
echo ok > out.txt` + claimed, want: "done", check: func(t *testing.T, c *checkout, _ []event) { absent(t, c.at("owned")) }},
		{name: "commits and switches branches", script: "git checkout -qb other; echo ok > out.txt; git add -A; git -c user.name=x -c user.email=x@example.invalid commit -qm x; git checkout -q --detach HEAD~1; echo later > later.txt" + claimed, want: "done",
			check: func(t *testing.T, c *checkout, _ []event) {
				if log := c.must("git", "log", "--all", "--format=%s"); strings.Contains(log, "x\n") {
					t.Errorf("the agent's own commit shows in the user's repository:\n%s", log)
				}
			}},
		{name: "deletes .git", script: "rm -rf .git; echo ok > out.txt" + claimed, want: "done"},
		{name: "edits .forge", script: "echo '[verify]' > .forge/forge.toml; echo 'commands = [\"true\"]' >> .forge/forge.toml; rm -f .forge/phases.json; echo bad > broken" + claimed, want: "failed budget_exhausted",
			check: func(t *testing.T, c *checkout, evs []event) {
				if !strings.Contains(string(find(evs, "iteration.finished", "01").Data), ".forge/forge.toml") {
					t.Error("the dropped edits are not recorded")
				}
			}},
		{name: "edits the Makefile", script: "echo bad > broken; printf 'test:\\n\\ttrue\\n' > Makefile" + claimed, want: "failed evidence_changed"},
		{name: "edits the tests", script: "echo bad > broken; printf '#!/bin/sh\\nexit 0\\n' > check_test.sh" + claimed, want: "failed evidence_changed"},
		{name: "removes a test", script: "git rm -q --cached unit_test.go 2>/dev/null; rm -f unit_test.go; echo ok > out.txt" + claimed, want: "done"}, // and held, since its test is gone
		{name: "leaves ignored files that make tests pass", script: "echo bad > broken; mkdir -p build; echo pass > build/cached" + claimed, want: "failed budget_exhausted"},
		{name: "writes to the verify folder's neighbours", script: "echo bad > broken; for d in ../../verify/01 ../../verify ../../../..; do echo x > $d/owned 2>/dev/null; done" + claimed, want: "failed budget_exhausted"},
		{name: "answers for the user", script: "export FORGE_TEST_PLAY=1; $FORGE_BINARY approve x; $FORGE_BINARY run --new; $FORGE_BINARY reset --yes; echo ok > out.txt" + claimed, want: "done",
			check: func(t *testing.T, c *checkout, evs []event) {
				if find(evs, "checkpoint.answered", "").Seq != 0 {
					t.Error("the agent answered a checkpoint")
				}
			}},
		{name: "writes outside its folder", confined: true, script: "echo x > $HOSTILE_ROOT/repo/owned.txt; echo x > $HOSTILE_ROOT/home/owned; echo x >> $HOSTILE_ROOT/state/key; echo ok > out.txt" + claimed, want: "done",
			check: func(t *testing.T, c *checkout, _ []event) {
				absent(t, c.at("repo/owned.txt"))
				absent(t, c.at("home/owned"))
			}},
		{name: "reads the state folder", confined: true, script: "ls $HOSTILE_ROOT/state/journal.db >/dev/null 2>&1 && echo seen > out.txt\ncat $HOSTILE_ROOT/state/key > key.txt 2>/dev/null\necho ok >> out.txt" + claimed, want: "done",
			check: func(t *testing.T, c *checkout, _ []event) {
				if text := c.must("git", "show", "HEAD:out.txt"); strings.Contains(text, "seen") {
					t.Error("the agent sees the state folder")
				}
			}},
	}
}

func TestRealHostileAgents(t *testing.T) {
	pace.Slow(t, "limits have to run out")
	for _, mode := range []string{"off", "required"} {
		for _, h := range hostiles() {
			if h.confined && mode == "off" {
				continue
			}
			t.Run(mode+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				h.letLoose(t, mode)
			})
		}
	}
}

func (h hostile) letLoose(t *testing.T, mode string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := newCheckout(t, mode, map[string]string{
		".forge/forge.toml": hostileConfig + cmp.Or(h.limits, hostilePatient), ".forge/phases.json": hostilePlan, ".gitignore": "build/\n",
		"Makefile":       "test:\n\t@sh ./check_test.sh\n",
		"check_test.sh":  "#!/bin/sh\n[ -f build/cached ] && exit 0\n! [ -f broken ]\n",
		"unit_test.go":   "package x\n",
		"hostile.sh":     hostileHead + "HOSTILE_ROOT=$(cat hostile.root)\nFORGE_BINARY=$(cat hostile.binary)\n" + h.script,
		"hostile.binary": exe,
	})
	c.write("repo/hostile.root", c.root)
	c.must("git", "add", "-A")
	c.must("git", "commit", "-qm", "where")
	before := c.must("git", "for-each-ref") + c.must("git", "config", "--list", "--local")
	evs, died, code := c.stream(0, "run", "--autonomous", "--max-parallel", "1")
	if died || code < 0 {
		t.Fatalf("forge died: exit code %d", code)
	}
	if got := ended(evs, "01"); got != h.want {
		t.Errorf("the hostile phase ended %q, want %q\n%s", got, h.want, story(evs))
	}
	if got := ended(evs, "02"); got != "done" {
		t.Errorf("the innocent phase ended %q", got)
	}
	if strings.HasPrefix(h.want, "failed") {
		if after := c.must("git", "for-each-ref") + c.must("git", "config", "--list", "--local"); !sameBut(before, after) {
			t.Errorf("the user's repository changed:\n%s\nwas\n%s", after, before)
		}
	}
	if got := strings.TrimSpace(c.must("git", "symbolic-ref", "HEAD")); got != "refs/heads/main" {
		t.Errorf("HEAD is %s", got)
	}
	if h.check != nil {
		h.check(t, c, evs)
	}
}

// sameBut compares what for-each-ref and config print, but for Forge's result.
func sameBut(before, after string) bool {
	keep := func(text string) string {
		var out []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, "refs/heads/forge/") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	return keep(before) == keep(after)
}

func story(evs []event) string {
	var b strings.Builder
	for _, e := range evs {
		text := string(e.Data)
		if e.Kind == "run.started" {
			text = ""
		}
		fmt.Fprintf(&b, "%d %s %s %s\n", e.Seq, e.Kind, e.Phase, text)
	}
	return b.String()
}

// noneLeft finds no process with a word in its command line. What was killed
// may take a moment to be gone.
func noneLeft(word string) func(*testing.T, *checkout, []event) {
	return func(t *testing.T, c *checkout, _ []event) {
		t.Helper()
		if _, err := os.Stat("/proc/self/cmdline"); err != nil {
			t.Skip("there is no /proc")
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if running(word, c.root) == "" {
				return
			}
		}
		t.Errorf("left running: %s", running(word, c.root))
	}
}

// running is a process with word in its command line whose environment names
// the checkout: other tests run the same agents.
func running(word, root string) string {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		text, err := os.ReadFile(p)
		if err != nil || !strings.Contains(string(text), word) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		if err == nil && strings.Contains(string(env), root) {
			return strings.ReplaceAll(string(text), "\x00", " ")
		}
	}
	return ""
}
