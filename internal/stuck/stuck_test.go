package stuck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// phase writes the iterations of one phase for a test.
type phase struct{ all []Iteration }

func (p *phase) add(it Iteration) *phase {
	it.N = len(p.all) + 1
	if it.Tree == "" {
		it.Tree = "start"
		if n := len(p.all); n > 0 {
			it.Tree = p.all[n-1].Tree
		}
	}
	p.all = append(p.all, it)
	return p
}

// work is a change that was never made before, after which these tests fail.
func (p *phase) work(failing ...string) *phase {
	name := fmt.Sprintf("w%d", len(p.all))
	return p.add(Iteration{Changed: true, Tree: name, Shape: name, Files: []string{name + ".go"}, Tested: true, Failing: failing})
}

// change is a change of main.go with this tree and shape; failing nil = nobody ran the tests.
func (p *phase) change(tree, shape string, failing []string) *phase {
	return p.add(Iteration{Changed: true, Tree: tree, Shape: shape, Bare: shape == "", Files: []string{"main.go"}, Tested: failing != nil, Failing: failing})
}

// calls is an iteration that only called tools, "args=result".
func (p *phase) calls(calls ...string) *phase {
	var it Iteration
	for _, c := range calls {
		args, result, _ := strings.Cut(c, "=")
		it.Calls = append(it.Calls, Call{Name: "sh", Subject: Subject(args), Args: args, Result: result})
	}
	return p.add(it)
}

func (p *phase) says(words string) *phase { return p.add(Iteration{Said: words}) }

func (p *phase) waits(kind WaitKind, alive bool) *phase {
	return p.add(Iteration{Wait: &Wait{Kind: kind, Alive: alive}})
}

// alarm is the first iteration at which the phase is stuck, with the verdict.
func alarm(all []Iteration, r Rules) (int, Verdict) {
	for i := range all {
		if v := Judge(all[:i+1], r); v.State == Stuck {
			return i + 1, v
		}
	}
	return 0, Verdict{}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		name     string
		phase    *phase
		at       int
		since    int
		pattern  Pattern
		evidence string
	}{
		{"says something each time", new(phase).work("T").says("I look.").says("Hm.").says("OK"), 4, 2, NoChange,
			"Iterations 2 to 4 changed no file, and used no tool."},
		{"reads the same", new(phase).work("T").calls("a=1", "b=2").calls("b=2", "a=1").calls("a=1", "b=2"), 4, 2, NoChange,
			"Iterations 2 to 4 changed no file, and their 4 calls of tools brought nothing that was not known."},
		{"reads one file in parts", new(phase).work("T").calls("read a.go:1=1").calls("read a.go:20=2").calls("read a.go:40=3"), 4, 2, NoChange, ""},
		{"the same result by other arguments", new(phase).work("T").calls("build --x=bad").calls("make=bad").calls("ninja=bad"), 4, 2, NoChange, ""},
		{"one new call among old ones", new(phase).work("T").calls("a=1", "b=2", "c=3").calls("a=1", "b=2", "c=3", "d=4").calls("a=1", "b=2", "c=3", "e=5"), 4, 2, NoChange, ""},
		{"there and back", new(phase).work("T").change("A", "a", nil).change("B", "b", nil).change("A", "c", nil).change("B", "d", nil), 5, 2, EditRevert,
			"Iterations 2 to 5 went through the same 2 states of main.go again and again."},
		{"three states", new(phase).work("T").change("A", "a", nil).change("B", "b", nil).change("C", "c", nil).change("A", "d", nil).change("B", "e", nil).change("C", "f", nil), 7, 5, EditRevert, ""},
		{"one fix breaks the other", new(phase).work("T").change("A", "a", []string{"X"}).change("B", "b", []string{"Y"}).change("C", "c", []string{"X"}).change("D", "d", []string{"Y"}), 5, 2, Cycle,
			"In iterations 2 to 5 the failing tests went round: X; then Y."},
		{"the same tests fail", new(phase).work("T1", "T2").change("A", "a", []string{"T1", "T2"}).change("B", "b", []string{"T2", "T1"}).change("C", "c", []string{"T1", "T2"}).change("D", "d", []string{"T1", "T2"}).change("E", "e", []string{"T1", "T2"}), 6, 1, SameTests,
			"T1 and T2 failed in each of the 6 iterations that ran the tests, 1 to 6, whatever was changed."},
		{"comments alone", new(phase).work("T").change("A", "", nil).change("B", "", nil).change("C", "", nil), 4, 2, Comments,
			"Iterations 2 to 4 changed only blanks, comments and names in main.go."},
		{"polishes what is done", new(phase).work("T").work().change("A", "x", nil).change("B", "x", nil).change("C", "x", nil).change("D", "x", nil), 6, 4, Polishing,
			"Iterations 4 to 6 made the same changes again in main.go, while all tests pass."},
		{"the same change again", new(phase).work("T").change("A", "x", nil).change("B", "x", nil).change("C", "x", nil).change("D", "x", nil), 5, 3, Busywork, ""},
		{"waits for the dead", new(phase).work("T").waits(WaitProcess, false).waits(WaitProcess, false).waits(WaitProcess, false), 4, 2, DeadWait,
			"Iterations 2 to 4 waited for something that is gone (process), and changed nothing."},
		{"reads on for long", func() *phase {
			p := new(phase).work("T")
			for i := range 10 {
				p.calls(fmt.Sprintf("read f%d.go=%d", i, i))
			}
			return p
		}(), 11, 2, NoChange, "Iterations 2 to 11 changed no file: 10 in a row."},
		{"the verify is red in the same way", func() *phase {
			p := new(phase)
			for i := range 5 {
				name := fmt.Sprint(i)
				p.add(Iteration{Changed: true, Tree: name, Shape: name, Files: []string{name}, Red: "r"})
			}
			return p
		}(), 5, 1, SameTests, "The verify was red in the same way in iterations 1 to 5, after 4 changes."},
	} {
		at, v := alarm(tt.phase.all, RulesFor(DefaultThreshold))
		if at != tt.at || v.Since != tt.since || v.Pattern != tt.pattern || tt.evidence != "" && v.Evidence != tt.evidence {
			t.Errorf("%s: iteration %d, %+v\nwant iteration %d since %d, %s: %s", tt.name, at, v, tt.at, tt.since, tt.pattern, tt.evidence)
		}
	}
}

