package proof

import (
	"strings"
	"testing"
)

// The names of the cheats that once got through, by ecosystem, and kin of them.

var pythonTree = tree(`
-- calc.py --
def add(a, b): return a + b
-- tests/test_calc.py --
import calc
def test_add(): assert calc.add(1, 2) == 3
-- requirements.txt --
pytest
-- pytest.ini --
[pytest]
addopts = -q
-- Makefile --
include build.inc
test:
	PYTHONPATH=. python -m pytest
	./ci/check
-- build.inc --
PY=python
-- ci/check --
#!/bin/sh
python -m unittest
python calc.py | diff - golden/out.txt
-- golden/out.txt --
3
-- support.py --
def same(a, b):
    assert a == b
-- tests/test_more.py --
from support import same
import calc
def test_more(): same(calc.add(1, 1), 2)
-- myapp/__init__.py --
-- myapp/core.py --
import calc
-- myapp/rates.json --
{}
-- README.md --
x
`)

var nodeTree = tree(`
-- package.json --
{"name": "calc", "main": "calc.js", "scripts": {"test": "scripts/run.sh && jest && node --test check/*.mjs", "start": "node server.js"},
 "jest": {"setupFiles": ["<rootDir>/src/setupTests.js", "./src/env"], "transform": {"^.+\\.js$": "<rootDir>/build/transform"}, "testMatch": ["**/verify/**/*.js"]},
 "dependencies": {"left-pad": "^1.0.0"}, "devDependencies": {"expect": "^29.0.0"}}
-- package-lock.json --
{"name": "calc", "lockfileVersion": 3, "packages": {"": {"dependencies": {"left-pad": "^1.0.0"}},
 "node_modules/left-pad": {"version": "1.3.0", "resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz", "integrity": "sha512-x"}}}
-- calc.js --
exports.add = (a, b) => a + b
-- server.js --
require('./calc'); require('fs').readFileSync('views/page.txt')
-- views/page.txt --
x
-- test/calc.test.js --
const { add } = require('../calc'); const expect = require('expect'); const h = require('../lib-test/helper')
require('fs').readFileSync('data/cases.json')
-- lib-test/helper.js --
exports.close = (a, b) => { if (a !== b) throw new AssertionError() }
-- data/cases.json --
[]
-- src/setupTests.js --
global.x = 1
-- src/env.js --
global.y = 1
-- src/app.js --
require('../calc')
-- build/transform.js --
exports.process = s => s
-- scripts/run.sh --
#!/bin/sh
node ci/all.js
-- ci/all.js --
require('./one')
-- ci/one.js --
1
-- check/a.mjs --
import test from 'node:test'
-- verify/b.js --
1
`)

var goTree = tree(`
-- go.mod --
module example.com/calc

go 1.22
-- calc.go --
package calc
import _ "embed"
//go:embed rates.txt
var rates string
func Add(a, b int) int { return a + b }
-- calc_test.go --
package calc
import ("testing"; "example.com/calc/internal/check")
func TestAdd(t *testing.T) { check.Same(t, Add(1, 2), 3) }
-- rates.txt --
1
-- internal/check/check.go --
package check
import "testing"
func Same(t *testing.T, a, b int) {}
-- internal/pure/pure.go --
package pure
func Same(a, b int) bool { return a == b }
-- e2e_test.go --
package calc_test
import ("testing"; "example.com/calc"; "example.com/calc/internal/pure")
func TestPure(t *testing.T) { pure.Same(calc.Add(1, 2), 3) }
-- cmd/calc/main.go --
package main
import ("example.com/calc"; "example.com/calc/store")
func main() {}
-- store/store.go --
package store
-- testdata/in.txt --
1
`)

var rustTree = tree(`
-- Cargo.toml --
[package]
name = "calc"
version = "0.1.0"
[[test]]
name = "all"
path = "checks/all.rs"
[dependencies]
serde = "1"
-- Cargo.lock --
version = 3
[[package]]
name = "calc"
version = "0.1.0"
dependencies = ["serde"]
[[package]]
name = "serde"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "x"
-- src/lib.rs --
pub mod add;
#[cfg(test)]
mod helper;
#[cfg(test)]
#[path = "odd/place.rs"]
mod odd;
-- src/add.rs --
pub fn add(a: i32, b: i32) -> i32 { a + b }
-- src/helper.rs --
pub fn x() {}
-- src/odd/place.rs --
pub fn x() {}
-- checks/all.rs --
use calc::add::add;
#[test] fn a() { assert_eq!(add(1, 2), 3); }
-- build.rs --
fn main() {}
`)

