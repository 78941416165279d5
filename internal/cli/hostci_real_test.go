//go:build real

package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// TestRealGiteaChecks: Gitea's own CI on Forge's pull requests, whose jobs a runner
// carries out: red and then mended, flaky, red for good, made green by an edit of
// what CI runs, and never over.
func TestRealGiteaChecks(t *testing.T) {
	g := hosttest.StartCrowd(t, hosttest.WithActions)
	for name, test := range map[string]func(*ciWorld){
		"Mended": (*ciWorld).mended, "Flaky": (*ciWorld).flaky, "RedForGood": (*ciWorld).redForGood,
		"CIEdited": (*ciWorld).ciEdited, "NeverOver": (*ciWorld).neverOver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newCIWorld(t, g))
		})
	}
}

// ciWorld is a project with a workflow for Gitea's Actions, and one who carries
// its jobs out.
type ciWorld struct {
	*giteaWorld
	runner *hosttest.GiteaRunner
}

// ciCheck is the name of the check.
const ciCheck = "ci / unit (push)"

// ciFile is where the workflow stands.
const ciFile = ".gitea/workflows/ci.yml"

// ciSteps is a workflow of some commands.
func ciSteps(commands ...string) string {
	out := "name: ci\non:\n  push:\n    branches: ['forge/phases/**']\njobs:\n  unit:\n    runs-on: " + hosttest.RunnerLabel + "\n    steps:\n"
	for i, c := range commands {
		out += fmt.Sprintf("      - name: Step number %d\n        run: %q\n", i+1, c)
	}
	return out
}

// Phases with an agent that says what it does as rounds of one file.
const ciScript = `[[step]]
phase = "01"
iteration = 1
do = [{write = "out-01.txt", content = "one\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
iteration = 2
do = [{write = "out-01.txt", content = "two\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
do = [{write = "out-01.txt", content = "three\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
`

func newCIWorld(t *testing.T, g *hosttest.GiteaCrowd) *ciWorld {
	w := &ciWorld{giteaWorld: realPulls(t, g, ciScript).hosted(g.URL, "forge")}
	w.plan(phase("01", "first", 8))
	return w
}

// begins has a run wait with its first pull request, whose workflow has these
// commands; they see env.
func (w *ciWorld) begins(env []string, commands ...string) work.PullLook {
	w.t.Helper()
	w.runner = w.g.Runner(w.t, w.repo, env...)
	w.write(ciFile, ciSteps(commands...))
	w.git("add", ciFile)
	w.git("commit", "--quiet", "-m", "ci")
	w.forge("run").want(exitFrozen)
	look, _ := w.current()
	return look
}

// goesOn resumes, and says whether the head of the pull request moved.
func (w *ciWorld) goesOn(was work.PullLook, moves bool) work.PullLook {
	w.t.Helper()
	w.forge("resume").want(exitFrozen)
	is, _ := w.current()
	if is.Number != was.Number || (is.Head != was.Head) != moves {
		w.t.Fatalf("the head was %s of %d and is %s of %d", was.Head, was.Number, is.Head, is.Number)
	}
	return is
}

// green says how the job of a head has to end.
func (w *ciWorld) green(look work.PullLook, want bool) {
	w.t.Helper()
	if got := w.runner.Until(w.t, look.Head); got != want {
		w.t.Fatalf("the job of %s: green %v, want %v", look.Head, got, want)
	}
}

func (w *ciWorld) approved(look work.PullLook) {
	w.t.Helper()
	w.says("ann", look, work.PullApproved)
	w.forge("resume").want(exitDone)
	w.landed(look)
	w.sound()
}

