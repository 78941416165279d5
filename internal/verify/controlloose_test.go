package verify

import (
	"maps"
	"strings"
	"testing"

	"forge/internal/pace"
)

// What a change of settings takes away, or lets pass, is said by name, though
// no line of a test is another; what it adds is not.
func TestControlOfChangedSettings(t *testing.T) {
	pace.Slow(t, "test runners run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	const all = "python3 -m unittest discover -s tests -t ."
	base := maps.Clone(onlyMessages.base)
	base["run.sh"], base["tests/test_other.py"] = all+"\n", "import unittest\n\n\nclass TestOther(unittest.TestCase):\n    def test_other(self):\n        self.assertEqual(1, 1)\n"
	// As one project does: what the trusted state is known for is learned once.
	b, req := judged(t, claim{need: "python3", commands: []string{"sh run.sh"}, base: base})
	req.Commit, req.Product = "base", nil
	for name, c := range map[string]struct {
		run  string
		want string // "" = nothing
	}{
		"says more":      {run: "echo tests\n" + all + "\n"},
		"runs more":      {run: all + "\npython3 -m unittest discover -s more -t .\n"},
		"runs less":      {run: all + " -p test_other.py\n", want: "a test that must fail, planted beside tests/test_calc.py, is not reported as failed"},
		"runs nothing":   {run: "true\n", want: "unittest in .: the verify commands stay green though tests were made wrong"},
		"runs one aside": {run: all + " -p test_calc.py && { " + all + " -p test_other.py || true; }\n", want: "the verify commands stay green though tests were made wrong"},
		"runs it aside":  {run: all + " || true\n", want: "unittest in .: the verify commands stay green though tests were made wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			req := req
			req.Settings = []string{"run.sh"}
			b.commits.all["claim"] = base.with(files{"run.sh": c.run})
			rep := b.control(req)
			got := strings.Join(rep.Loosened, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if len(rep.Lost)+len(rep.Deaf) > 0 {
				t.Errorf("with the trusted settings: lost %q, deaf %q", rep.Lost, rep.Deaf)
			}
			if (c.want != "") != rep.Bad() {
				t.Errorf("bad %v", rep.Bad())
			}
		})
	}
	b.t, b.commits.all["claim"] = t, base.with(files{"run.sh": "true\n"})
	if rep := b.control(req); len(rep.Loosened) > 0 {
		t.Errorf("nobody asked about settings: %q", rep.Loosened)
	}
}
