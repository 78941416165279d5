package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/narrate"
	"forge/internal/work"
)

// twice is a script whose phase 01 makes a false promise first: its first
// iteration leaves a file that verify does not want, the second removes it.
const twice = `[[step]]
phase = "01"
iteration = 1
do = [{write = "a.txt", content = "one\n"}, {write = "bad.txt", content = "x\n"}, {print = "<promise>PHASE 01 DONE</promise>"}, {usage = {input_tokens = 5, output_tokens = 6, cost_usd = 0.25}}]
[[step]]
phase = "01"
iteration = 2
do = [{write = "a.txt", content = "one\ntwo\n"}, {delete = "bad.txt"}, {stderr = "grey \u001b[2J"}, {print = "<promise>PHASE 01 DONE</promise>"}]
`

func TestShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twice, "test ! -e bad.txt")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--yes").want(exitFrozen)
	w.forge("show", ".1").want(exitDone).says(
		`Land the result`, "status", "pending", "final, ckpt.final_output", "revision", "Facts:", "2 iterations",
		"verify on its product with the evidence that a person last accepted: passed (test ! -e bad.txt)", "phase 01: verified", "A a.txt", "+two", "forge request-changes", "-m TEXT")
	if got := w.forge("show", ".1", "--stat").want(exitDone).says("A a.txt"); strings.Contains(got.stdout, "+two") {
		t.Error("--stat shows the changes")
	}
	got := map[string]any{}
	w.forge("show", ".1", "--output", "json").want(exitDone).json(&got)
	for _, k := range []string{"id", "run", "kind", "points", "revision", "hash", "question", "facts", "policy", "status", "opened_at", "level", "from", "judged", "files", "diff", "evidence"} {
		if _, ok := got[k]; !ok {
			t.Errorf("key %q is missing", k)
		}
	}
	if got["from"] != w.git("rev-parse", "HEAD") || !strings.Contains(got["diff"].(string), "+two") {
		t.Errorf("from %v, diff %v", got["from"], got["diff"])
	}
	// What was judged stays what is shown, whatever happens afterwards.
	w.forge("approve", ".1", "--resume").want(exitDone)
	again := map[string]any{}
	w.forge("show", ".1", "--output", "json").want(exitDone).json(&again)
	if again["judged"] != got["judged"] || again["from"] != got["from"] || again["status"] != "approved" {
		t.Errorf("after the answer: %v", again)
	}
	w.forge("show", ".1").want(exitDone).says("approved by tester (cli)")
}