// mended: the agent is told the job and the end of its log, as data, and what it
// does then is green. Which step failed Gitea 1.26 does not say: to its API all
// steps of a job ended as the job did.
func (w *ciWorld) mended() {
	first := w.begins(nil, "cat out-01.txt", `grep -q two out-01.txt || { echo out-01.txt is to say two; exit 3; }`, "echo never")
	w.green(first, false)
	second := w.goesOn(first, true)
	prompt := w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone)
	prompt.says("Checks of the code host fail on commit "+first.Head[:12], "Check "+ciCheck+" failed\n", "out-01.txt is to say two", "~~~data-")
	if strings.Contains(prompt.stdout, "echo never") {
		w.t.Error("the agent is told of a step that did not run")
	}
	w.forge("why", "01").want(exitDone).says("The host's checks asked for changes")
	w.green(second, true)
	w.approved(w.goesOn(second, false))
}

// flaky: red and then green on one commit is said once, and not worked on.
func (w *ciWorld) flaky() {
	first := w.begins([]string{"ONCE=" + w.t.TempDir() + "/once"}, `test -e $ONCE || { touch $ONCE; echo the network is away; exit 1; }`)
	w.green(first, false)
	w.runner.Again(w.t, first.Head)
	w.goesOn(first, false) // it runs: nobody is told anything
	w.green(first, true)
	for range 2 {
		w.goesOn(first, false)
	}
	look, _ := w.current()
	said := 0
	for _, c := range look.Comments {
		if c.Own && strings.Contains(c.Body, "Flaky: on the same commit") && strings.Contains(c.Body, ciCheck) {
			said++
		}
	}
	if said != 1 {
		w.t.Errorf("it was said %d times: %+v", said, look.Comments)
	}
	if n := w.eyes().count()[work.IterationFinished]; n != 1 {
		w.t.Errorf("%d iterations for what is flaky", n)
	}
	w.approved(look)
}

// redForGood: after as many tries as are allowed it is held with the reason, until
// a person pushes what mends it.
func (w *ciWorld) redForGood() {
	look := w.begins(nil, `test -e by-ann.txt || { echo by-ann.txt is missing; exit 1; }`)
	for range 2 {
		w.green(look, false)
		look = w.goesOn(look, true)
	}
	w.green(look, false)
	look = w.goesOn(look, false)
	_, id := w.current()
	w.forge("show", id).want(exitDone).says(ciCheck, "the agent tried to mend that 2 times, which host.ci_fixes allows")
	if n := w.eyes().count()[work.IterationFinished]; n != 3 {
		w.t.Errorf("%d iterations, with 2 of them for checks", n)
	}
	look.Head = w.push(look.Branch, map[string]string{"by-ann.txt": "ann\n"})
	w.green(look, true)
	w.forge("resume").want(exitFrozen)
	look, _ = w.current()
	w.approved(look)
}

// ciEdited: an agent that makes it green by an edit of what CI runs has its file
// named to who decides, green or not, and its result is proven without it.
func (w *ciWorld) ciEdited() {
	w.write(".forge/agent.toml", strings.Replace(ciScript, `{write = "out-01.txt", content = "two\n"}`, fmt.Sprintf("{write = %q, content = %q}", ciFile, ciSteps("true")), 1))
	first := w.begins(nil, "false")
	w.green(first, false)
	w.forge("resume").want(exitFrozen)
	second, id := w.current()
	w.green(second, true)
	w.goesOn(second, false)
	w.forge("show", id).want(exitDone).says("protected files it touched: "+ciFile, "put back   "+ciFile)
	if !strings.Contains(second.Body, ciFile) {
		w.t.Errorf("the pull request does not name it:\n%s", second.Body)
	}
}

// neverOver: checks that nobody carries out are said after a time, and nothing is
// made of them.
func (w *ciWorld) neverOver() {
	first := w.begins(nil, "true")
	is := w.goesOn(first, false)
	_, id := w.current()
	if said := w.forge("show", id).want(exitDone).stdout; strings.Contains(said, "have not ended") {
		w.t.Errorf("said at once:\n%s", said)
	}
	w.later(2*time.Hour, "resume").want(exitFrozen)
	w.forge("show", id).want(exitDone).says("the host's checks have not ended for more than 1h0m0s: " + ciCheck)
	w.green(is, true)
	w.approved(w.goesOn(is, false))
}