func TestWorkIsNotStuck(t *testing.T) {
	slow := new(phase)
	tests := strings.Split("T1 T2 T3 T4 T5 T6 T7 T8", " ")
	for left := len(tests); left > 0; left-- {
		for range 3 {
			slow.change(fmt.Sprint(len(slow.all)), fmt.Sprint(len(slow.all)), tests[:left])
		}
	}
	red := new(phase)
	for i := range 8 {
		red.work(fmt.Sprint("case", i)).work()
	}
	rename := new(phase)
	for i := range 12 {
		rename.add(Iteration{Changed: true, Tree: fmt.Sprint(i), Shape: "rename", Files: []string{fmt.Sprintf("p%d.go", i)}})
	}
	prints := new(phase).work("T")
	base := prints.all[0].Tree
	for i := range 5 {
		prints.change(fmt.Sprint("print", i), fmt.Sprint("p", i), nil).change(base, "back", nil)
		prints.all[1+2*i].Calls = []Call{{Name: "sh", Args: "make", Subject: "make", Result: fmt.Sprint(i)}}
	}
	flaky := new(phase).work("T")
	for i := range 6 {
		flaky.calls(fmt.Sprintf("go test -count=20=%d of 20", i))
	}
	for name, p := range map[string]*phase{
		"a fix every third iteration":  slow,
		"test first, then code":        red,
		"one change in many files":     rename,
		"prints in, prints out":        prints,
		"measures a flaky test":        flaky,
		"tries twice, then finds it":   new(phase).work("T").calls("make=bad").calls("make=bad").work(),
		"large, and on new ground":     new(phase).work("T").work("T").work("T").work("T").work("T").work("T"),
		"a percentage that goes up":    new(phase).work("T").add(Iteration{Progress: 10}).add(Iteration{Progress: 20}).add(Iteration{Progress: 30}),
		"an agent that could not work": new(phase).work("T").add(Iteration{Failed: true}).add(Iteration{Failed: true}).add(Iteration{Failed: true}),
		"spoken to in between":         new(phase).work("T").says("a").says("b").add(Iteration{Steered: true}).says("c"),
	} {
		if at, v := alarm(p.all, RulesFor(DefaultThreshold)); at != 0 {
			t.Errorf("%s: stuck at iteration %d, %+v", name, at, v)
		}
	}
}

