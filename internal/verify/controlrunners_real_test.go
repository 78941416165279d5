//go:build real

package verify

import (
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/runner"
)

// TestRealControlRunners holds every runner that a package brings against
// Control: an honest change of each passes, and no cheat does.
func TestRealControlRunners(t *testing.T) {
	t.Parallel()
	for name, c := range realRunnerClaims(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if slow[name] && os.Getenv("FORGE_REAL_RUNNERS") != "all" {
				t.Skip("each of its runs takes seconds: FORGE_REAL_RUNNERS=all tries it too")
			}
			if _, err := exec.LookPath(c.need); err != nil {
				t.Fatalf("%s is not here: scripts/real.sh installs it", c.need)
			}
			c.cheats = someCheats(t, c.cheats)
			checkRunner(t, c)
		})
	}
}

// someCheats are two of them, others in each test, and all in make soak.
func someCheats(t *testing.T, all map[string]files) map[string]files {
	t.Helper()
	names := slices.Sorted(maps.Keys(all))
	first := int(crc32.ChecksumIEEE([]byte(t.Name())) % uint32(max(len(names), 1)))
	some := map[string]files{}
	for i := range pace.Few(2, len(names)) {
		name := names[(first+i)%len(names)]
		some[name] = all[name]
	}
	return some
}

// TestRealOwnCalls holds every runner that a package brings and whose command is
// its own call against one run of it that says what passed.
func TestRealOwnCalls(t *testing.T) {
	t.Parallel()
	for name, c := range realRunnerClaims(t) {
		if _, ok := runner.OwnCall(c.commands[0], func(file string) string { return c.base[file] }); !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "cargo test" {
				pace.Soak(t, "each of its runs compiles, and TestRealControlRunners tries it")
			}
			if slow[name] && os.Getenv("FORGE_REAL_RUNNERS") != "all" {
				t.Skip("each of its runs takes seconds: FORGE_REAL_RUNNERS=all tries it too")
			}
			c.cheats = someCheats(t, c.cheats)
			checkOwn(t, c)
		})
	}
}

// slow are the runners whose every start compiles, or takes a machine of its own.
var slow = map[string]bool{"jest": true, "junit": true, "ctest": true, "cargo": true}

// modules returns setup commands that bring the packages of a runner.
func modules(t *testing.T, name string) []string {
	t.Helper()
	dir := os.Getenv("FORGE_REAL_MODULES_" + strings.ToUpper(name))
	if dir == "" {
		t.Fatalf("FORGE_REAL_MODULES_%s is not set: run scripts/real.sh", strings.ToUpper(name))
	}
	return []string{"mkdir node_modules node_modules/.bin && for f in " + dir + "/* " + dir + "/.bin/*; do case $f in *.bin/*) ln -s \"$f\" node_modules/.bin/ ;; *) ln -s \"$f\" node_modules/ ;; esac; done"}
}

const jsBase = "function add(a, b) { return a + b; }\nfunction double(a) {\n  return add(a, a);\n}\nmodule.exports = { add, double };\n"

const jsHonest = "// Sums.\nfunction add(a, b) {\n  return b + a;\n}\nfunction double(a) {\n  return 2 * a;\n}\nmodule.exports = { add, double };\n"

func esm(text string) string {
	return strings.Replace(text, "module.exports = { add, double };", "export { add, double };", 1)
}

const rubyBase = "def add(a, b)\n  a + b\nend\n\ndef double(a)\n  add(a, a)\nend\n"

const rubyHonest = "# Sums.\ndef add(a, b)\n  [a, b].sum\nend\n\ndef double(a)\n  2 * a\nend\n"

// rubyTwice avoids the name that RSpec gives its stand-ins.
func rubyTwice(text string) string { return strings.ReplaceAll(text, "double", "twice") }