func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twice+done("02"), "test ! -e bad.txt")
	w.plan(phase("01", "first", 3), phase("02", "second "+strings.Repeat("long ", 20), 3, "01"))
	w.forge("run").want(exitFrozen)
	w.forge("approve", ".1", "-m", "fine").want(exitDone)
	w.forge("resume").want(exitFrozen)
	w.forge("why", "--all").want(exitDone).says("claim → claimed", "(start_small_dependencies)", "facts   phase 02")
	got := w.forge("why").want(exitDone).says(
		"policy interactive (version ", "phase.start → ask", "answered: approved by tester (cli)", "comment fine", "by      tester",
		"iteration 1: ok, 2 files changed, $0.25", "ran     test ! -e bad.txt · FAILED, ", "verify on the work as it is: FAILED, ", "problem verify command failed",
		"merged as", "final → ask")
	order(t, got.stdout, "phase.start → ask", "answered: approved", "iteration 1:", "FAILED", "iteration 2:", "passed", "merged as")
	if strings.Contains(got.stdout, "claim → claimed") {
		t.Errorf("why tells what nobody decided:\n%s", got.stdout)
	}
	for _, line := range strings.Split(got.stdout, "\n") {
		if n := len([]rune(line)); n > narrate.TellWidth {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	if one := w.forge("why", "02", "--all").want(exitDone).stdout; strings.Contains(one, "iteration 2") || !strings.Contains(one, "(start_small_dependencies)") {
		t.Errorf("why 02:\n%s", one)
	}
	w.forge("why", "3").want(exitUsage).warns(`has no phase "3"`, "01, 02")

	var out struct {
		Run, State, Outcome, Level, Policy, Phase string
		Least                                     []struct {
			Checkpoint, Phase, Instead string
			Changes                    []struct{ Axis, To string }
			Beyond                     []string
		}
		Events []work.Event
	}
	w.forge("why", "01", "--output", "json").want(exitDone).json(&out)
	decided := 0
	for _, e := range out.Events {
		var d work.GateDecidedData
		if e.Phase != "01" {
			t.Errorf("event %d is of phase %q", e.Seq, e.Phase)
		}
		if e.Kind != work.GateDecided {
			continue
		}
		decided++
		if err := json.Unmarshal(e.Data, &d); err != nil || d.Gate == "" || d.Decision == "" || d.By == "" || d.Policy == "" && !strings.HasPrefix(d.By, "person:") {
			t.Errorf("decision %d does not explain itself: %+v, %v", e.Seq, d, err)
		}
	}
	if len(out.Least) != 1 || len(out.Least[0].Changes) != 1 || out.Least[0].Changes[0].Axis != `gates."phase.start"` || out.Least[0].Changes[0].To != "auto" {
		t.Errorf("the least change: %+v", out.Least)
	}
	if decided == 0 || out.Level != "interactive" || out.Phase != "01" {
		t.Errorf("%d decisions, %+v", decided, out)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twice+done("02"), "test ! -e bad.txt")
	w.plan(phase("01", "first", 3), phase("02", "second", 3))
	w.forge("run", "--autonomous").want(exitDone)
	for _, c := range []struct {
		args    []string
		has     []string
		without []string
	}{
		{[]string{"diff"}, []string{"a/a.txt", "+two", "out-02.txt"}, []string{"bad.txt"}},
		{[]string{"diff", "run"}, []string{"a/a.txt", "out-02.txt"}, nil},
		{[]string{"diff", "01"}, []string{"+one", "+two"}, []string{"out-02.txt", "bad.txt"}},
		{[]string{"diff", "02"}, []string{"out-02.txt"}, []string{"a.txt"}},
		{[]string{"diff", "01", "1"}, []string{"+one", "bad.txt"}, []string{"+two"}},
		{[]string{"diff", "01", "2"}, []string{"+two", "deleted file"}, []string{"+one"}},
		{[]string{"diff", "--stat", "01", "2"}, []string{"a.txt", "+1 -0", "bad.txt", "+0 -1", "2 files"}, []string{"@@"}},
	} {
		got := w.forge(c.args...).want(exitDone).says(c.has...)
		for _, text := range c.without {
			if strings.Contains(got.stdout, text) {
				t.Errorf("forge %v: shows %q:\n%s", c.args, text, got.stdout)
			}
		}
		if strings.Contains(got.stdout, "\x1b") {
			t.Errorf("forge %v: colours into a pipe", c.args)
		}
	}
	w.forge("diff", "01", "3").want(exitUsage).warns("the last one of phase 01 is 2")
	w.forge("diff", "01", "2", "--attempt", "2").want(exitUsage)
	w.forge("diff", "07").want(exitUsage).warns("01, 02")

	// A patch applies, so that it can be used.
	w.write(w.home+"/run.patch", w.forge("diff").stdout)
	w.git("checkout", "--quiet", "-b", "elsewhere", "HEAD~2")
	w.git("apply", w.home+"/run.patch")
	if !w.exists("out-02.txt") {
		t.Error("the patch of the run does not hold the second phase")
	}
}

// What a phase changed is what it added to the run, also when it had to be
// fitted to what others merged before it.
func TestDiffOfAResolvedConflict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, `[[step]]
phase = "01"
do = [{write = "shared.txt", content = "from one\n"}, {write = "one.txt", content = "1\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "02"
iteration = 1
do = [{run = "while [ ! -e `+dir+`/go ]; do sleep 0.02; done"}, {write = "shared.txt", content = "from two\n"}, {print = "<promise>PHASE 02 DONE</promise>"}]
[[step]]
phase = "02"
do = [{write = "shared.txt", content = "from both\n"}]
`)
	w.plan(phase("01", "first", 2), phase("02", "second", 2))
	run := w.begin("run", "--autonomous")
	w.eventually("the first phase is merged", func() bool { return strings.Contains(w.forge("why", "01").stdout, "merged as") })
	w.write(dir+"/go", "")
	run.wait().want(exitDone)
	got := w.forge("diff", "02").want(exitDone).says("-from one", "+from both")
	if strings.Contains(got.stdout, "one.txt") {
		t.Errorf("it shows what the first phase changed:\n%s", got.stdout)
	}
	if got := w.forge("diff", "02", "2").want(exitDone).says("+from both"); !strings.Contains(got.stdout, "-<<<<<<<") {
		t.Errorf("the iteration that resolved it began with markers:\n%s", got.stdout)
	}
	w.forge("why", "02").want(exitDone).says("conflicts with the run's head", "shared.txt", "merge → resolve")
}

