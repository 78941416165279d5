package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// A changed test that says what it said, and no longer notices what it noticed, is
// named; one that only says more is not.
func TestControlOfChangedTests(t *testing.T) {
	pace.Slow(t, "test runners run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	const (
		test  = "tests/test_calc.py"
		wrong = "its expectation was made wrong, and it is not red"
		empty = "it passes without the product"
		was   = "import unittest\n\nfrom calc import add\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
	)
	// As one project does: what the trusted state is known for is learned once.
	base := files{"calc.py": "def add(a, b):\n    return a + b\n", "tests/__init__.py": "", test: was}
	b, req := judged(t, claim{need: "python3", commands: []string{"python3 -m unittest discover -s tests -t ."}, base: base})
	req.Commit, req.Product, req.Changed = "base", nil, []string{test}
	for name, c := range map[string]struct {
		old, new string
		added    files
		want     string // "" = nothing
	}{
		"says more":           {old: "5)\n", new: "5)\n        self.assertEqual(add(1, 1), 2)\n"},
		"another way in":      {old: "from calc import add", new: "import calc\nfrom calc import add"},
		"new test beside":     {old: "5)\n", new: "5)\n\n    def test_more(self):\n        self.assertEqual(add(4, 4), 8)\n"},
		"renamed class":       {old: "TestCalc", new: "TestSums"},
		"not waited for":      {old: "    def test_add", new: "    async def test_add", want: empty},
		"from elsewhere":      {old: "from calc import add", new: "from tests.reckon import add", added: files{"tests/reckon.py": "def add(a, b):\n    return a + b\n"}, want: empty},
		"assertion of a base": {old: "(unittest.TestCase)", new: "(Counting)", added: files{}, want: wrong},
		"its own text":        {old: "import unittest", new: "import unittest\n\nif 'add(2, 3), %d)' % 5 not in open(__file__).read():\n    raise ImportError('another text')", want: "it does not load then"},
		"numbers before it":   {old: "        self.assertEqual", new: "        sizes = [3, 4]\n        try:\n            self.assertEqual(len(sizes), 2)\n        except ValueError:\n            pass\n        return\n        self.assertEqual", want: wrong},
		"called otherwise":    {old: "def test_add", new: "def test_sum"},
		"renamed and ended":   {old: "    def test_add(self):\n", new: "    def test_sum(self):\n        if add(2, 3) > 1:\n            return\n", want: wrong},
		"renamed behind one":  {old: "    def test_add(self):\n", new: "    def test_all(self):\n        self.assertEqual(add(2, 3), 5)\n\n    def test_sum(self):\n        if add(2, 3) > 1:\n            return\n", want: wrong},
		"taken away":          {old: "5)\n", new: "5)\n\n    def test_other(self):\n        self.assertTrue(True)\n\n\ndel TestCalc.test_add\n", want: wrong},
	} {
		t.Run(name, func(t *testing.T) {
			now := strings.Replace(was, c.old, c.new, 1)
			now = strings.Replace(now, "\n\nclass ", "\n\nclass Counting(unittest.TestCase):\n    def assertEqual(self, *both):\n        self.asked = both\n\n\nclass ", 1)
			b.t = t
			b.commits.all["claim"] = base.with(files{test: now}).with(c.added)
			req := req
			for p := range c.added {
				req.Added = append(req.Added, p)
			}
			rep := b.control(req)
			if got := strings.Join(rep.Softened, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if (c.want != "") != rep.Bad() {
				t.Errorf("bad: %+v", rep)
			}
		})
	}
}

// Beside tests that are only new, what there is no time for is tried at the end of
// the run.
func TestControlLeavesChangedTests(t *testing.T) {
	pace.Slow(t, "test runners run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, onlyMessages.claim)
	req.Added, req.Commit, req.Product, req.BudgetSecs = []string{"tests/test_new.py"}, "base", nil, -1
	rep := b.control(req)
	if rep.Left == nil || !rep.Left.Changed {
		t.Errorf("left %+v", rep.Left)
	}
	req.Rest = &work.ControlLeft{Changed: true}
	if rep = b.control(req); rep.Bad() || !rep.Left.Empty() {
		t.Errorf("the rest: %+v", rep)
	}
}

// Changed tests that load together with no wrong expectation, and that there is no
// time to ask one by one, are held at the end of the run.
func TestControlLeavesTestsThatDoNotLoad(t *testing.T) {
	pace.Slow(t, "test runners run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	const was = "import unittest\n\nfrom calc import add\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
	now := strings.Replace(was, "import unittest", "import unittest\n\nif 'add(2, 3), %d)' % 5 not in open(__file__).read():\n    raise ImportError('another text')", 1)
	c := claim{
		need: "python3", commands: []string{"python3 -m unittest discover -s tests -t ."},
		base:   files{"calc.py": "def add(a, b):\n    return a + b\n", "tests/__init__.py": ""},
		change: files{},
	}
	// Wrong expectations go in two halves: two files in each.
	for _, name := range []string{"one", "two", "three", "four"} {
		c.base["tests/test_"+name+".py"], c.change["tests/test_"+name+".py"] = was, now
	}
	b, req := judged(t, c)
	req.Commit, req.Product, req.Changed, req.BudgetSecs = "base", nil, slices.Sorted(maps.Keys(c.change)), -1
	if rep := b.control(req); rep.Left == nil || !rep.Left.Changed || len(rep.Softened) > 0 {
		t.Errorf("left %+v, softer %q", rep.Left, rep.Softened)
	}
	req.Rest = &work.ControlLeft{Changed: true}
	if rep := b.control(req); len(rep.Softened) != 4 || !rep.Bad() {
		t.Errorf("at the end of the run: left %+v, softer %q", rep.Left, rep.Softened)
	}
}

// Each test of Go says for itself what it misses: none is behind one that panics.
func TestControlOfChangedGoTests(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	const was = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\nfunc TestDouble(t *testing.T) {\n\tif got := Double(4); got != 8 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n"
	c := goClaim(files{"calc_test.go": strings.ReplaceAll(was, "Double(4)", "twice(4)") + "\nfunc twice(n int) int { return n + n }\n"})
	c.base["calc_test.go"] = was
	b, req := judged(t, c)
	req.Commit, req.Product, req.Changed = "base", nil, []string{"calc_test.go"}
	rep := b.control(req)
	if got := strings.Join(rep.Softened, "\n"); !strings.Contains(got, "TestDouble: it passes without the product") || strings.Contains(got, "TestAdd") {
		t.Errorf("%q", got)
	}
}

// A changed function that a test met when the whole product was out is not taken
// out once more; one that no test meets is.
func TestControlHearsFunctionsOfTheWholeProduct(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	claim := goClaim(files{"half.go": "package calc\n\n// Half is half of n.\nfunc Half(n int) int { return n / 2 }\n"})
	b, req := judged(t, claim)
	b.commits.all["mixed"] = claim.after()
	req.Commit, req.Product, req.Added = "mixed", []string{"half.go"}, []string{"half_test.go"}
	for name, c := range map[string]struct {
		call     string
		unproven int
	}{
		"met":     {"Half(8)", 0},
		"not met": {"4", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.commits.all["claim"] = claim.after().with(files{
				"half_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif got := " + c.call + "; got != 4 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
			})
			rep, asked := b.watched(req)
			if rep.Green != (work.Sampled{Done: 1, Of: 1}) || len(rep.Unproven) != c.unproven || len(rep.Softened) > 0 {
				t.Errorf("%+v", rep)
			}
			again := slices.ContainsFunc(asked, func(a string) bool { return strings.HasSuffix(a, "changed functions taken out") })
			if again != (c.unproven > 0) {
				t.Errorf("asked %q", asked)
			}
		})
	}
}
