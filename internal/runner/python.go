package runner

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// The drivers are programs of Python that run outside of the tree and write
// what became of each test, one JSON object a line.
var (
	// What pytest's driver and its plugin begin with.
	//go:embed drivers/outcomes.py
	pytestOutcomes string
	//go:embed drivers/pytest.py
	pytestDriver string
	//go:embed drivers/plugin.py
	pytestPlugin string
	// What unittest's driver and its own call begin with.
	//go:embed drivers/unittest_outcomes.py
	unittestOutcomes string
	//go:embed drivers/unittest.py
	unittestDriver string
	//go:embed drivers/unittest_own.py
	unittestOwn string
)

// pytestPluginName is a name of a module that no project has.
const pytestPluginName = "pytest_outcomes_by_line"

func pytestKind() Kind {
	return Kind{Name: "pytest", Find: findPytest, Parse: parseLines, Plant: plantPytest, Own: ownPytest}
}

func unittestKind() Kind {
	return Kind{Name: "unittest", Find: findUnittest, Parse: parseLines, Plant: plantUnittest, Own: ownUnittest}
}

// findPytest asks pytest where the commands name it, or where nothing names a
// runner of Python and there are tests in its form.
func findPytest(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if python, args, ok := pythonCall(c, "pytest"); ok {
			asks = append(asks, p.pytest(c.Dir, python, args))
		}
	}
	if len(asks) == 0 && !p.calls("unittest") && p.usesPytest() {
		asks = append(asks, p.pytest(".", "python3", nil))
	}
	return merged(asks)
}

func (p *Project) pytest(dir, python string, args []string) Ask {
	words := append([]string{"{out}/ask.py", "{out}/report"}, pytestArgs(args)...)
	return Ask{
		Runner: "pytest", Dir: dir, Tests: p.pythonTests(dir),
		Command: interpreter(python) + `PYTHONDONTWRITEBYTECODE=1 "$python" ` + quoteAll(words) + " >'{out}/said'",
		Files:   map[string]string{"ask.py": pytestOutcomes + pytestDriver},
	}
}

// interpreter sets python to the one that has pytest: that of the PATH may be
// another than the one that the program pytest runs under.
func interpreter(python string) string {
	set := "python=" + quote(python) + "; "
	if python != "python3" {
		return set
	}
	return set + `"$python" -I -c 'import pytest' 2>/dev/null || python=$(sed -n '1s/^#! *\([^ ]*\).*/\1/p' "$(command -v pytest)" 2>/dev/null); `
}

// pytestArgs keeps what says where tests are and how they are loaded. What
// selects some of them by name, or ends early, is left out: the names decide.
func pytestArgs(args []string) []string {
	var keep []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains([]string{"-c", "-p", "-o", "--rootdir", "--import-mode", "--confcutdir"}, a) && i+1 < len(args):
			keep = append(keep, a, args[i+1])
			i++
		case slices.Contains([]string{"-k", "-m", "-n", "--maxfail", "--tb", "--cov-report", "-W"}, a):
			i++
		case strings.HasPrefix(a, "--rootdir=") || strings.HasPrefix(a, "--import-mode=") || strings.HasPrefix(a, "--doctest"):
			keep = append(keep, a)
		case !strings.HasPrefix(a, "-") && !strings.Contains(a, "::"):
			keep = append(keep, a)
		}
	}
	return keep
}

// pythonCall recognises program called by itself or as a module, behind tools
// that run a command in an environment. args are its own.
func pythonCall(c Call, program string) (python string, args []string, ok bool) {
	words := c.Words
	for len(words) > 2 && words[1] == "run" && slices.Contains([]string{"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "coverage"}, path.Base(words[0])) {
		words = words[2:]
	}
	if len(words) == 0 {
		return "", nil, false
	}
	name := path.Base(words[0])
	if name == program || name == "py.test" && program == "pytest" {
		// The interpreter beside the program is the one that it runs under.
		if dir := path.Dir(words[0]); dir != "." {
			return path.Join(dir, "python"), words[1:], true
		}
		return "python3", words[1:], true
	}
	if !strings.HasPrefix(name, "python") {
		if name == "-m" && len(words) > 1 && words[1] == program {
			return "python3", words[2:], true // of coverage run -m
		}
		return "", nil, false
	}
	for i := 1; i+1 < len(words); i++ {
		if words[i] == "-m" && words[i+1] == "coverage" {
			return pythonCall(Call{Words: append([]string{"coverage"}, words[i+2:]...)}, program)
		}
		if words[i] == "-m" {
			return words[0], words[i+2:], words[i+1] == program
		}
		if !strings.HasPrefix(words[i], "-") {
			break
		}
	}
	return "", nil, false
}

// calls says whether a call names a runner of Python.
func (p *Project) calls(program string) bool {
	return slices.ContainsFunc(p.Calls(), func(c Call) bool {
		_, _, ok := pythonCall(c, program)
		return ok
	})
}

var pytestForm = texts.Lazy(`(?m)^(?:async )?def test_|^import pytest|^from pytest`)

func (p *Project) usesPytest() bool {
	return slices.ContainsFunc(p.pythonTests("."), func(f string) bool { return pytestForm().MatchString(p.Text(f)) })
}

// pythonTests are the files that runners of Python collect by their defaults,
// and those in test folders that hold tests.
func (p *Project) pythonTests(dir string) []string {
	return p.Below(dir, func(f string) bool {
		if path.Ext(f) != ".py" {
			return false
		}
		base := strings.TrimSuffix(path.Base(f), ".py")
		if strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test") || strings.HasSuffix(base, "_tests") {
			return true
		}
		return strings.Contains("/"+path.Dir(f)+"/", "/tests/") && strings.Contains(p.Text(f), "def test")
	})
}