func TestBreaksPython(t *testing.T) {
	m := survey1(t, pythonTree, "make test")
	sees(t, m, Evidence, `tests/test_calc.py tests/test_aaa.py tests/__init__.py tests/test_calc/__init__.py tests/__pycache__/test_calc.cpython-311.pyc
		pytest.py unittest.py json.py sitecustomize.py usercustomize.py evil-1.0.dist-info/entry_points.txt evil.egg-info/PKG-INFO x.pth conftest.py myapp/conftest.py
		ci/check build.inc Makefile golden/out.txt golden/more.txt support.py support/__init__.py .env .env.test .gitignore .gitattributes pytest.ini .pytest.ini pytest.toml
		tox.ini setup.cfg setup.py noxfile.py .coveragerc _pytest/__init__.py pluggy.py src/pytest.py random.py typing.py inspect/__init__.py ci/other.py scripts/new.sh
		tools/x.py Dockerfile compose.yaml .github/workflows/x.yml GNUmakefile x.mk vendor/a.py new.cfg settings.yaml pyproject.toml myapp/tests/x.py
		requirements-dev.txt constraints.txt calc.so myapp/calc.pyd fixtures/x.json Jenkinsfile .pre-commit-config.yaml tests/sub/x.txt data.bin weird go.work`)
	sees(t, m, Product, `calc.py myapp/core.py myapp/json.py myapp/types.py myapp/new/thing.py myapp/rates.json myapp/more.json README.md docs/guide.md logo.png new_feature.py
		newpkg/__init__.py newpkg/types.py templates/x.html static/x.json LICENSE CHANGELOG.md`)
	sees(t, m, Parts, "requirements.txt")
}

func TestBreaksNode(t *testing.T) {
	m := survey1(t, nodeTree, "npm test")
	sees(t, m, Evidence, `test/aaa.test.js test/node_modules/expect/index.js node_modules/.bin/jest node_modules/expect/index.js .npmrc .yarnrc.yml .env .env.local .env.test
		src/setupTests.js src/env.js build/transform.js build/other.js ci/all.js ci/one.js ci/two.js scripts/run.sh check/a.mjs check/new.mjs verify/b.js verify/c.js lib-test/helper.js
		lib-test/helper/index.js lib-test/helper.ts data/cases.json jest.config.js vitest.config.ts babel.config.js .babelrc tsconfig.json tsconfig.test.json .mocharc.js
		expect.js jest.js assert.js packages/a/package.json bunfig.toml deno.json turbo.json nx.json lerna.json pnpm-workspace.yaml __mocks__/calc.js x.json
		src/a.test.js src/a.spec.tsx test-x.js src/__tests__/a.js src/__snapshots__/a.snap .swcrc karma.conf.js yarn.lock vendor/x.js src/env.json.js=require("node:test")
		expect/index.js gulpfile.js vite.config.mjs playwright.config.ts cypress/x.js e2e/x.js`)
	sees(t, m, Product, `calc.js server.js src/app.js src/new.js src/path.js src/events.ts src/app.css views/page.txt src/data.json src/app.config.ts new.js public/index.html`)
	sees(t, m, Parts, "package.json package-lock.json")
}

func TestBreaksGo(t *testing.T) {
	m := survey1(t, goTree, "go test ./...")
	sees(t, m, Evidence, `calc_test.go new_test.go store/store_test.go internal/check/check.go internal/check/more.go internal/pure/pure.go internal/pure/new.go sub/go.mod go.work vendor/modules.txt vendor/x/x.go testdata/in.txt testdata/new.go
		.golangci.yml magefile.go x_test.go tools/gen.go .cargo/config store/x.go=package+store~import+"testing"`)
	sees(t, m, Product, `calc.go rates.txt cmd/calc/main.go cmd/calc/flags.go store/store.go store/mem.go store/sql/schema.sql new/new.go internal/new/x.go`)
	sees(t, m, Parts, "go.mod")
}

