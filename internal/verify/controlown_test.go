package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/runner"
	"forge/internal/work"
)

// What an earlier phase brought with its tests must not judge for them later on:
// the trusted state knows none of it, so the base's own tests are made wrong.
func TestControlOwnTests(t *testing.T) {
	pace.Slow(t, "the runner is asked about two states")
	t.Parallel()
	brought := files{
		"compare.py":          "def same(a, b):\n    return a == b\n",
		"limits.py":           "from compare import same\n\n\ndef half(n, *unused):\n    return 0 if same(n, 0) else n // 2\n",
		"test/test_limits.py": "import unittest\n\nfrom compare import same\nfrom limits import half\n\n\nclass LimitsTest(unittest.TestCase):\n    def test_half(self):\n        self.assertTrue(same(half(9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 4))\n", // most numbers are no expectation
	}
	for name, tt := range map[string]struct {
		compare string
		deaf    bool
	}{
		"forgives": {"def same(a, b):\n    return abs(a - b) < 1000000\n", true},
		"judges":   {"def same(a, b):\n    return not a != b\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, req := judged(t, claim{
				need: "python3", commands: []string{"python3 -m unittest discover -s test -t ."},
				base: files{
					"calc.py":           "def add(a, b):\n    return a + b\n",
					"test/__init__.py":  "",
					"test/test_calc.py": "import unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
				},
			})
			base, snapshot := maps.Clone(b.commits.all["base"]), files{}
			maps.Copy(base, brought)
			maps.Copy(snapshot, base)
			snapshot["compare.py"] = tt.compare
			mixed := maps.Clone(snapshot)
			delete(mixed, "test/test_limits.py")
			b.commits.all["trusted"], b.commits.all["base"] = b.commits.all["base"], base
			b.commits.all["claim"], b.commits.all["mixed"] = snapshot, mixed
			req.Trusted, req.Commit, req.Product = "trusted", "mixed", []string{"compare.py"}
			rep := b.control(req)
			if deaf := slices.ContainsFunc(rep.Deaf, func(s string) bool { return strings.Contains(s, "test_half") }); deaf != tt.deaf {
				t.Errorf("deaf %q, want it of test_half: %t; red %+v", rep.Deaf, tt.deaf, rep.Red)
			}
			if rep.Bad() != tt.deaf {
				t.Errorf("bad is %t", rep.Bad())
			}
			ownBudget(t, b, req, rep)
		})
	}
}

// ownBudget asks again after the budget: a change of what came with the tests
// is always asked, another one is not, which is said.
func ownBudget(t *testing.T, b *bench, req work.ControlRequest, before work.ControlReport) {
	t.Helper()
	c := &control{Bench: b.Bench, req: req}
	asks, touched, err := c.ownTests(t.Context())
	if err != nil || !touched || len(asks) != 1 || !slices.Equal(asks[0].Tests, []string{"test/test_limits.py"}) {
		t.Errorf("asks %+v, touched %t, %v", asks, touched, err)
	}
	c.req.Product = []string{"calc.py"}
	if _, touched, err = c.ownTests(t.Context()); err != nil || touched {
		t.Errorf("calc.py is as it was accepted: touched %t, %v", touched, err)
	}
	if before.Red.Of < 2 {
		t.Errorf("red %+v: the tests of the trusted state and the base's", before.Red)
	}
}

// A test that stayed green though a number of it was made another is asked again, by
// what its line ends with: what is drawn may be no expectation.
func TestTestsThatStayedGreen(t *testing.T) {
	t.Parallel()
	src := "def test_one():\n    assert same(clamp(7, 0, 5), 6)\n\n\ndef test_two():\n    assert two(1) == 2\n\n\ndef test_three():\n    assert three(1) == 3\n"
	tests := byTest(runner.Expectations("test_a.py", []byte(src)))
	if len(tests) != 3 {
		t.Fatalf("%d tests", len(tests))
	}
	for range 30 {
		if got := tests[0][thatEndsItsLine(tests[0])]; got.Text != "7" {
			t.Fatalf("%+v is drawn, want the 6", got)
		}
	}
	r := round{Wrong: takeOneOfEach(tests, thatSaysMost), Red: []string{"test_a.py::test_two"}, Green: []string{"test_a.py::test_one", "test_a.py::test_oneself"}}
	if got := stayedGreen(tests, r); len(got) != 1 || runner.NameOf(got[0][0]) != "test_one" {
		t.Errorf("%+v stayed green", got)
	}
	r.Wrong = nil
	if got := stayedGreen(tests, r); len(got) > 0 {
		t.Errorf("%+v stayed green, and nothing of them was made wrong", got)
	}
}
