package proof

import "testing"

// A package of the tree that is there for tests alone is evidence, new files in
// it as well; one that product depends on too is product.
func TestPackagesForTestsAlone(t *testing.T) {
	m := survey1(t, memory{
		"Cargo.toml":             "[package]\nname = \"ledger\"\nversion = \"1.0.0\"\n\n[dependencies]\nmoney = { path = \"crates/money\" }\n\n[dev-dependencies]\nsame = { path = \"crates/same\" }\nmoney = { path = \"crates/money\" }\nrand = \"1\"\n\n[target.'cfg(unix)'.dev-dependencies]\nunixy = { path = \"./crates/unixy\" }\n",
		"src/lib.rs":             "pub fn add() {}\n",
		"crates/same/Cargo.toml": "[package]\nname = \"same\"\n", "crates/same/src/lib.rs": "pub fn same() {}\n",
		"crates/unixy/src/lib.rs": "pub fn x() {}\n", "crates/money/Cargo.toml": "[package]\nname = \"money\"\n", "crates/money/src/lib.rs": "pub fn m() {}\n",
		"tests/calc.rs": "#[test]\nfn adds() { same::same(); }\n",
	}, "cargo test")
	sees(t, m, Evidence, "crates/same/src/lib.rs crates/same/src/new.rs crates/unixy/src/lib.rs tests/calc.rs")
	sees(t, m, Product, "src/lib.rs crates/money/src/lib.rs crates/money/src/new.rs")

	js := survey1(t, memory{
		"package.json": `{"devDependencies": {"judge": "file:./judge", "both": "link:both"}, "dependencies": {"both": "file:both"}}`,
		"index.js":     "require('both')\n", "judge/index.js": "exports.same = (a, b) => a === b\n", "judge/package.json": `{"main": "index.js"}`, "both/index.js": "exports.x = 1\n",
		"a.test.js": "const { same } = require('judge')\ntest('a', () => {})\n",
	}, "npm test")
	sees(t, js, Evidence, "judge/index.js judge/new.js a.test.js")
	sees(t, js, Product, "index.js both/index.js")
}

// So it is of packages of Python, Ruby and PHP, in whatever layout they stand.
func TestPackagesForTestsAloneByPath(t *testing.T) {
	for name, c := range map[string]struct{ tree, command, evidence, product string }{
		"uv": {`-- pyproject.toml --
[project]
name = "ledger"
dependencies = ["money"]
[dependency-groups]
dev = ["pytest", "like_ness>=1", "money"]
[tool.uv.sources]
like-ness = { path = "likeness", editable = true }
money = { path = "money" }
-- src/ledger/calc.py --
def add(a, b):
    return a + b
-- likeness/src/like_ness/__init__.py --
def same(a, b):
    return a == b
-- money/src/money/__init__.py --
X = 1
-- tests/test_calc.py --
from like_ness import same
from ledger.calc import add
`, "pytest", "likeness/src/like_ness/__init__.py likeness/src/like_ness/new.py", "src/ledger/calc.py money/src/money/__init__.py"},
		"an extra and a reference": {`-- pyproject.toml --
[project]
name = "ledger"
optional-dependencies = { test = ["likeness @ file:./likeness"], fast = ["money @ file:money"] }
-- src/ledger/calc.py --
X = 1
-- likeness/src/likeness/__init__.py --
Y = 1
-- money/src/money/__init__.py --
Z = 1
-- tests/test_calc.py --
from likeness import Y
`, "pytest", "likeness/src/likeness/__init__.py", "src/ledger/calc.py money/src/money/__init__.py"},
		"poetry": {`-- pyproject.toml --
[tool.poetry.dependencies]
money = { path = "money" }
[tool.poetry.group.test.dependencies]
likeness = { path = "./likeness", develop = true }
[tool.poetry.group.web.dependencies]
pages = { path = "pages" }
-- src/ledger/calc.py --
X = 1
-- likeness/src/likeness/__init__.py --
Y = 1
-- money/src/money/__init__.py --
Z = 1
-- pages/src/pages/__init__.py --
P = 1
-- tests/test_calc.py --
from likeness import Y
`, "pytest", "likeness/src/likeness/__init__.py", "src/ledger/calc.py money/src/money/__init__.py pages/src/pages/__init__.py"},
		"requirements": {`-- requirements.txt --
./money
-- requirements-dev.txt --
-e ./likeness[all]
pytest
-- src/ledger/calc.py --
X = 1
-- likeness/src/likeness/__init__.py --
Y = 1
-- money/src/money/__init__.py --
Z = 1
-- tests/test_calc.py --
from likeness import Y
`, "pytest", "likeness/src/likeness/__init__.py", "src/ledger/calc.py money/src/money/__init__.py"},
		"packages that are developed here": {`-- pyproject.toml --
[dependency-groups]
dev = ["auth", "shop"]
[tool.uv.sources]
auth = { path = "packages/auth" }
shop = { path = "packages/shop" }
-- packages/auth/src/auth/__init__.py --
X = 1
-- packages/shop/src/shop/__init__.py --
Y = 1
-- tests/test_all.py --
from auth import X
from shop import Y
`, "pytest", "tests/test_all.py", "packages/auth/src/auth/__init__.py packages/shop/src/shop/__init__.py"},
		"a package with tests of its own": {`-- requirements-dev.txt --
-e ./packages/auth
-- app/main.py --
X = 1
-- packages/auth/src/auth/__init__.py --
X = 1
-- packages/auth/tests/test_auth.py --
from auth import X
-- tests/test_main.py --
from app.main import X
`, "pytest", "tests/test_main.py", "packages/auth/src/auth/__init__.py app/main.py"},
		"bundler": {`-- Gemfile --
source "https://rubygems.org"
gem "money", path: "money"
group :development, :test do
  gem "likeness", path: "likeness"
end
gem "alike", path: "alike", group: :test
group :test, :production do
  gem "both", path: "both"
end
-- lib/calc.rb --
X = 1
-- likeness/lib/likeness.rb --
Y = 1
-- alike/lib/alike.rb --
A = 1
-- both/lib/both.rb --
B = 1
-- money/lib/money.rb --
Z = 1
-- spec/calc_spec.rb --
require "likeness"
describe("x") { it("y") { expect(1).to eq(1) } }
`, "rspec", "likeness/lib/likeness.rb alike/lib/alike.rb alike/lib/new.rb", "lib/calc.rb money/lib/money.rb both/lib/both.rb"},
		"composer": {`-- composer.json --
{"repositories": [{"type": "path", "url": "likeness"}, {"type": "path", "url": "./money"}], "require": {"l/money": "*"}, "require-dev": {"l/likeness": "*", "l/money": "*"}}
-- src/Calc.php --
<?php class Calc {}
-- likeness/composer.json --
{"name": "l/likeness", "autoload": {"psr-4": {"L\\": "src/"}}}
-- likeness/src/Same.php --
<?php class Same {}
-- money/composer.json --
{"name": "l/money"}
-- money/src/Money.php --
<?php class Money {}
-- tests/CalcTest.php --
<?php class CalcTest extends PHPUnit\Framework\TestCase { public function testX() { $this->assertTrue(true); } }
`, "phpunit", "likeness/src/Same.php", "src/Calc.php money/src/Money.php"},
	} {
		t.Run(name, func(t *testing.T) {
			m := survey1(t, tree(c.tree), c.command)
			sees(t, m, Evidence, c.evidence)
			sees(t, m, Product, c.product)
		})
	}
}
