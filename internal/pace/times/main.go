// Times reads what go test -json prints, says of each package how it went, and
// holds the time of each test against the budget: whoever takes longer says why.
// Beside others a test takes longer than it would by itself: where it counts (-strict),
// those over the budget are played again, each alone.
//
//	go test -json ./... | go run ./internal/pace/times [-strict] [-write docs/test-times.md]
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"forge/internal/pace"
)

// budget is how many seconds a test may take without a reason, on a machine
// that has nothing else to do.
const budget = 2.0

// tooCrowded is how many programs for each core leave nothing to be learned from
// a clock. Tests alone, run as make test does, make about six.
const tooCrowded = 8.0

func main() {
	write := flag.String("write", "", "write a table of the times into `FILE`")
	strict := flag.Bool("strict", false, "fail for a test that is slow without a reason: on a machine of one's own")
	flag.Parse()
	r := newReport()
	if err := r.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(2)
	}
	if *write != "" {
		if err := os.WriteFile(*write, []byte(r.table()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "times:", err)
			os.Exit(2)
		}
	}
	if left := r.left(); left > 0 {
		fmt.Printf("%d slow tests were left to make check\n", left)
	}
	if *strict {
		if err := r.again(alone()); err != nil {
			fmt.Fprintln(os.Stderr, "times:", err)
			os.Exit(2)
		}
	}
	failed, slow := r.problems()
	for _, p := range append(slow, failed...) {
		fmt.Fprintln(os.Stderr, p)
	}
	if r.crowd > tooCrowded && len(slow) > 0 && !*strict {
		fmt.Fprintf(os.Stderr, "times: %.0f programs wanted each core, so nobody is blamed for being slow\n", r.crowd)
		slow = nil
	}
	if len(failed) > 0 || *strict && len(slow) > 0 {
		os.Exit(1)
	}
}

// event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a package that is built
	Test       string
	Elapsed    float64
	Output     string
	Key, Value string // of an attribute
}

// test is one test or subtest; the name of a package's own is "".
type test struct {
	pkg, name string
	seconds   float64
	why       string // it may be slow
	alone     bool   // seconds are those by itself
	result    string
	output    strings.Builder
}

type report struct {
	tests map[string]*test
	built map[string]*strings.Builder // what the compiler said, by package
	// crowd is how many programs wanted each core at the worst moment, at least
	// 1: a test takes as many times longer than alone.
	crowd float64
}

func newReport() *report {
	return &report{tests: map[string]*test{}, built: map[string]*strings.Builder{}, crowd: 1}
}

// read takes in all events and prints a line for each package, with the output
// of tests that failed.
func (r *report) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // go says something of its own
			continue
		}
		r.take(e, out)
	}
	return lines.Err()
}

func (r *report) take(e event, out io.Writer) {
	if e.Action == "build-output" {
		fmt.Fprint(out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	id := e.Package + " " + e.Test
	t := r.tests[id]
	if t == nil {
		t = &test{pkg: e.Package, name: e.Test}
		r.tests[id] = t
	}
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
		// A script says it in a comment, which is printed as it is.
		if _, why, ok := strings.Cut(e.Output, "# slow: "); ok && e.Test != "" {
			t.why = strings.TrimSpace(why)
		}
	case "attr":
		if e.Key == pace.SlowAttr {
			t.why = e.Value
		}
	case "pass", "fail", "skip":
		t.result, t.seconds = e.Action, e.Elapsed
		if e.Action == "fail" || e.Test == "" {
			fmt.Fprint(out, t.said())
		}
		if e.Test == "" {
			r.crowd = max(r.crowd, crowded())
		}
	}
}

// said is the output of a test that failed, or the last line of a package.
func (t *test) said() string {
	text := t.output.String()
	if t.name == "" && t.result != "fail" {
		text = strings.TrimSuffix(text, "\n")
		text = text[strings.LastIndexByte(text, '\n')+1:] + "\n"
		if strings.TrimSpace(text) == "" || strings.Contains(text, "[no test files]") {
			return ""
		}
	}
	return text
}

// crowded is how many programs want each core just now.
func crowded() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 2 // as many tests of two packages are under way at once
	}
	word, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 2
	}
	return load / float64(runtime.NumCPU())
}

const wayOut = `make it faster, or say why it is slow with pace.Slow, in a script with "# slow: why"`

// problems are what failed, and who was slow without a reason.
func (r *report) problems() (failed, slow []string) {
	packages := 0
	for _, t := range r.sorted() {
		switch {
		case t.name == "":
			packages++
			if t.result != "pass" && t.result != "skip" {
				failed = append(failed, "failed: "+t.pkg)
			}
		case t.alone && t.seconds > budget:
			slow = append(slow, fmt.Sprintf("%s %s took %.1f s by itself, the budget of a test is %.0f s: %s", t.pkg, t.name, t.seconds, budget, wayOut))
		case !t.alone && t.seconds > budget*r.crowd && r.reason(t) == "":
			slow = append(slow, fmt.Sprintf("%s %s took %.1f s, the budget of a test is %.0f s (%.1f s while so much else runs here): %s", t.pkg, t.name, t.seconds, budget, budget*r.crowd, wayOut))
		}
	}
	if packages == 0 {
		failed = append(failed, "failed: no package was tested")
	}
	return failed, slow
}

// left is how many slow tests were skipped.
func (r *report) left() (n int) {
	for _, t := range r.tests {
		if t.result == "skip" && t.why != "" {
			n++
		}
	}
	return n
}

// reason is why a test or one that it is a part of may be slow.
func (r *report) reason(t *test) string {
	for name := t.name; ; {
		if above := r.tests[t.pkg+" "+name]; above != nil && above.why != "" {
			return above.why
		}
		n := strings.LastIndexByte(name, '/')
		if n < 0 {
			return ""
		}
		name = name[:n]
	}
}

func (r *report) sorted() []*test {
	return slices.SortedFunc(maps.Values(r.tests), func(a, b *test) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.pkg+a.name, b.pkg+b.name))
	})
}

// table is the times as Markdown: packages, then the slowest tests.
func (r *report) table() string {
	var packages, tests strings.Builder
	shown := 0
	for _, t := range r.sorted() {
		pkg := strings.TrimPrefix(t.pkg, "forge/")
		switch {
		case t.name == "" && t.seconds >= 1:
			fmt.Fprintf(&packages, "| `%s` | %.0f |\n", pkg, t.seconds)
		case t.name != "" && (t.seconds >= budget || r.reason(t) != "" && t.seconds >= 1) && shown < 60:
			shown++
			fmt.Fprintf(&tests, "| `%s` | `%s` | %.1f | %s |\n", pkg, t.name, t.seconds, r.reason(t))
		}
	}
	return fmt.Sprintf(`# Times of the tests

Written by %[1]smake times%[1]s. Seconds on the clock while %.1f programs wanted
each core; a test that waits for tests beside it does not count that. A test over %.0f s by itself says why.

| package | seconds |
|---|---|
%s
| package | test | seconds | why |
|---|---|---|---|
%s`, "`", r.crowd, budget, &packages, &tests)
}
