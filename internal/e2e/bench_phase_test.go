package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// oneFunction is an agent that adds a function and its test, each time others.
const oneFunction = `n=$(date +%s%N)
cat >f$n.go <<END
package calc

// F$n adds.
func F$n(a, b int) int { return dep.Add(a, b) }
END
sed -i 's/^package calc$/package calc\n\nimport "example.com\/dep"/' f$n.go
cat >f${n}_test.go <<END
package calc

import "testing"

func TestF$n(t *testing.T) {
	if got := F$n(1, 2); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
END
echo "<promise>ALL DONE</promise>"
`

// goPhase is a Go module with one dependency, which it brings along, and a plan of
// one phase. Its tests take about as many seconds as are given.
func goPhase(seconds float64) map[string]string {
	files := plainPhase(1, oneFunction)
	files[".forge/forge.toml"] = strings.Replace(files[".forge/forge.toml"], "none = true", `commands = ["go test -count=1 ./..."]`, 1)
	files["go.mod"] = "module example.com/calc\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n"
	files["vendor/modules.txt"] = "# example.com/dep v1.0.0\n## explicit; go 1.24\nexample.com/dep\n"
	files["vendor/example.com/dep/dep.go"] = "// Package dep adds.\npackage dep\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n"
	files["calc.go"] = "package calc\n\nimport \"example.com/dep\"\n\n// Add adds.\nfunc Add(a, b int) int { return dep.Add(a, b) }\n"
	files["calc_test.go"] = fmt.Sprintf(`package calc

import (
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	time.Sleep(time.Duration(%g * float64(time.Second)))
	if got := Add(1, 2); got != 3 {
		t.Errorf("got %%d, want 3", got)
	}
}
`, seconds)
	return files
}

// BenchmarkGoPhase: a run of one phase of one iteration on a Go module with one
// dependency, whose caches an earlier run filled, beside its own tests in a warm
// checkout. Reported are medians: the whole run, its verifies, its controls. One
// module is tiny, the tests of the other take five seconds. "After others" works
// on a branch that holds what earlier runs brought and nobody accepted yet, whose
// tests are asked about as well.
//
//	go test ./internal/e2e -run '^$' -bench GoPhase -benchtime 5x
func BenchmarkGoPhase(b *testing.B) {
	if _, err := exec.LookPath("go"); err != nil {
		b.Skip(err)
	}
	for _, one := range []phaseBench{
		{name: "tiny", most: "(≤3)"}, {name: "tiny, after others", after: true},
		{name: "tests of 5 s", seconds: 5}, {name: "tests of 5 s, after others", seconds: 5, after: true},
	} {
		b.Run(one.name, func(b *testing.B) {
			inBenchmark(b, "BenchmarkGoPhase", func(t *testing.T) { one.measure(b, t) })
		})
	}
}

// phaseBench is one module, and where its phase begins.
type phaseBench struct {
	name    string
	seconds float64 // of its tests
	after   bool    // on what the runs before it brought; else on the same base again
	most    string  // what may be reported at most
}

func (p phaseBench) measure(b *testing.B, t *testing.T) {
	c := newCheckout(t, "auto", goPhase(p.seconds))
	t.Cleanup(func() { c.must("chmod", "-R", "u+w", c.root) }) // module caches are read-only
	const test = "go test -count=1 ./..."
	base := strings.TrimSpace(c.must("git", "rev-parse", "HEAD"))
	c.timed(0, "repo", "sh", "-c", test)
	first := c.timed(0, "", os.Args[0], "run", "--autonomous", "--quiet")

	var runs, floors, verifies, controls []float64
	for b.Loop() {
		if !p.after {
			c.must("git", "reset", "-q", "--hard", base)
		}
		floors = append(floors, c.timed(0, "repo", "sh", "-c", test).Seconds())
		began := time.Now()
		out, stderr, code := c.forge("run", "--autonomous", "--quiet", "--output", "json")
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		runs = append(runs, time.Since(began).Seconds())
		verify, control := spent(t, out)
		verifies, controls = append(verifies, verify), append(controls, control)
	}
	floor, run := middle(floors), middle(runs)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first.Seconds(), "s/first-run")
	b.ReportMetric(floor, "s/floor")
	b.ReportMetric(run, "s/run"+p.most)
	b.ReportMetric(run/floor, "run/floor")
	b.ReportMetric(middle(verifies)/floor, "verify/floor")
	b.ReportMetric(middle(controls)/floor, "controls/floor")
}

// spent is how many seconds the verifies and the controls of a run took.
func spent(t *testing.T, stream string) (verify, control float64) {
	t.Helper()
	for line := range strings.Lines(stream) {
		var e event
		var d struct {
			Millis int64 `json:"millis"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || json.Unmarshal(e.Data, &d) != nil {
			t.Fatalf("not an event: %s", line)
		}
		switch work.EventKind(e.Kind) {
		case work.VerifyFinished:
			verify += float64(d.Millis) / 1000
		case work.ControlFinished:
			control += float64(d.Millis) / 1000
		}
	}
	return verify, control
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