func TestBreaksRust(t *testing.T) {
	m := survey1(t, rustTree, "cargo test")
	sees(t, m, Evidence, `.cargo/config .cargo/config.toml build.rs rust-toolchain rust-toolchain.toml checks/all.rs checks/more.rs tests/it.rs src/helper.rs src/odd/place.rs src/helper/deep.rs clippy.toml
		sub/Cargo.toml benches/x.rs src/calc_test.rs .config/nextest.toml Cross.toml`)
	sees(t, m, Product, `src/lib.rs src/add.rs src/new.rs src/bin/x.rs`)
	sees(t, m, Parts, `Cargo.toml Cargo.lock src/new.rs=#[test]+fn+a(){}`)
}

func TestBreaksOthers(t *testing.T) {
	c := survey1(t, tree(`
-- Makefile --
test: calc_check
	./calc_check < cases.txt
calc_check: calc.c check.c
	cc -o calc_check calc.c check.c
-- calc.c --
#include "calc.h"
#include <assert.h>
int add(int a, int b) { return a + b; }
-- calc.h --
int add(int, int);
-- test_calc.c --
#include "calc.h"
#include <assert.h>
int main(void) { assert(add(1, 2) == 3); }
-- cases.txt --
1
-- CMakeLists.txt --
add_library(calc calc.c)
add_executable(verify verify.c)
add_test(NAME v COMMAND verify)
-- verify.c --
#include "calc.h"
int main(void) { return add(1, 2) != 3; }
`), "make test")
	sees(t, c, Evidence, `assert.h src/stdio.h test_calc.c cases.txt Makefile CMakeLists.txt CTestConfig.cmake verify.c x.cmake calc.o build.ninja include/assert.h`)
	sees(t, c, Product, `calc.c calc.h src/new.c src/assert.c include/new.h`)

	ruby := survey1(t, tree(`
-- Gemfile --
source "https://rubygems.org"
gem "rack"
-- lib/calc.rb --
require "calc/ops"
-- lib/calc/ops.rb --
1
-- .rspec --
--require ./boot.rb
--pattern checks/**/*_c.rb
-- boot.rb --
1
-- checks/add_c.rb --
require "rspec"
require "calc"
-- Rakefile --
task(:test) { sh "ruby verify/all.rb" }
-- verify/all.rb --
require_relative "../lib/calc"
`), "bundle exec rspec", "rake test")
	sees(t, ruby, Evidence, `boot.rb .rspec checks/add_c.rb checks/new_c.rb spec/spec_helper.rb test/test_helper.rb lib/minitest.rb lib/rspec/core.rb lib/set.rb lib/rack.rb Rakefile verify/all.rb x.gemspec lib/json.rb .rubocop.yml`)
	sees(t, ruby, Product, `lib/calc.rb lib/calc/ops.rb lib/calc/new.rb lib/calc/json.rb README.md`)

	php := survey1(t, tree(`
-- composer.json --
{"require": {"php": ">=8"}, "autoload": {"psr-4": {"Calc\\": "src/"}}, "scripts": {"test": "phpunit -c conf/unit.xml"}}
-- phpunit.xml --
<phpunit bootstrap="boot/strap.php"><testsuites><testsuite name="a"><directory>checks</directory></testsuite></testsuites><source><include><directory>src</directory></include></source></phpunit>
-- boot/strap.php --
<?php require 'vendor/autoload.php';
-- conf/unit.xml --
<phpunit/>
-- src/Calc.php --
<?php namespace Calc; class Calc {}
-- checks/CalcCheck.php --
<?php use PHPUnit\Framework\TestCase; class CalcCheck extends TestCase {}
`), "composer test")
	sees(t, php, Evidence, `boot/strap.php conf/unit.xml checks/CalcCheck.php checks/New.php phpunit.xml phpunit.xml.dist vendor/phpunit/x.php tests/CalcTest.php phpstan.neon src/XTest.php composer.lock`)
	sees(t, php, Product, `src/Calc.php src/New.php`)

	java := survey1(t, tree(`
-- pom.xml --
<project/>
-- src/main/java/a/b/Calc.java --
package a.b; class Calc { Ops o; }
-- src/main/java/a/b/Ops.java --
package a.b; class Ops {}
-- src/test/java/a/b/CalcTest.java --
package a.b; import org.junit.Test; import org.assertj.core.api.Assertions;
-- src/test/resources/x.json --
{}
`), "mvn test")
	sees(t, java, Evidence, `pom.xml build.gradle settings.gradle.kts src/main/java/org/junit/Assert.java src/main/java/org/assertj/core/X.java src/main/java/java/lang/X.java src/test/java/a/b/New.java src/test/resources/x.json gradle.properties
		junit-platform.properties lib/x.jar Directory.Build.props a.csproj mvnw .mvn/jvm.config`)
	sees(t, java, Product, `src/main/java/a/b/Calc.java src/main/java/a/b/New.java src/main/resources/app.properties src/main/resources/x.json`)

	shell := survey1(t, tree(`
-- greet.sh --
echo hi
-- test/greet.bats --
@test "greets" { run ./greet.sh; }
-- release.sh --
echo
`), "bats test")
	sees(t, shell, Product, `greet.sh`)
	sees(t, shell, Evidence, `release.sh test/greet.bats test/x.bats new.sh`)
}