func plantPytest(file string, _ []byte, word string) (string, string, bool) {
	return path.Join(path.Dir(file), plantedName(file, word)), "def test_" + word + "():\n    got = len(\"" + word + "\")\n    assert got == 0\n", true
}

// plantedName is a name that is collected where that of file is.
func plantedName(file, word string) string {
	base := path.Base(file)
	ext := path.Ext(base)
	name := strings.TrimSuffix(base, ext)
	switch {
	case strings.HasPrefix(name, "test_"):
		return "test_" + word + ext
	case strings.HasSuffix(name, "_test"):
		return word + "_test" + ext
	case strings.HasSuffix(name, "_tests"):
		return word + "_tests" + ext
	case strings.HasPrefix(name, "test"):
		return "test_" + word + ext
	}
	return name + "_" + word + ext
}

// findUnittest asks unittest where the commands name it, or where nothing names
// a runner of Python and there are test cases in its form.
func findUnittest(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if python, args, ok := pythonCall(c, "unittest"); ok {
			asks = append(asks, p.unittest(c.Dir, python, args))
		}
	}
	tests := p.pythonTests(".")
	cases := slices.ContainsFunc(tests, func(f string) bool { return strings.Contains(p.Text(f), "unittest") })
	if len(asks) == 0 && cases && !p.calls("pytest") && !p.usesPytest() {
		asks = append(asks, p.unittest(".", "python3", nil))
	}
	return merged(asks)
}

func (p *Project) unittest(dir, python string, args []string) Ask {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return slices.Contains([]string{"-v", "-q", "-f", "-b", "--verbose", "--quiet", "--failfast", "--buffer"}, a)
	})
	words := append([]string{"{out}/ask.py", "{out}/report"}, args...)
	return Ask{
		Runner: "unittest", Dir: dir, Tests: p.pythonTests(dir),
		Command: "PYTHONDONTWRITEBYTECODE=1 " + quote(python) + " " + quoteAll(words) + " >'{out}/said'",
		Files:   map[string]string{"ask.py": unittestOutcomes + unittestDriver},
	}
}

func plantUnittest(file string, _ []byte, word string) (string, string, bool) {
	text := "import unittest\n\n\nclass Test" + capital(word) + "(unittest.TestCase):\n    def test_" + word + "(self):\n        self.assertEqual(len(\"" + word + "\"), 0)\n"
	return path.Join(path.Dir(file), plantedName(file, word)), text, true
}

// merged drops asks that are the same, and those for a part of what another
// asks for.
func merged(asks []Ask) []Ask {
	var all []Ask
	for _, a := range asks {
		if !slices.ContainsFunc(all, func(b Ask) bool { return b.Dir == a.Dir && b.Command == a.Command }) {
			all = append(all, a)
		}
	}
	return all
}

// line is one line of a driver's report.
type line struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Outcome string `json:"outcome"` // passed, failed, skipped, broken
	Text    string `json:"text"`
}

// parseLines reads what the drivers write.
func parseLines(files map[string][]byte) Report {
	var r Report
	for raw := range bytes.Lines(files["report"]) {
		var l line
		if json.Unmarshal(raw, &l) != nil || l.Name == "" && l.Group == "" {
			continue
		}
		switch o := Outcome(l.Outcome); o {
		case Passed, Failed, Skipped:
			r.add(Test{Name: l.Name, Group: l.Group, Outcome: o, Text: failureText(o, l.Text)})
		default:
			r.broke(l.Group, l.Text)
		}
	}
	return r.settle()
}
