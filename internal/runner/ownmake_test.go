package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A Makefile of plain rules says what make runs; any other says nothing here.
func TestOwnCallReadsMakefiles(t *testing.T) {
	const plain = ".PHONY: all test\n\n# The tests.\ntest:\n\t@pytest -q\n\nall: test\n\tgo build ./...\n"
	for name, c := range map[string]struct {
		command, old, now string
		want              string // runner
	}{
		"plain":                 {"make test", "", "", "pytest"},
		"quiet":                 {"make -s --no-print-directory test", "", "", "pytest"},
		"first goal":            {"make", "", "", "pytest"},
		"first is another":      {"make", ".PHONY: all test\n", ".PHONY: all test\nall2:\n\ttrue\n", ""},
		"go":                    {"make test", "@pytest -q", "go test ./...", "go test"},
		"of npm":                {"make test", "@pytest -q", "npm test", "vitest"},
		"goes on over errors":   {"make -i test", "", "", ""},
		"only says it":          {"make -n test", "", "", ""},
		"another folder":        {"make -C sub test", "", "", ""},
		"variable of the call":  {"make test X=1", "", "", ""},
		"two goals":             {"make test all", "", "", ""},
		"needs another":         {"make test", "\ntest:", "\ntest: all", ""},
		"two lines":             {"make test", "@pytest -q", "@pytest -q\n\ttrue", ""},
		"no phony goal":         {"make test", ".PHONY: all test", ".PHONY: all", ""},
		"a rule twice":          {"make test", "all: test", "test: all", ""},
		"error ignored":         {"make test", "@pytest", "-pytest", ""},
		"error ignored quietly": {"make test", "@pytest", "@-pytest", ""},
		"all errors ignored":    {"make test", "# The tests.", ".IGNORE:", ""},
		"variable":              {"make test", "# The tests.", "SHELL = ./sh", ""},
		"variable of the goal":  {"make test", "# The tests.", "test: SHELL = ./sh", ""},
		"variable, at once":     {"make test", "# The tests.", "SHELL := ./sh", ""},
		"variable, three":       {"make test", "# The tests.", "SHELL :::= ./sh", ""},
		"exported":              {"make test", "# The tests.", "export PYTEST_ADDOPTS = -k x", ""},
		"export of all":         {"make test", "# The tests.", ".EXPORT_ALL_VARIABLES:", ""},
		"included":              {"make test", "# The tests.", "include part.mk", ""},
		"perhaps included":      {"make test", "# The tests.", "-include part.mk", ""},
		"condition":             {"make test", "# The tests.", "ifdef X", ""},
		"defined":               {"make test", "# The tests.", "define X", ""},
		"expanded":              {"make test", "-q", "$(X)", ""},
		"goes on":               {"make test", "# The tests.", "# The \\\ntests", ""},
		"pattern":               {"make test", "# The tests.", "%:", ""},
		"two colons":            {"make test", "test:\n", "test::\n", ""},
		"recipe behind it":      {"make test", "test:\n\t@pytest -q", "test: ; pytest -q", ""},
		"a shell's line":        {"make test", "-q", "-q || true", ""},
		"selects":               {"make test", "-q", "-k x", ""},
		"with a carriage":       {"make test", "-q", "-q\r", ""},
	} {
		in := tree{"Makefile": strings.Replace(plain, c.old, c.now, 1), "package.json": `{"scripts":{"test":"vitest run"}}`}
		if c.old != "" && in["Makefile"] == plain {
			t.Fatalf("%s: nothing changed", name)
		}
		if own, ok := OwnCall(c.command, in.text); ok != (c.want != "") || own.Runner != c.want {
			t.Errorf("%s: %v %q, want %q", name, ok, own.Runner, c.want)
		}
		for _, other := range []string{"GNUmakefile", "makefile"} {
			in[other] = "test:\n\ttrue\n"
			if _, ok := OwnCall(c.command, in.text); ok {
				t.Errorf("%s: %s stands in front, and is not read", name, other)
			}
			delete(in, other)
		}
	}
	own, _ := OwnCall("make test", tree{"Makefile": plain}.text)
	asks := Find(tree{"Makefile": plain, "test_a.py": "def test_a():\n    pass\n"}, []string{"make test"})
	if own.Program != "pytest" {
		t.Errorf("the program of the call is %q", own.Program)
	}
	if direct, _ := OwnCall("pytest -q", nil); direct.Program != "pytest" {
		t.Errorf("the program of a call by itself is %q", direct.Program)
	}
	if len(asks) != 1 || asks[0].Command != own.Asked || !strings.HasPrefix(own.Command, madeEnv) {
		t.Errorf("%q answers %q, asked is %+v", own.Command, own.Asked, asks)
	}
}

// What a Makefile is read to run is what make says that it would.
func TestMadeCallIsWhatMakeRuns(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	accepted := 0
	dir := t.TempDir()
	piece := rapid.SampledFrom([]string{".PHONY: test\n", ".PHONY: test all\n", "test:\n", "all:\n", "all: test\n", "test: all\n", "\tpytest -q\n", "\t@go test ./...\n", "\t-true\n", "# test: x\n", "\n", "\t\n", " \n",
		"\t# said\n", "X = 1\n", "X: Y = 1\n", "test: X := 1\n", "export X\n", "export:\n", "include:\n", "define:\n", "else:\n", "vpath:\n", ".ONESHELL:\n", "\t  @pytest\n", "test:", "\tpytest", "a b:\n", "test :\n", "\t@\n", "\ttrue : x\n", "#\\\n"})
	rapid.Check(t, func(t *rapid.T) {
		// Most have a goal and its line, with whatever else before, between and behind.
		parts := rapid.SliceOfN(piece, 0, 5).Draw(t, "Makefile")
		for _, sure := range []string{"\tpytest -q\n", "test:\n", ".PHONY: test\n"} {
			if rapid.IntRange(0, 9).Draw(t, "sure") > 0 {
				at := rapid.IntRange(0, len(parts)).Draw(t, "at")
				parts = slices.Insert(parts, at, sure)
			}
		}
		content := strings.Join(parts, "")
		words, ok := madeCall([]string{"make", "test"}, tree{"Makefile": content}.text)
		if !ok {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		accepted++
		cmd := exec.Command("make", "-n", "--no-print-directory", "test")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil || strings.Join(strings.Fields(string(out)), " ") != strings.Join(words, " ") {
			t.Fatalf("read as %q, make says %q, %v, of\n%s", words, out, err, content)
		}
	})
	if accepted == 0 {
		t.Error("none was read")
	}
}