func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twice+done("02"), "echo checked; test ! -e bad.txt")
	w.plan(phase("01", "first", 3), phase("02", "second", 3, "01"))
	w.forge("run", "--autonomous").want(exitDone)
	got := w.forge("logs").want(exitDone).says("==> phase 01, iteration 1, attempt 1, dry <==", `(2 other lines: grey \x1b[2J`, "-- ok, ", "5 tokens in, 6 out, $0.25", "PHASE 02 DONE")
	order(t, got.stdout, "phase 01, iteration 1", "phase 01, iteration 2", "phase 02, iteration 1")
	if one := w.forge("logs", "01", "--iteration", "2").want(exitDone).says("grey").stdout; strings.Contains(one, "==>") || strings.Contains(one, "0.25") {
		t.Errorf("logs 01 --iteration 2:\n%s", one)
	}
	w.forge("logs", "--raw").want(exitDone).says("grey \x1b[2J", `{"text":"\u003cpromise\u003ePHASE 02 DONE`)
	got = w.forge("logs", "--verify").want(exitDone).says("verify on the base", "phase 01, iteration 1, verify on the work as it is", "checked")
	order(t, got.stdout, "on the base", "phase 01, iteration 1", "phase 02, iteration 1")
	if one := w.forge("logs", "02", "--verify").want(exitDone).stdout; strings.Contains(one, "phase 01") {
		t.Errorf("logs 02 --verify:\n%s", one)
	}
	w.forge("logs", "01", "--iteration", "9").want(exitUsage)
	w.forge("logs", "9").want(exitUsage).warns("has no phase")
	w.forge("logs", "--verify", "--prompt").want(exitUsage)
	w.forge("logs", "01", "--iteration", "2", "--follow").want(exitDone).says("grey")

	path := one(t, filepath.Join(w.state, "runs", "*", "logs", "01-2-1.log"))
	w.write(strings.TrimSuffix(path, ".log")+".prompt", "do it\n")
	if got := w.forge("logs", "01", "--iteration", "2", "--prompt").want(exitDone); got.stdout != "do it\n" {
		t.Errorf("--prompt shows %q", got.stdout)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.forge("logs", "01", "--iteration", "2").want(exitDone).warns("not kept")
}

// logs --follow shows a running agent, goes on to the next, and ends with the
// run.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	step := func(n string) string {
		return "[[step]]\nphase = \"01\"\niteration = " + n + "\ndo = [{print = \"begins " + n + "\"}, {run = \"while [ ! -e " + dir + "/go-" + n + " ]; do sleep 0.02; done\"}, {print = \"ends " + n + "\"}]\n"
	}
	w := newWorld(t, step("1")+step("2")+step("3"))
	w.plan(phase("01", "first", 3))
	run := w.begin("run", "--autonomous")
	w.write(dir+"/go-1", "")
	w.eventually("the second iteration runs", func() bool { return strings.Contains(w.forge("logs", "01", "--iteration", "2").stdout, "begins 2") })
	follow := w.begin("logs", "--follow")
	w.eventually("it shows the running agent", func() bool { return strings.Contains(follow.stdout.String(), "begins 2") })
	w.write(dir+"/go-2", "")
	w.eventually("it goes on to the next", func() bool { return strings.Contains(follow.stdout.String(), "begins 3") })
	w.write(dir+"/go-3", "")
	got := follow.wait().want(exitDone).says("ends 3")
	order(t, got.stdout, "iteration 2,", "begins 2", "ends 2", "iteration 3,", "begins 3", "ends 3")
	if strings.Contains(got.stdout, "ends 1") {
		t.Errorf("it shows what was over:\n%s", got.stdout)
	}
	run.wait().want(exitFailed)
}

// Ctrl-C ends following and nothing else.
func TestFollowIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, "[[step]]\ndo = [{print = \"begins\"}, {run = \"while [ ! -e "+dir+"/go ]; do sleep 0.02; done\"}]\n")
	w.plan(phase("01", "first", 1))
	run := w.begin("run", "--autonomous")
	follow := func() *started { return w.begin("logs", "--follow") }
	w.eventually("the agent works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	f := follow()
	w.eventually("it shows the agent", func() bool { return strings.Contains(f.stdout.String(), "begins") })
	f.stop()
	f.wait().want(exitInterrupted)
	w.write(dir+"/go", "")
	run.wait().want(exitFailed)
}

// order checks that the texts stand in text one after another.
func order(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%q does not follow in its place:\n%s", p, text)
			return
		}
		rest = after
	}
}

// one is the only file that a pattern matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}