func TestManifestParts(t *testing.T) {
	node := survey1(t, nodeTree, "npm test")
	base := nodeTree["package.json"]
	edit := func(old, new string) string {
		if !strings.Contains(base, old) {
			t.Fatalf("%q is not in the manifest", old)
		}
		return strings.Replace(base, old, new, 1)
	}
	dep := `"left-pad": "^1.0.0"`
	for _, tt := range []struct {
		name, now string
		how       How
		holds     string
	}{
		{"new", edit(dep, dep+`, "lodash": "^4.17.21"`), Same, "lodash"},
		{"described", edit(`"main"`, `"description": "x", "main"`), Same, `"x"`},
		{"file", edit(dep, dep+`, "evil": "file:./evil"`), Grew, ""},
		{"git", edit(dep, dep+`, "evil": "github:a/b"`), Grew, ""},
		{"alias", edit(dep, dep+`, "evil": "npm:other@1"`), Grew, ""},
		{"link", edit(dep, dep+`, "evil": "link:../x"`), Grew, ""},
		{"test library", edit(dep, dep+`, "jest-skip": "1.0.0"`), Grew, ""},
		{"imported", edit(dep, dep+`, "fs": "1.0.0"`), Grew, ""},
		{"raised", edit("^1.0.0", "^2.0.0"), Changed, ""},
		{"scripts", edit("scripts/run.sh && jest", "true"), Changed, ""},
		{"scripts and dependency", strings.Replace(edit("scripts/run.sh && jest", "true"), dep, dep+`, "lodash": "^4.17.21"`, 1), Changed, "lodash"},
		{"workspaces", edit(`"main"`, `"workspaces": ["x"], "main"`), Changed, ""},
		{"imports", edit(`"main"`, `"imports": {"#x": "./x.js"}, "main"`), Changed, ""},
		{"overrides", edit(`"main"`, `"overrides": {"expect": "1"}, "main"`), Changed, ""},
		{"type", edit(`"main"`, `"type": "module", "main"`), Changed, ""},
		{"bin", edit(`"main"`, `"bin": {"jest": "x.js"}, "main"`), Changed, ""},
		{"dev", edit(`"expect"`, `"faker": "1.0.0", "expect"`), Grew, ""},
		{"twice", edit(`"main"`, `"main": "evil.js", "main"`), Changed, ""},
	} {
		got := node.Mix("package.json", []byte(base), []byte(tt.now))
		if got.How != tt.how || tt.holds != "" && !strings.Contains(string(got.Content), tt.holds) {
			t.Errorf("%s: %s %s\n%s", tt.name, got.How, got.Note, got.Content)
		}
		if tt.how != Same && tt.holds == "" && string(got.Content) != base {
			t.Errorf("%s: is not as trusted\n%s", tt.name, got.Content)
		}
		if tt.name == "scripts and dependency" && !strings.Contains(string(got.Content), "scripts/run.sh && jest") {
			t.Errorf("%s: the script is not put back", tt.name)
		}
	}

	rust := survey1(t, rustTree, "cargo test")
	cargo := rustTree["Cargo.toml"]
	for _, tt := range []struct {
		add string
		how How
	}{
		{"rand = \"0.8\"\n", Same}, {"rand = { version = \"0.8\", features = [\"std\"] }\n", Same}, {"evil = { path = \"evil\" }\n", Changed}, {"evil = { git = \"https://x\" }\n", Changed},
		{"[package.autotests]\n", Changed}, {"[patch.crates-io]\nserde = { path = \"x\" }\n", Changed}, {"[build-dependencies]\ncc = \"1\"\n", Changed}, {"[workspace]\nmembers = []\n", Changed}, {"[profile.test]\nopt-level = 3\n", Changed},
	} {
		if got := rust.Mix("Cargo.toml", []byte(cargo), []byte(cargo+tt.add)); got.How != tt.how {
			t.Errorf("%q: %s %s", tt.add, got.How, got.Note)
		}
	}

	goMap := survey1(t, goTree)
	mod := goTree["go.mod"]
	for _, tt := range []struct {
		add string
		how How
	}{
		{"\nrequire github.com/x/y v1.2.3\n", Same}, {"\nrequire (\n\tgithub.com/x/y v1.2.3\n\tgithub.com/x/z v0.1.0 // indirect\n)\n", Same},
		{"\nreplace github.com/x/y => ./y\n", Changed}, {"\nrequire github.com/stretchr/testify v1.2.3\n", Grew}, {"\ntool example.com/x\n", Changed}, {"\nexclude github.com/x/y v1.0.0\n", Changed}, {"\ngodebug x=1\n", Changed},
	} {
		if got := goMap.Mix("go.mod", []byte(mod), []byte(mod+tt.add)); got.How != tt.how {
			t.Errorf("%q: %s %s", tt.add, got.How, got.Note)
		}
	}

	python := survey1(t, tree("-- pyproject.toml --\n[project]\nname = \"x\"\ndependencies = [\"requests>=2\"]\n[tool.pytest.ini_options]\naddopts = \"-q\"\n-- requirements.txt --\nrequests==2.0\n-- Gemfile --\nsource \"x\"\ngem \"rack\"\n-- test_x.py --\nimport yaml\n"))
	for _, tt := range []struct {
		file, was, old, new string
		how                 How
	}{
		{"pyproject.toml", "", `["requests>=2"]`, `["requests>=2", "rich>=13"]`, Same},
		{"pyproject.toml", "", `["requests>=2"]`, `["requests>=2", "rich @ file:///x"]`, Changed},
		{"pyproject.toml", "", `["requests>=2"]`, `["requests>=2", "pytest-skip==1"]`, Changed},
		{"pyproject.toml", "", `["requests>=2"]`, `["requests>=2", "PyYAML"]`, Changed},
		{"pyproject.toml", "", `["requests>=2"]`, `["requests>=3"]`, Changed},
		{"pyproject.toml", "", `-q`, `-q --ignore=x`, Changed},
		{"pyproject.toml", "", `name = "x"`, "name = \"x\"\ndescription = \"y\"", Same},
		{"requirements.txt", "", "requests==2.0\n", "requests==2.0\nrich==13.0\n", Same},
		{"requirements.txt", "", "requests==2.0\n", "requests==2.0\n-e ./evil\n", Changed},
		{"requirements.txt", "", "requests==2.0\n", "requests==2.0\nevil @ https://x/y.whl\n", Grew},
		{"requirements.txt", "", "requests==2.0\n", "# why\nrequests==2.0\n", Same},
		{"requirements.txt", "", "requests==2.0\n", "requests==2.0\n--index-url http://x\n", Changed},
		{"Gemfile", "", "gem \"rack\"\n", "gem \"rack\"\ngem \"puma\", \"~> 6\"\n", Same},
		{"Gemfile", "", "gem \"rack\"\n", "gem \"rack\"\ngem \"puma\", path: \"x\"\n", Changed},
	} {
		base, err := pyTree(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		got := python.Mix(tt.file, []byte(base), []byte(strings.Replace(base, tt.old, tt.new, 1)))
		if got.How != tt.how {
			t.Errorf("%s %q: %s %s", tt.file, tt.new, got.How, got.Note)
		}
	}
}

func pyTree(file string) (string, error) {
	m := tree("-- pyproject.toml --\n[project]\nname = \"x\"\ndependencies = [\"requests>=2\"]\n[tool.pytest.ini_options]\naddopts = \"-q\"\n-- requirements.txt --\nrequests==2.0\n-- Gemfile --\nsource \"x\"\ngem \"rack\"\n")
	content, err := m.Read(file)
	return string(content), err
}