func realRunnerClaims(t *testing.T) map[string]runnerClaim {
	all := map[string]runnerClaim{
		"pytest": {
			runner: "pytest",
			claim: claim{
				need: "pytest", commands: []string{"pytest -q"},
				base: files{
					"calc.py": pythonBase, "conftest.py": "",
					"tests/test_calc.py": "import pytest\n\nimport calc\n\n\n@pytest.mark.parametrize(\"a,b,want\", [(1, 2, 3), (2, 2, 4)])\ndef test_add(a, b, want):\n    assert calc.add(a, b) == want\n\n\n" +
						"def test_double():\n    assert calc.double(4) == 8\n\n\n@pytest.mark.xfail\ndef test_later():\n    assert False\n",
				},
			},
			honest: files{"calc.py": pythonHonest},
			cheats: map[string]files{
				"exits":                {"calc.py": "import os\nos._exit(0)\n"},
				"equals everything":    {"calc.py": pythonAlways},
				"skips":                {"calc.py": "import pytest\n\n\ndef add(a, b):\n    pytest.skip('no')\n\n\ndef double(a):\n    return 2 * a\n"},
				"patches the runner":   {"calc.py": pythonWrong + "import _pytest.python as p\np.Function.runtest = lambda self: None\n"},
				"patches the report":   {"calc.py": pythonWrong + "import _pytest.reports as r\nr.TestReport.failed = property(lambda s: False)\nr.TestReport.passed = property(lambda s: True)\n"},
				"forges what it knows": {"calc.py": pythonWrong + "import sys\nm = sys.modules['__main__']\nw = m.write\nm.write = lambda fd, b: w(fd, b.replace(b'\"failed\"', b'\"passed\"') if b'test_calc' in b else b)\n"},
				"reads the answers": {"calc.py": "import inspect, re\n\n\ndef add(a, b):\n    for f in inspect.stack():\n        if 'want' in f.frame.f_locals:\n            return f.frame.f_locals['want']\n    return a - b\n\n\ndef double(a):\n    return 8\n",
					"never.txt": ""},
			},
		},
		"cargo test": {
			runner: "cargo test",
			claim: claim{
				need: "cargo", commands: []string{"cargo test --offline"},
				base: files{
					"Cargo.toml":    "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
					"src/lib.rs":    "pub fn add(a: i32, b: i32) -> i32 { a + b }\n\npub fn double(a: i32) -> i32 {\n    add(a, a)\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n",
					"tests/calc.rs": "#[test]\nfn doubles() {\n    assert_eq!(calc::double(4), 8);\n}\n",
				},
			},
			honest: files{"src/lib.rs": "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(1, 1), 2);\n/// ```\npub fn add(a: i32, b: i32) -> i32 {\n    b + a\n}\n\npub fn double(a: i32) -> i32 {\n    2 * a\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    fn helper() -> i32 {\n        3\n    }\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n    #[test]\n    fn more() {\n        assert_eq!(add(0, 3), helper());\n    }\n}\n"},
			cheats: map[string]files{
				"exits":                 {"src/lib.rs": "pub fn add(_a: i32, _b: i32) -> i32 { std::process::exit(0) }\n\npub fn double(_a: i32) -> i32 {\n    std::process::exit(0)\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"},
				"shadows the assertion": {"src/lib.rs": "macro_rules! assert_eq {\n    ($($x:tt)*) => {};\n}\n\npub fn add(a: i32, b: i32) -> i32 { a - b }\n\npub fn double(_a: i32) -> i32 {\n    8\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"},
			},
		},
		"minitest": {
			runner: "minitest",
			claim: claim{
				need: "ruby", commands: []string{"ruby -Ilib -Itest test/calc_test.rb"},
				base: files{
					"lib/calc.rb":       rubyBase,
					"test/calc_test.rb": "require \"minitest/autorun\"\nrequire \"calc\"\n\nclass CalcTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\n\n  def test_double\n    assert_equal 8, double(4)\n  end\nend\n",
				},
			},
			honest: files{"lib/calc.rb": rubyHonest},
			cheats: map[string]files{
				"exits":                 {"lib/calc.rb": "exit!(0)\n"},
				"patches the assertion": {"lib/calc.rb": rubyBase + "module Minitest::Assertions\n  def assert_equal(*) = true\nend\n"},
				"patches the result":    {"lib/calc.rb": "def add(a, b) = a - b\ndef double(a) = 8\nclass Minitest::Result\n  def passed? = true\n  def skipped? = false\nend\n"},
			},
		},
		"rspec": {
			runner: "rspec",
			claim: claim{
				need: "rspec", commands: []string{"rspec"},
				base: files{
					"lib/calc.rb":       rubyTwice(rubyBase),
					"spec/calc_spec.rb": "require \"calc\"\n\nRSpec.describe \"calc\" do\n  it \"adds\" do\n    expect(add(1, 2)).to eq(3)\n  end\n\n  it \"twices\" do\n    expect(twice(4)).to eq(8)\n  end\n\n  it \"waits\"\nend\n",
				},
			},
			honest: files{"lib/calc.rb": rubyTwice(rubyHonest)},
			cheats: map[string]files{
				"exits":               {"lib/calc.rb": "exit!(0)\n"},
				"patches the matcher": {"lib/calc.rb": "def add(a, b) = a - b\ndef twice(a) = 8\nclass RSpec::Matchers::BuiltIn::BaseMatcher\n  def matches?(*) = true\nend\n"},
			},
		},
		"phpunit": {
			runner: "phpunit",
			claim: claim{
				need: "phpunit", commands: []string{"phpunit --bootstrap src/calc.php tests"},
				base: files{
					"src/calc.php":       "<?php\nfunction add($a, $b) { return $a + $b; }\nfunction double($a) {\n    return add($a, $a);\n}\n",
					"tests/CalcTest.php": "<?php\nuse PHPUnit\\Framework\\TestCase;\n\nfinal class CalcTest extends TestCase\n{\n    public function testAdd(): void\n    {\n        $this->assertSame(3, add(1, 2));\n    }\n\n    public function testDouble(): void\n    {\n        $this->assertSame(8, double(4));\n    }\n}\n",
				},
			},
			honest: files{"src/calc.php": "<?php\n// Sums.\nfunction add($a, $b) {\n    return $b + $a;\n}\nfunction double($a) {\n    return 2 * $a;\n}\n"},
			cheats: map[string]files{
				"exits":                        {"src/calc.php": "<?php\nfunction add($a, $b) { exit(0); }\nfunction double($a) { return 8; }\n"},
				"writes the report at the end": {"src/calc.php": "<?php\nregister_shutdown_function(function () { foreach ($_SERVER['argv'] as $i => $a) { if ($a === '--log-junit') { $f = $_SERVER['argv'][$i + 1]; file_put_contents($f, preg_replace('#<(failure|error)[^>]*>.*?</\\1>#s', '', file_get_contents($f))); } } });\nfunction add($a, $b) { return $a - $b; }\nfunction double($a) { return 8; }\n"},
			},
		},
		"ctest": {
			runner: "ctest",
			claim: claim{
				need: "ctest", commands: []string{"cmake -S . -B build && cmake --build build && ctest --test-dir build"},
				base: files{
					"CMakeLists.txt":      "cmake_minimum_required(VERSION 3.16)\nproject(calc C)\nenable_testing()\nadd_executable(calc_test tests/calc_test.c src/calc.c)\ntarget_include_directories(calc_test PRIVATE src)\nadd_test(NAME calc COMMAND calc_test)\nadd_executable(double_test tests/double_test.c src/calc.c)\ntarget_include_directories(double_test PRIVATE src)\nadd_test(NAME double COMMAND double_test)\n",
					"src/calc.h":          "int add(int a, int b);\nint twice(int a);\n",
					"src/calc.c":          "#include \"calc.h\"\n\nint add(int a, int b) { return a + b; }\n\nint twice(int a) { return add(a, a); }\n",
					"tests/calc_test.c":   "#include <assert.h>\n#include \"calc.h\"\n\nint main(void) {\n    assert(add(1, 2) == 3);\n    return 0;\n}\n",
					"tests/double_test.c": "#include <assert.h>\n#include \"calc.h\"\n\nint main(void) {\n    assert(twice(4) == 8);\n    return 0;\n}\n",
				},
			},
			honest: files{"src/calc.c": "#include \"calc.h\"\n\n/* Sums. */\nint add(int a, int b)\n{\n    return b + a;\n}\n\nint twice(int a)\n{\n    return 2 * a;\n}\n"},
			cheats: map[string]files{
				"exits":            {"src/calc.c": "#include \"calc.h\"\n#include <stdlib.h>\n\nint add(int a, int b) { exit(0); return a - b; }\n\nint twice(int a) { return 8; }\n"},
				"is never refuted": {"src/calc.c": "#include \"calc.h\"\n#include <stdlib.h>\n\nvoid __assert_fail(const char *a, const char *f, unsigned l, const char *n) { exit(0); }\n\nint add(int a, int b) { return a - b; }\n\nint twice(int a) { return 8; }\n"},
			},
		},
		"bats": {
			runner: "bats",
			claim: claim{
				need: "bats", commands: []string{"bats tests"},
				base: files{
					"calc.sh":         "add() { echo $(($1 + $2)); }\n",
					"tests/calc.bats": "setup() {\n  . ./calc.sh\n}\n\n@test \"adds\" {\n  [ \"$(add 1 2)\" -eq 3 ]\n}\n\n@test \"adds more\" {\n  result=$(add 2 2)\n  [ \"$result\" -eq 4 ]\n}\n",
				},
			},
			honest: files{"calc.sh": "# Sums.\nadd() {\n  echo $(($2 + $1))\n}\n"},
			cheats: map[string]files{
				"replaces the test program": {"calc.sh": "add() { echo $(($1 - $2)); }\n[() { return 0; }\n"},
				"exits":                     {"calc.sh": "exit 0\n"},
			},
		},
		"tap": {
			runner: "tap", undecided: true,
			claim: claim{
				need: "prove", commands: []string{"prove t"},
				base: files{
					"lib/Calc.pm": "package Calc;\nsub add { return $_[0] + $_[1] }\n1;\n",
					"t/calc.t":    "use lib 'lib';\nuse Test::More tests => 2;\nuse Calc;\nis(Calc::add(1, 2), 3, 'adds');\nis(Calc::add(2, 2), 4, 'adds more');\n",
				},
			},
			honest: files{"lib/Calc.pm": "package Calc;\n# Sums.\nsub add {\n  return $_[1] + $_[0];\n}\n1;\n"},
			cheats: map[string]files{
				"exits":              {"lib/Calc.pm": "package Calc;\nexit 0;\n1;\n"},
				"prints the outcome": {"lib/Calc.pm": "package Calc;\nsub add { print \"ok 1 - adds\\n\"; return 0 }\n1;\n"},
			},
		},
	}
	for name, c := range jsRunnerClaims(t) {
		all[name] = c
	}
	if jar := consoleLauncher(); jar != "" {
		all["junit"] = junitClaim(jar)
	}
	return all
}

