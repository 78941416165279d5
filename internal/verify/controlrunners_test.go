package verify

import (
	"maps"
	"slices"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// runnerClaim is one runner with a project, a change that is honest, and
// changes that are not.
type runnerClaim struct {
	claim
	runner string
	honest files
	cheats map[string]files
	// undecided says that nothing runs without the honest change's file.
	undecided bool
}

// only leaves the cheats of these names.
func (c *runnerClaim) only(names ...string) {
	maps.DeleteFunc(c.cheats, func(name string, _ files) bool { return !slices.Contains(names, name) })
}

const pythonBase = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n"

const pythonHonest = "import math\n\n\ndef add(a, b):\n    \"\"\"The sum.\"\"\"\n    return int(math.fsum((a, b)))\n\n\ndef double(a):\n    return 2 * a\n"

const pythonWrong = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return 8\n\n\n"

// always is a number that equals every other.
const pythonAlways = "class Yes(int):\n    def __eq__(self, other):\n        return True\n\n    def __ne__(self, other):\n        return False\n\n    __hash__ = int.__hash__\n\n\n" +
	"def add(a, b):\n    return Yes(0)\n\n\ndef double(a):\n    return Yes(0)\n"

func runnerClaims() map[string]runnerClaim {
	return map[string]runnerClaim{
		"unittest": {
			runner: "unittest",
			claim: claim{
				need: "python3", commands: []string{"python3 -m unittest discover -s tests -t ."},
				base: files{
					"calc.py": pythonBase, "tests/__init__.py": "",
					"tests/test_calc.py": "import unittest\n\nimport calc\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n" +
						"    def test_double(self):\n        self.assertEqual(calc.double(4), 8)\n\n    @unittest.skip(\"later\")\n    def test_later(self):\n        self.assertTrue(False)\n",
				},
			},
			honest: files{"calc.py": pythonHonest},
			cheats: map[string]files{
				"exits":                 {"calc.py": "import os\nos._exit(0)\n"},
				"exits at the end":      {"calc.py": pythonWrong + "import atexit, os\natexit.register(os._exit, 0)\n"},
				"patches the assertion": {"calc.py": pythonWrong + "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"},
				"equals everything":     {"calc.py": pythonAlways},
				"skips":                 {"calc.py": "import unittest\n\n\ndef add(a, b):\n    raise unittest.SkipTest()\n\n\ndef double(a):\n    return 2 * a\n"},
				"patches the result":    {"calc.py": pythonWrong + "import sys\nR = sys.modules['__main__'].Result\nR.red = lambda self, test, err: None\n"},
				"forges the report":     {"calc.py": pythonWrong + "import sys\nm = sys.modules['__main__']\nw = m.write\nm.write = lambda fd, b: w(fd, b.replace(b'\"failed\"', b'\"passed\"'))\n"},
				"forges what it knows":  {"calc.py": pythonWrong + "import sys\nm = sys.modules['__main__']\nw = m.write\nm.write = lambda fd, b: w(fd, b.replace(b'\"failed\"', b'\"passed\"') if b'test_add' in b or b'test_double' in b else b)\n"},
			},
		},
		"node:test": {
			runner: "node:test",
			claim: claim{
				need: "node", commands: []string{"npm test"},
				base: files{
					"package.json": `{"type": "module", "scripts": {"test": "node --test"}}`,
					"calc.js":      "export function add(a, b) { return a + b; }\nexport const double = (a) => {\n  return add(a, a);\n};\n",
					"test/calc.test.js": "import { describe, it, test } from 'node:test';\nimport assert from 'node:assert';\nimport { add, double } from '../calc.js';\n\n" +
						"describe('calc', () => {\n  it('adds', () => {\n    assert.strictEqual(add(1, 2), 3);\n  });\n});\ntest('doubles', () => {\n  assert.equal(double(4), 8);\n});\ntest('later', { todo: true }, () => {});\n",
				},
			},
			honest: files{"calc.js": "// Sums.\nexport function add(a, b) {\n  return b + a;\n}\nexport const double = (a) => {\n  return 2 * a;\n};\n"},
			cheats: map[string]files{
				"exits":                 {"calc.js": "process.exit(0);\nexport const add = 1, double = 1;\n"},
				"exits when used":       {"calc.js": "export function add() { process.exit(0); }\nexport const double = (a) => 8;\n"},
				"patches the assertion": {"calc.js": "import assert from 'node:assert';\nassert.strictEqual = assert.equal = () => {};\nexport const add = (a, b) => a - b, double = (a) => 0;\n"},
				"exit code and silence": {"calc.js": "process.on('exit', () => { process.exitCode = 0; });\nexport const add = (a, b) => a - b, double = (a) => 8;\n"},
			},
		},
	}
}

// Most of what stands in these assertions may be anything, and they hold: what
// is drawn first turns nothing red.
var onlyMessages = runnerClaim{
	runner: "unittest",
	claim: claim{
		need: "python3", commands: []string{"python3 -m unittest discover -s tests -t ."},
		base: files{
			"calc.py": pythonBase, "tests/__init__.py": "",
			"tests/test_calc.py": "import unittest\n\nimport calc\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertTrue(calc.add(1, 2), \"1 and 2\")\n\n" +
				"    def test_double(self):\n        self.assertTrue(calc.double(4), \"twice 4\")\n",
		},
	},
	honest: files{"calc.py": pythonHonest},
}

func TestControlDrawsAgainUntilATestIsRed(t *testing.T) {
	pace.Slow(t, "test runners run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	checkRunner(t, onlyMessages)
}

func TestControlRunners(t *testing.T) {
	pace.Slow(t, "each test runner builds and runs a project")
	t.Parallel()
	for name, c := range runnerClaims() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRunner(t, c)
		})
	}
}

// checkRunner holds a runner's honest change and its cheats against Control, as one
// project does: what the trusted state is known for is learned once.
func checkRunner(t *testing.T, c runnerClaim) {
	c.change = c.honest
	b, req := judged(t, c.claim)
	t.Run("honest", func(t *testing.T) {
		b.t = t
		rep := b.control(req)
		if c.undecided && len(rep.Undecided) > 0 {
			rep.Undecided = nil
		}
		wantClean(t, rep, c.runner)
		if rep.Green.Of == 0 || rep.Green.Done != rep.Green.Of {
			t.Errorf("green %+v", rep.Green)
		}
	})
	for name, cheat := range c.cheats {
		t.Run(name, func(t *testing.T) {
			b.t = t
			c.change = cheat
			req := req
			req.Commit, req.Product = "claim: "+name, c.product()
			req.Snapshot = req.Commit
			b.commits.all[req.Commit] = c.after()
			rep := b.control(req)
			if len(rep.Lost)+len(rep.Deaf)+len(rep.Unsteady) == 0 {
				t.Errorf("not seen: %+v", rep)
			}
			logFound(t, rep)
		})
	}
}

func logFound(t *testing.T, rep work.ControlReport) {
	t.Helper()
	t.Logf("lost %q, deaf %q, unsteady %q", rep.Lost, rep.Deaf, rep.Unsteady)
}
