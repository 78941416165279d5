package e2e

import (
	"strings"
	"testing"

	"forge/internal/pace"
)

// batchPlan is phases side by side, of which the others come to their turn while the
// second one to land is held in its verify. The last of them does not go together
// with another.
const batchPlan = `{"phases":[
 {"number":"01","name":"one","promise":"DONE 1"},
 {"number":"02","name":"two","promise":"DONE 2"},
 {"number":"03","name":"three","promise":"DONE 3"},
 {"number":"04","name":"four","promise":"DONE 4"},
 {"number":"05","name":"five","promise":"DONE 5"},
 {"number":"06","name":"six","promise":"DONE 6"}
]}`

// batchConfig is that of the other kills, with phases side by side.
var batchConfig = strings.NewReplacer("max_parallel = 1", "max_parallel = 6", "test -f a.txt", "sh verify.sh").Replace(killConfig)

// batchVerify marks what is proven, and holds a tree of two until all are.
const batchVerify = `
have=0
for f in 1 2 3 4 5 6; do if [ -f $f.txt ]; then have=$((have+1)); touch ../../$f.proven; fi; done
if [ $have = 2 ]; then
  n=0
  until [ "$(ls ../../*.proven | wc -l)" = 6 ] || [ $n -gt 1200 ]; do sleep 0.05; n=$((n+1)); done
  sleep 1
fi
[ -f mended.txt ] || ! [ -f 3.txt ] || ! [ -f 6.txt ]
`

const batchScript = `
[[step]]
phase = "01"
do = [{ write = "1.txt", content = "1\n" }, { print = "<promise>DONE 1</promise>" }]
[[step]]
phase = "02"
do = [{ write = "2.txt", content = "2\n" }, { run = "sh wait.sh 1" }, { print = "<promise>DONE 2</promise>" }]
[[step]]
phase = "03"
do = [{ write = "3.txt", content = "3\n" }, { run = "sh wait.sh 2" }, { print = "<promise>DONE 3</promise>" }]
[[step]]
phase = "04"
do = [{ write = "4.txt", content = "4\n" }, { run = "sh wait.sh 3" }, { print = "<promise>DONE 4</promise>" }]
[[step]]
phase = "05"
do = [{ write = "5.txt", content = "5\n" }, { run = "sh wait.sh 4" }, { print = "<promise>DONE 5</promise>" }]
[[step]]
phase = "06"
iteration = 2
do = [{ write = "mended.txt", content = "6\n" }, { print = "<promise>DONE 6</promise>" }]
[[step]]
phase = "06"
do = [{ write = "6.txt", content = "6\n" }, { run = "sh wait.sh 5" }, { print = "<promise>DONE 6</promise>" }]
`

const batchWait = `
n=0
until ls ../../../../repo.git/refs/forge/runs/$FORGE_RUN/head >/dev/null 2>&1 && [ -f ../../$1.proven ] || [ $n -gt 1200 ]; do sleep 0.05; n=$((n+1)); done
`

func newBatch(t *testing.T) *checkout {
	t.Helper()
	return newCheckout(t, "off", map[string]string{
		".forge/forge.toml": batchConfig, ".forge/phases.json": batchPlan, "script.toml": batchScript, "verify.sh": batchVerify, "wait.sh": batchWait,
	})
}

// Killed at any step of a batch, a run goes on from there: to the same tree, with
// each phase done as often as without the kill.
func TestKillInABatch(t *testing.T) {
	pace.Slow(t, "each kill is followed by a whole run")
	pace.Sequential(t, processesAlone)
	whole := newBatch(t)
	whole.stream(0, "run", "--autonomous")
	want := whole.outcome()
	if !strings.HasPrefix(want, "completed ") || !strings.Contains(want, "mended.txt") {
		t.Fatalf("the undisturbed run ended\n%s", want)
	}
	holds := func(e event, part string) bool { return strings.Contains(string(e.Data), part) }
	landed := func(n int) func(event) bool {
		return func(e event) bool {
			if e.Kind == "land.started" {
				n--
			}
			return n <= 0
		}
	}
	for name, is := range map[string]func(event) bool{
		"train.started":     func(e event) bool { return e.Kind == "train.started" },
		"train.finished":    func(e event) bool { return e.Kind == "train.finished" },
		"the whole is red":  func(e event) bool { return e.Kind == "verify.finished" && e.Phase == "06" && holds(e, `"merged"`) },
		"train.decided":     func(e event) bool { return e.Kind == "train.decided" },
		"a member is asked": func(e event) bool { return e.Kind == "verify.finished" && holds(e, `"rides"`) },
		"the batch lands":   landed(3),
		"the red one":       func(e event) bool { return e.Kind == "gate.decided" && holds(e, `"decision":"red"`) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newBatch(t)
			got, died, _ := c.streamTo(is, "run", "--autonomous")
			if !died {
				t.Fatalf("no event of %d is it", len(got))
			}
			more, _, code := c.stream(0, "resume")
			if code != 0 {
				t.Fatalf("resume: exit code %d", code)
			}
			onceEach(t, append(got, more...))
			if now := c.outcome(); now != want {
				t.Errorf("after a kill the run ended\n%s\nwithout one it ends\n%s", now, want)
			}
			if n := strings.Count(c.must("git", "log", "--format=%s"), "\n"); n != len(strings.Split("base 1 2 3 4 5 6", " ")) {
				t.Errorf("%d commits, want one for each phase:\n%s", n, c.must("git", "log", "--format=%s"))
			}
		})
	}
}