func jsRunnerClaims(t *testing.T) map[string]runnerClaim {
	all := map[string]runnerClaim{
		"vitest": {
			claim: claim{base: files{
				"package.json": `{"type": "module", "scripts": {"test": "vitest run"}}`, "calc.js": esm(jsBase),
				"calc.test.js": "import { describe, it, expect } from 'vitest';\nimport { add, double } from './calc.js';\n\ndescribe('calc', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n  it('doubles', () => {\n    expect(double(4)).toEqual(8);\n  });\n  it.todo('waits');\n});\n",
			}},
			honest: files{"calc.js": esm(jsHonest)},
			cheats: map[string]files{
				"exits":                 {"calc.js": "process.exit(0);\nexport const add = 1, double = 1;\n"},
				"patches the assertion": {"calc.js": "import * as v from 'vitest';\nimport { chai } from 'vitest';\nchai.Assertion.overwriteMethod('toBe', () => function () {});\nchai.Assertion.overwriteMethod('toEqual', () => function () {});\nexport const add = (a, b) => a - b, double = () => 8;\n"},
			},
		},
		"jest": {
			claim: claim{base: files{
				"package.json": `{"scripts": {"test": "jest"}, "jest": {"testEnvironment": "node"}}`, "calc.js": jsBase,
				"calc.test.js": "const { add, double } = require('./calc');\n\ndescribe('calc', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n  it('doubles', () => {\n    expect(double(4)).toEqual(8);\n  });\n  it.todo('waits');\n});\n",
			}},
			honest: files{"calc.js": jsHonest},
			cheats: map[string]files{
				"exits":                 {"calc.js": "process.exit(0);\n"},
				"patches the assertion": {"calc.js": "const was = global.expect;\nglobal.expect = Object.assign((v) => new Proxy({}, { get: () => () => {} }), was);\nmodule.exports = { add: (a, b) => a - b, double: () => 8 };\n"},
				"extends the matcher":   {"calc.js": "expect.extend({ toBe: () => ({ pass: true }), toEqual: () => ({ pass: true }) });\nmodule.exports = { add: (a, b) => a - b, double: () => 8 };\n"},
			},
		},
		"mocha": {
			claim: claim{base: files{
				"package.json": `{"scripts": {"test": "mocha"}}`, "calc.js": jsBase,
				"test/calc.js": "const assert = require('assert');\nconst { add, double } = require('../calc');\n\ndescribe('calc', () => {\n  it('adds', () => {\n    assert.strictEqual(add(1, 2), 3);\n  });\n  it('doubles', () => {\n    assert.equal(double(4), 8);\n  });\n  it('waits');\n});\n",
			}},
			honest: files{"calc.js": jsHonest},
			cheats: map[string]files{
				"exits":                 {"calc.js": "process.exit(0);\n"},
				"patches the assertion": {"calc.js": "const assert = require('assert');\nassert.strictEqual = assert.equal = () => {};\nmodule.exports = { add: (a, b) => a - b, double: () => 8 };\n"},
				"patches the runner":    {"calc.js": "const r = require.cache[Object.keys(require.cache).find((k) => k.endsWith('mocha/lib/runnable.js'))];\nif (r) r.exports.prototype.run = function (done) { done(); };\nmodule.exports = { add: (a, b) => a - b, double: () => 8 };\n"},
			},
		},
	}
	for name, c := range all {
		c.runner, c.need, c.commands, c.setup = name, "npm", []string{"npm test"}, modules(t, name)
		all[name] = c
	}
	return all
}

