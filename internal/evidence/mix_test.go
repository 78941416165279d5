package evidence

import (
	"strings"
	"testing"

	"forge/internal/git"
	"forge/internal/proof"
	"forge/internal/work"
)

const goodTest = ". ./calc.sh\n[ \"$(add 1 2)\" = 3 ] || exit 1\n[ \"$(add 2 2)\" = 4 ] || exit 1\n"

// TestMix: what stands in the tree that a change is proven in.
func TestMix(t *testing.T) {
	other := strings.Repeat("1", 40)
	for name, tt := range map[string]struct {
		change  files
		want    files // content in the mixed tree
		touched []string
		floors  []work.VerifyOn
	}{
		"product stays":           {files{"calc.sh": "new\n"}, files{"calc.sh": "new\n", "tests/run.sh": goodTest}, nil, nil},
		"changed is put back":     {files{"calc.sh": "new\n", "tests/run.sh": "exit 0\n"}, files{"calc.sh": "new\n", "tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"removed is there again":  {files{"tests/run.sh": "-"}, files{"tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"new is left out":         {files{"tests/more.sh": "exit 1\n"}, files{"tests/more.sh": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"data that product reads": {files{"calc.sh": "cat \"rates.json\"\n", "rates.json": "1\n"}, files{"rates.json": "1\n"}, nil, nil},
		"data that it does not":   {files{"calc.sh": "cat \"rate.json\"\n", "rates.json": "1\n"}, files{"rates.json": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"a link that it reads":    {files{"calc.sh": "cat \"rates.json\"\n", "rates.json": "-> /tmp"}, files{"rates.json": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"emptied is not removed":  {files{"tests/run.sh": ""}, files{"tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"empty that is removed":   {files{"tests/empty.sh": "-"}, files{"tests/empty.sh": ""}, []string{"tests/empty.sh"}, []work.VerifyOn{work.OnTrusted}},
		"empty that is new":       {files{"tests/none.sh": ""}, files{"tests/none.sh": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"executable":              {files{"tests/run.sh": "! " + goodTest}, files{"tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"a link to another":       {files{"tests/run.sh": "-> empty.sh"}, files{"tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"a folder's place":        {files{"tests/run.sh": "-", "tests/empty.sh": "-", "tests": "-> /tmp"}, files{"tests/run.sh": goodTest, "tests/empty.sh": "", "tests": "none"}, []string{"tests/empty.sh", "tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"a submodule":             {files{"tests/run.sh": "@ " + other}, files{"tests/run.sh": goodTest}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
		"a target's name":         {files{"test": "up to date\n"}, files{"test": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"a folder of that name":   {files{"test/x.sh": "up to date\n"}, files{"test/x.sh": "none"}, nil, []work.VerifyOn{work.OnTrusted}},
		"moved tests stand again": {files{"tests/run.sh": "-", "tests/all.sh": goodTest}, files{"tests/run.sh": goodTest, "tests/all.sh": "none"}, []string{"tests/run.sh"}, []work.VerifyOn{work.OnTrusted}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, project())
			change := b.forge(tt.change)
			req := b.request(change)
			rep := b.judgeOf(req)
			equal(t, "touched", rep.Touched, tt.touched)
			equal(t, "trusted", rep.Trusted, tt.touched)
			floors := rep.Floors
			if len(floors) > 1 && floors[1] == work.OnTrustedNew {
				floors = floors[:1]
			}
			equal(t, "floors", floors, tt.floors)

			mixed := b.mixOf(req, work.OnTrusted)
			b.want(mixed, tt.want)
			for _, path := range tt.touched {
				if got, want := b.entry(mixed, path), b.entry(b.base, path); got != want {
					t.Errorf("%s: got entry %q, want %q", path, got, want)
				}
			}
			if got := b.mixOf(req, work.OnProtected); b.tree(got) != b.tree(mixed) {
				t.Error("one floor gives two trees")
			}
		})
	}
}

func (b *bed) tree(commit string) string {
	b.t.Helper()
	id, err := b.repo.TreeOf(b.ctx, commit)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// TestLargeEvidence: a file that is too large to be read is put back by its
// name, two floors that differ in it alone are two proofs, and that nobody
// compared it is a doubt.
func TestLargeEvidence(t *testing.T) {
	content := project()
	large := func(fill string) string { return strings.Repeat(fill, git.MaxShowBytes+1) }
	content["tests/large.bin"] = large("a")
	b := newBed(t, content)
	own := b.forge(files{"tests/large.bin": large("b")})
	change := b.forge(files{"tests/large.bin": large("c"), "calc.sh": "new\n"})
	req := b.request(change)
	req.Base = own

	rep := b.judgeOf(req)
	equal(t, "touched", rep.Touched, []string{"tests/large.bin"})
	equal(t, "floors", rep.Floors, []work.VerifyOn{work.OnTrusted, work.OnProtected})
	if !strings.Contains(lines(rep.Doubts), "tests/large.bin: nobody can compare it") {
		t.Errorf("got doubts %s", lines(rep.Doubts))
	}
	for floor, from := range map[work.VerifyOn]string{work.OnTrusted: b.base, work.OnProtected: own} {
		mixed := b.mixOf(req, floor)
		b.want(mixed, files{"calc.sh": "new\n"})
		if got, want := b.entry(mixed, "tests/large.bin"), b.entry(from, "tests/large.bin"); got != want {
			t.Errorf("%s: got %q, want %q", floor, got, want)
		}
	}
}

// TestUnknownNew: a new file in which nothing is recognised may be product; a
// floor of its own keeps it, while what is known to judge is left out there too.
func TestUnknownNew(t *testing.T) {
	b := newBed(t, project())
	change := b.forge(files{"rates.xyz": "1\n", "tests/more.sh": "exit 0\n"})
	req := b.request(change)
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted, work.OnTrustedNew})
	b.want(b.mixOf(req, work.OnTrusted), files{"rates.xyz": "none", "tests/more.sh": "none"})
	b.want(b.mixOf(req, work.OnTrustedNew), files{"rates.xyz": "1\n", "tests/more.sh": "none"})
}

// TestUnknownChanged: a changed file that nothing reaches may be product too;
// beside the floor that puts it back, one keeps it, with and without what is
// new. So it is for the evidence that the phase began with.
func TestUnknownChanged(t *testing.T) {
	content := project()
	content["rules.xyz"] = "1\n"
	b := newBed(t, content)
	own := b.forge(files{"tests/own.sh": "exit 0\n"})
	change := b.forge(files{"rules.xyz": "2\n", "tests/run.sh": "exit 0\n", "tests/own.sh": "true\n", "rates.xyz": "1\n"})
	req := b.request(change)
	req.Base = own
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted, work.OnTrustedNew, work.OnTrustedChanged, work.OnProtected, work.OnProtectedChanged})
	for floor, want := range map[work.VerifyOn]files{
		work.OnTrusted:          {"rules.xyz": "1\n", "rates.xyz": "none", "tests/own.sh": "none"},
		work.OnTrustedNew:       {"rules.xyz": "2\n", "rates.xyz": "1\n", "tests/own.sh": "none"},
		work.OnTrustedChanged:   {"rules.xyz": "2\n", "rates.xyz": "none", "tests/own.sh": "none"},
		work.OnProtected:        {"rules.xyz": "1\n", "rates.xyz": "none", "tests/own.sh": "exit 0\n"},
		work.OnProtectedChanged: {"rules.xyz": "2\n", "rates.xyz": "none", "tests/own.sh": "exit 0\n"},
	} {
		want["tests/run.sh"] = goodTest
		b.want(b.mixOf(req, floor), want)
	}

	// Where it alone is another, one proof more is the tree itself.
	alone := newBed(t, content)
	equal(t, "floors", alone.judgeOf(alone.request(alone.forge(files{"rules.xyz": "2\n"}))).Floors, []work.VerifyOn{work.OnTrusted})
}

// TestProgramThatTestsRun: a program that nothing but a test starts may be the
// product; weakened together with its test, it stands with the test put back.
func TestProgramThatTestsRun(t *testing.T) {
	b := newBed(t, files{"check.sh": "bin/app && [ \"$(python3 app.py)\" = 3 ]\n", "app.py": "print(3)\n", "bin/app": "#!/bin/sh\n"})
	req := b.request(b.forge(files{"check.sh": "true\n", "app.py": "print(4)\n"}))
	req.Commands = []string{"sh check.sh"}
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted, work.OnTrustedNew})
	b.want(b.mixOf(req, work.OnTrusted), files{"check.sh": "bin/app && [ \"$(python3 app.py)\" = 3 ]\n", "app.py": "print(3)\n"})
	b.want(b.mixOf(req, work.OnTrustedNew), files{"check.sh": "bin/app && [ \"$(python3 app.py)\" = 3 ]\n", "app.py": "print(4)\n"})
}

// TestSettings: what decides how tests are run is named, among tests too and
// where a phase may change it; tests, product and what only grew are not.
func TestSettings(t *testing.T) {
	content := project()
	content["tests/CMakeLists.txt"], content["ci/steps.sh"], content[".github/workflows/ci.yml"] = "a\n", "b\n", "c\n"
	b := newBed(t, content)
	req := b.request(b.forge(files{
		"tests/CMakeLists.txt": "x\n", "tests/run.sh": "x\n", "calc.sh": "x\n", "README.md": "x\n", "Makefile": "test:\n\ttrue\n", "ci/steps.sh": "-", "tests/more.sh": "x\n", "pytest.ini": "x\n",
	}))
	req.MayChange = []string{"Makefile"}
	equal(t, "settings", b.judgeOf(req).Settings, []string{"Makefile", "ci/steps.sh", "pytest.ini", "tests/CMakeLists.txt"})
}

// TestManifestParts: a new package stays, the script that is the proof does not.
func TestManifestParts(t *testing.T) {
	b := newBed(t, files{
		"package.json":   "{\n  \"name\": \"a\",\n  \"scripts\": {\"test\": \"node --test\"},\n  \"dependencies\": {}\n}\n",
		"index.js":       "exports.a = 1;\n",
		"test/a.test.js": "require('../index.js');\n",
	})
	change := b.forge(files{"package.json": "{\n  \"name\": \"a\",\n  \"scripts\": {\"test\": \"true\"},\n  \"dependencies\": {\"left-pad\": \"1.3.0\"}\n}\n"})
	req := b.request(change)
	req.Commands = []string{"npm test"}
	rep := b.judgeOf(req)
	equal(t, "touched", rep.Touched, []string{"package.json"})
	got := b.text(b.mixOf(req, work.OnTrusted), "package.json")
	if !strings.Contains(got, "node --test") || !strings.Contains(got, "left-pad") {
		t.Errorf("got %s", got)
	}
	if len(rep.Notes) == 0 || !strings.Contains(rep.Notes[0], "left-pad") {
		t.Errorf("got notes %q, want the new package", rep.Notes)
	}
}

// TestNewEvidenceIsNamed: what a proof with trusted evidence leaves out is said;
// what the commands ask for, and product, is not.
func TestNewEvidenceIsNamed(t *testing.T) {
	b := newBed(t, files{"app.py": "print(1)\n"})
	req := b.request(b.forge(files{"two.txt": "2\n", "tests/test_two.py": "def test_two():\n    assert 1\n", "x.sh": "test -f two.txt\n", "more.py": "a = 1\n", "pytest.ini": "[pytest]\n"}))
	req.Commands = []string{"sh x.sh"}
	rep := b.judgeOf(req)
	equal(t, "new", rep.New, []string{"tests/test_two.py", "two.txt"})
	equal(t, "touched", rep.Touched, []string{"pytest.ini"})
}

// TestMayChange: a phase's leave to change evidence is no leave to weaken it.
func TestMayChange(t *testing.T) {
	b := newBed(t, files{
		"calc.py":            "def add(a, b):\n    return a + b\n",
		"tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_more():\n    assert add(2, 2) == 4\n",
		"tests/test_else.py": "def test_else():\n    assert 1 == 1\n",
	})
	change := b.forge(files{"tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n", "tests/test_else.py": "-"})
	req := b.request(change)
	req.Commands, req.MayChange = []string{"pytest"}, []string{"tests/test_calc.py"}
	rep := b.judgeOf(req)
	equal(t, "touched", rep.Touched, []string{"tests/test_else.py"})
	equal(t, "allowed", rep.Allowed, []string{"tests/test_calc.py"})
	if !strings.Contains(lines(rep.Doubts), "test_more") {
		t.Errorf("got doubts %s, want the test that is gone", lines(rep.Doubts))
	}
	mixed := b.mixOf(req, work.OnTrusted)
	b.want(mixed, files{"tests/test_calc.py": b.text(change, "tests/test_calc.py"), "tests/test_else.py": b.text(b.base, "tests/test_else.py")})

	// Without leave both are put back, and both are said.
	req.MayChange = nil
	equal(t, "touched", b.judgeOf(req).Touched, []string{"tests/test_calc.py", "tests/test_else.py"})
}

// TestOneTree: floors that lead to one tree are proven once, others twice.
func TestOneTree(t *testing.T) {
	b := newBed(t, project())
	own := b.forge(files{"tests/more.sh": "exit 0\n"})
	change := b.forge(files{"tests/run.sh": "exit 0\n"})
	req := b.request(change)
	req.Base = own
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted, work.OnProtected})
	b.want(b.mixOf(req, work.OnTrusted), files{"tests/more.sh": "none", "tests/run.sh": goodTest})
	b.want(b.mixOf(req, work.OnProtected), files{"tests/more.sh": "exit 0\n", "tests/run.sh": goodTest})

	req.Base = b.base
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted})

	// Two floors that differ in a mode alone are two.
	b.git("checkout", "-q", b.base)
	own = b.forge(files{"tests/run.sh": "! " + goodTest})
	req.Base, req.Commit = own, b.forge(files{"tests/run.sh": "exit 0\n"})
	equal(t, "floors", b.judgeOf(req).Floors, []work.VerifyOn{work.OnTrusted, work.OnProtected})
}

// TestMovesInARun: what was accepted in the run is trusted from then on.
func TestMovesInARun(t *testing.T) {
	b := newBed(t, project())
	accepted := b.forge(files{"tests/run.sh": "true\n", "tests/more.sh": "true\n"})
	change := b.forge(files{"tests/run.sh": "false\n", "tests/more.sh": "false\n"})
	req := b.request(change)
	req.Base = accepted
	req.Moves = []work.TrustMove{{From: b.base, To: accepted, Paths: []string{"tests/run.sh"}}}
	b.want(b.mixOf(req, work.OnTrusted), files{"tests/run.sh": "true\n", "tests/more.sh": "none"})
	b.want(b.mixOf(req, work.OnProtected), files{"tests/run.sh": "true\n", "tests/more.sh": "true\n"})
}

// TestDemanded: what the owner's commands name may be made, and no more.
func TestDemanded(t *testing.T) {
	floor := []string{"calc.py", "README.md"}
	for _, tt := range []struct {
		rule, file, command string
		floor               []string
		want                bool
	}{
		{proof.RuleUnknown, "check.sh", "sh check.sh", floor, true},
		{proof.RuleUnknown, "check.sh", "sh ./check.sh", floor, true},
		{proof.RuleUnknown, "check.sh", "sh other.sh", floor, false},
		{proof.RuleTestFile, "tests/test_a.py", "pytest tests", floor, true},
		{proof.RuleTestFile, "tests/test_a.py", "pytest tests/", append(floor, "tests/test_b.py"), false},
		{proof.RuleTestFile, "tests/test_a.py", "pytest tests/test_a.py", append(floor, "tests/test_b.py"), true},
		{proof.RuleShadows, "pytest/__init__.py", "python -m pytest", floor, false},
		{proof.RuleShadows, "tests/sitecustomize.py", "PYTHONPATH=tests pytest", floor, false},
		{proof.RuleSetting, "tests/conftest.py", "pytest tests", floor, false},
		{proof.RuleSetting, "ci/pytest.ini", "pytest -c ci/pytest.ini", floor, true},
		{proof.RuleTestFile, "test/x.py", "make test", append(floor, "Makefile"), false},
		{proof.RuleUnknown, "test", "make test", append(floor, "rules.mk"), false},
		{proof.RuleTestFile, "tests/x.py", "make && pytest tests/", append(floor, "Makefile"), true},
		{proof.RuleUnknown, "x", "sh ../x", floor, false},
		{proof.RuleUnknown, "x", "sh /x", floor, false},
		{proof.RuleTestFile, "a/b_test.go", "go test ./...", floor, false},
	} {
		if got := demanded(proof.Seen{Path: tt.file, Rule: tt.rule}, []string{tt.command}, tt.floor); got != tt.want {
			t.Errorf("%s by %q: got %v, want %v", tt.file, tt.command, got, tt.want)
		}
	}
}

// TestShadowIsNotDemanded: a folder that has a runner's name is left out, though
// the command has that word.
func TestShadowIsNotDemanded(t *testing.T) {
	b := newBed(t, files{"calc.py": "a = 1\n", "tests/test_a.py": "import calc\n\n\ndef test_a():\n    assert calc.a == 1\n"})
	req := b.request(b.forge(files{"pytest/__main__.py": "\n", "pytest/__init__.py": "\n"}))
	req.Commands = []string{"python -m pytest"}
	b.want(b.mixOf(req, work.OnTrusted), files{"pytest/__main__.py": "none", "pytest/__init__.py": "none"})
}

// TestProtectedGlobs: the owner's globs are evidence; the words for what Forge
// knows by itself are none.
func TestProtectedGlobs(t *testing.T) {
	b := newBed(t, project())
	req := b.request(b.forge(files{"README.md": "changed\n"}))
	equal(t, "touched", b.judgeOf(req).Touched, nil)
	req.Protected = []string{"@default", "@tests", "Makefile"}
	equal(t, "touched", b.judgeOf(req).Touched, nil)
	req.Protected = []string{"@default", "README.md"}
	equal(t, "touched", b.judgeOf(req).Touched, []string{"README.md"})
}

// TestKeptMap: a map that was kept is used, and one that cannot be read is made
// anew.
func TestKeptMap(t *testing.T) {
	b := newBed(t, project())
	req := b.request(b.forge(files{"tests/run.sh": "exit 0\n"}))
	for range 2 {
		equal(t, "touched", New(b.repo, b.dirOfMaps()).judgedBy(t, req), []string{"tests/run.sh"})
	}
	b.spoilMaps()
	equal(t, "touched", New(b.repo, b.dirOfMaps()).judgedBy(t, req), []string{"tests/run.sh"})
}