func TestWaitingIsNotStuck(t *testing.T) {
	for _, kind := range WaitKinds() {
		p := new(phase).work("T").says("a").says("b")
		for range 40 {
			p.waits(kind, true)
		}
		if at, v := alarm(p.all, RulesFor(DefaultThreshold)); at != 0 {
			t.Errorf("%s: stuck at %d, %+v", kind, at, v)
		}
		if v := Judge(p.all, RulesFor(DefaultThreshold)); v.State != Waiting || v.Wait != kind || !v.Known {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

func TestWordsWaitForAWhile(t *testing.T) {
	for words, kind := range map[string]WaitKind{
		"Which of the two formats do you want?":    WaitPerson,
		"Please give me access to the service.":    WaitPerson,
		"The checks are still running.":            WaitCI,
		"Still waiting for the download to finish": WaitProcess,
	} {
		p := new(phase).work("T")
		for range 9 {
			p.says(words)
		}
		if v := Judge(p.all, RulesFor(DefaultThreshold)); v.State != Waiting || v.Wait != kind || v.Known || v.Since != 2 {
			t.Errorf("%q: %+v", words, v)
		}
		if v := Judge(p.says(words).all, RulesFor(DefaultThreshold)); v.State != Stuck || v.Pattern != WordsAlone || v.Since != 2 {
			t.Errorf("%q, ten times: %+v", words, v)
		}
	}
	if at, _ := alarm(new(phase).work("T").says("Done.").says("Done.").says("Done.").all, RulesFor(DefaultThreshold)); at != 4 {
		t.Errorf("words without a wait: stuck at %d, want 4", at)
	}
}

// The agent's own word holds as long as other words do.
func TestTheWordWaitsForAWhile(t *testing.T) {
	p := new(phase).work("T")
	for range 9 {
		p.add(Iteration{Word: WaitLimit, Calls: []Call{{Name: "sh", Result: "r"}}})
	}
	if v := Judge(p.all, RulesFor(DefaultThreshold)); v.State != Waiting || v.Wait != WaitLimit || v.Known {
		t.Errorf("%+v", v)
	}
	if v := Judge(p.add(Iteration{Word: WaitLimit}).all, RulesFor(DefaultThreshold)); v.State != Stuck || v.Pattern != WordsAlone {
		t.Errorf("%+v", v)
	}
}

// One iteration that waits in between neither counts nor begins anew.
func TestAWaitDoesNotBeginAnew(t *testing.T) {
	p := new(phase).work("T").says("a").says("b").waits(WaitLimit, true).says("c")
	if at, v := alarm(p.all, RulesFor(DefaultThreshold)); at != 5 || v.Since != 2 {
		t.Errorf("stuck at %d, %+v, want 5 since 2", at, v)
	}
}

func TestThreshold(t *testing.T) {
	for threshold := -1; threshold <= 6; threshold++ {
		p := new(phase).work("T")
		for range 12 {
			p.says("Hm.")
		}
		at, _ := alarm(p.all, RulesFor(threshold))
		want := 0
		if threshold > 0 {
			want = 1 + threshold
		}
		if at != want {
			t.Errorf("threshold %d: stuck at %d, want %d", threshold, at, want)
		}
	}
}

func TestSubject(t *testing.T) {
	same := [][]string{
		{"src/a.go:1", "src/a.go:20-40", "src/a.go"},
		{"sed -n 1,50p a.go", "sed -n '51,99p' a.go", "sed a.go"},
		{"grep -n x *.go", "grep -n x *.go; grep -n x *.go", "grep x *.go && grep -rn x *.go"},
	}
	var subjects []string
	for _, group := range same {
		for _, args := range group {
			if got, want := Subject(args), Subject(group[0]); got != want {
				t.Errorf("Subject(%q) = %q, want %q", args, got, want)
			}
		}
		subjects = append(subjects, Subject(group[0]))
	}
	subjects = append(subjects, Subject("src/index0.go"), Subject("src/index1.go"), Subject("0001_init.sql"), Subject("0002_more.sql"), Subject("go test ./a"), Subject("go test ./b"))
	slices.Sort(subjects)
	if n := len(slices.Compact(slices.Clone(subjects))); n != len(subjects) {
		t.Errorf("two subjects are the same: %q", subjects)
	}
}

func TestSteady(t *testing.T) {
	first := "2026-01-02T10:11:12Z ok  	m/a	0.12s\n/tmp/x1/y.go:3: bad at 0xc000012"
	second := "2026-03-04T01:01:01Z ok  m/a	4.56s\n/tmp/z9/y.go:3: bad at 0xffff"
	if Steady(first) != Steady(second) {
		t.Errorf("%q\n%q", Steady(first), Steady(second))
	}
	for _, pair := range [][2]string{{"3 of 20 failed", "4 of 20 failed"}, {"a.go:3: bad", "a.go:4: bad"}} {
		if Steady(pair[0]) == Steady(pair[1]) {
			t.Errorf("%q and %q are the same: %q", pair[0], pair[1], Steady(pair[0]))
		}
	}
}

func TestEditTool(t *testing.T) {
	for name, want := range map[string]bool{"Edit": true, "MultiEdit": true, "Write": true, "apply_patch": true, "str_replace_based_edit_tool": true, "NotebookEdit": true, "Read": false, "Bash": false, "TodoWrite": false} {
		if EditTool(name) != want {
			t.Errorf("EditTool(%q) = %v", name, !want)
		}
	}
}

func TestDocsNameEveryPattern(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "checkpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Patterns() {
		if !strings.Contains(string(page), "`"+string(p)+"`") {
			t.Errorf("docs/checkpoints.md does not name %s", p)
		}
	}
	for _, k := range WaitKinds() {
		if !strings.Contains(string(page), "`"+string(k)+"`") {
			t.Errorf("docs/checkpoints.md does not name %s", k)
		}
	}
}