// consoleLauncher returns JUnit's launcher with all that it needs, "" where the
// system's packages bring none.
func consoleLauncher() string {
	found, _ := filepath.Glob("/usr/share/java/junit-platform-console-standalone.jar") // the pattern is right
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

func junitClaim(jar string) runnerClaim {
	return runnerClaim{
		runner: "junit",
		claim: claim{
			need: "javac",
			commands: []string{
				"mkdir -p out && javac -cp " + jar + " -d out $(find src -name '*.java')",
				"java -jar " + jar + " -cp out --scan-classpath out",
			},
			base: files{
				"src/calc/Calc.java":     "package calc;\n\npublic class Calc {\n    public static int add(int a, int b) { return a + b; }\n\n    public static int twice(int a) {\n        return add(a, a);\n    }\n}\n",
				"src/calc/CalcTest.java": "package calc;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;\n\nclass CalcTest {\n    @Test\n    void adds() {\n        assertEquals(3, Calc.add(1, 2));\n    }\n\n    @Test\n    void doubles() {\n        assertEquals(8, Calc.twice(4));\n    }\n}\n",
			},
		},
		honest: files{"src/calc/Calc.java": "package calc;\n\npublic class Calc {\n    /** Adds. */\n    public static int add(int a, int b) {\n        return b + a;\n    }\n\n    public static int twice(int a) {\n        return 2 * a;\n    }\n}\n"},
		cheats: map[string]files{
			"exits": {"src/calc/Calc.java": "package calc;\n\npublic class Calc {\n    public static int add(int a, int b) { System.exit(0); return 0; }\n\n    public static int twice(int a) {\n        return 8;\n    }\n}\n"},
		},
	}
}

// TestRealAVerifySaysWhichTestsPassed: the same of the runners that a package
// brings, called by npx.
func TestRealAVerifySaysWhichTestsPassed(t *testing.T) {
	pace.Soak(t, "TestRealOwnCalls holds vitest to the same, and make long other runners")
	t.Parallel()
	for name, command := range map[string]string{"vitest": "npx vitest run", "jest": "npx jest"} {
		t.Run(name, func(t *testing.T) {
			c := realRunnerClaims(t)[name]
			c.commands = []string{command}
			c.cheats = someCheats(t, c.cheats)
			checkOwn(t, c)
		})
	}
}
