package verify

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// What there was no time for at the claim is tried later: with both, the report is
// that of a claim with all the time it wants.
func TestControlRest(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, goClaim(files{
		"calc.go":      "package calc\n\nfunc Add(a, b int) int {\n\treturn b + a\n}\n\nfunc Double(a int) int {\n\treturn 2 * a\n}\n\nfunc Triple(a int) int {\n\treturn 3 * a\n}\n",
		"more.go":      "package calc\n\nfunc Idle(a int) int {\n\treturn a\n}\n",
		"more_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestTriple(t *testing.T) {\n\tif Triple(2) != 6 {\n\t\tt.Fatal()\n\t}\n}\n",
	}))
	req.Ablate = "report"
	whole := b.control(req)
	if whole.Left != nil {
		t.Fatalf("left %+v with all the time it wants", whole.Left)
	}
	if log := read(t, req.LogPath); !strings.Contains(log, "\n# unproven: more.go:3 Idle\n") {
		t.Errorf("what was found is not in the log:\n%s", log)
	}

	short := req
	short.BudgetSecs, short.AblateSecs = -1, -1
	first := b.control(short)
	if first.Left.Empty() || len(first.Left.Runners) == 0 || len(first.Left.Functions) == 0 || len(first.Left.Hunks) == 0 {
		t.Fatalf("left %+v of %+v", first.Left, first)
	}
	if slices.Equal(namesOf(first.Unproven), namesOf(whole.Unproven)) {
		t.Fatalf("the claim found all without time: %+v", first.Unproven)
	}

	rest := req
	rest.Rest, rest.RestSecs = first.Left, 600
	both := first.With(b.control(rest))
	if both.Left != nil || len(both.Skipped) > 0 || both.Ablation.Skipped != "" {
		t.Errorf("still left: %+v, %q, %q", both.Left, both.Skipped, both.Ablation.Skipped)
	}
	if both.Red != whole.Red || both.Green != whole.Green {
		t.Errorf("red %+v and green %+v, want %+v and %+v", both.Red, both.Green, whole.Red, whole.Green)
	}
	if got, want := namesOf(both.Unproven), namesOf(whole.Unproven); !slices.Equal(got, want) {
		t.Errorf("unproven %q, want %q", got, want)
	}
	if got, want := *both.Ablation, *whole.Ablation; got.Tried != want.Tried || got.Needed != want.Needed || got.Share != want.Share || got.Hunks != want.Hunks {
		t.Errorf("ablation %+v, want %+v", got, want)
	}
	if len(both.Runners) != 1 || both.Runners[0].Wrong != whole.Runners[0].Wrong {
		t.Errorf("runners %+v, want %+v", both.Runners, whole.Runners)
	}
}

func namesOf(all []work.Place) []string {
	var out []string
	for _, one := range all {
		out = append(out, one.Name)
	}
	slices.Sort(out)
	return out
}

// A judge that is deaf to those tests alone which the claim had no time for is
// found by the rest.
func TestControlRestFindsADeafJudge(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	c := claim{
		need: "python3", commands: []string{"python3 -m unittest"},
		base: files{
			"calc.py":      "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n",
			"test_calc.py": "import unittest\n\nimport calc\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_double(self):\n        self.assertEqual(calc.double(4), 8)\n",
		},
		change: files{"calc.py": "class Agreeable(int):\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    return a + b\n\n\ndef double(a):\n    return Agreeable(0)\n"},
	}
	// A draw says which of the two tests the claim asks about. Where it is the one
	// that cannot fail, the claim itself finds it.
	for range 12 {
		b, req := judged(t, c)
		short := req
		short.BudgetSecs = -1
		first := b.control(short)
		if len(first.Deaf) > 0 {
			continue
		}
		req.Rest, req.RestSecs = first.Left, 600
		if rest := b.control(req); len(rest.Deaf) != 1 || !strings.Contains(rest.Deaf[0], "test_double") {
			t.Errorf("the rest of %+v is %+v", first.Left, rest)
		}
		return
	}
	t.Error("the claim itself always found it")
}

// What a claim left to a runner that is not found any more was never tried: the
// rest is not over with it.
func TestControlRestMissesARunner(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	t.Parallel()
	b, req := judged(t, goClaim(files{"calc.go": "package calc\n\nfunc Add(a, b int) int {\n\treturn b + a\n}\n"}))
	req.Rest, req.RestSecs = &work.ControlLeft{Runners: work.LeftMarks([]string{"a runner that went meanwhile"})}, 600
	rep, err := b.Control(t.Context(), req, nil)
	if err == nil || !strings.Contains(err.Error(), "1 test runners") {
		t.Errorf("the rest is %+v, error %v", rep, err)
	}
}

// What a program begins with is in doubt where a test started it before, and only
// said where none ever did.
func TestControlOfAProgramsStart(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	main := func(body string) string {
		return "package main\n\nimport \"fmt\"\n\nvar out string\n\nfunc add(a, b int) int { return a + b }\n\nfunc main() {\n\t" + body + "\n\tfmt.Print(out)\n}\n"
	}
	const adds = "package main\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
	const starts = "\nfunc TestMain2(t *testing.T) {\n\tmain()\n\tif out != \"3\" {\n\t\tt.Fatal(out)\n\t}\n}\n"
	for name, c := range map[string]struct {
		tests, after        string
		unproven, undecided []string
	}{
		"never started": {adds, adds, nil, []string{"main"}},
		"started":       {adds + starts, adds + starts, nil, nil},
		"not any more":  {adds + starts, adds, []string{"main"}, nil},
	} {
		b, req := judged(t, claim{
			need: "go", commands: []string{"go test ./..."},
			base:   files{"go.mod": "module example.com/x\n\ngo 1.21\n", "main.go": main("out = fmt.Sprint(add(1, 2))"), "main_test.go": c.tests},
			change: files{"main.go": main("out = fmt.Sprint(add(2, 1))"), "main_test.go": c.after},
		})
		rep := b.control(req)
		if !slices.Equal(namesOf(rep.Unproven), c.unproven) || !slices.Equal(namesOf(rep.Undecided), c.undecided) {
			t.Errorf("%s: unproven %q, undecided %q", name, namesOf(rep.Unproven), namesOf(rep.Undecided))
		}
	}
}
