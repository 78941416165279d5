package proof

import "testing"

// What tests import by a name that settings or flags lead into the tree is theirs,
// unless product imports it as well, or tests are named after what stands there.
func TestHelpersThatSettingsLeadTo(t *testing.T) {
	for name, c := range map[string]struct{ tree, command, evidence, product string }{
		"pythonpath": {`-- pyproject.toml --
[tool.pytest.ini_options]
pythonpath = ["shim", "src"]
-- src/calc.py --
def add(a, b):
    return a + b
-- tests/test_calc.py --
from calc import add
from fast_equal import same


def test_add():
    assert same(add(2, 3), 5)
-- shim/fast_equal.py --
def same(a, b):
    return a == b
`, "pytest", "shim/fast_equal.py shim/fast_equal/__init__.py", "src/calc.py"},
		"libs of rake": {`-- Rakefile --
Rake::TestTask.new { |t| t.libs << "shim" << "test" << "lib" }
-- lib/calc.rb --
def add(a, b) = a + b
-- test/calc_test.rb --
require "minitest/autorun"
require "calc"
require "fast_equal"
class CalcTest < Minitest::Test
  def test_add
    assert same(add(2, 3), 5)
  end
end
-- shim/fast_equal.rb --
def same(a, b) = a == b
`, "rake test", "shim/fast_equal.rb", "lib/calc.rb"},
		"-I": {`-- Makefile --
test:
	cc -Ishim -Iinclude -o t tests/test_calc.c src/calc.c && ./t
-- include/calc.h --
int add(int a, int b);
-- src/calc.c --
#include "calc.h"
int add(int a, int b) { return a + b; }
-- tests/test_calc.c --
#include "calc.h"
#include "same.h"
int main(void) { CHECK(same(add(2, 3), 5)); return 0; }
-- shim/same.h --
#define CHECK(x) if (!(x)) return 1
static int same(int a, int b) { return a == b; }
`, "make test", "shim/same.h", "src/calc.c include/calc.h"},
		"autoload": {`-- composer.json --
{"autoload":{"psr-4":{"Ledger\\":"src/"}},"autoload-dev":{"psr-4":{"Shim\\":"shim/"}}}
-- src/Calc.php --
<?php
namespace Ledger;
class Calc { public static function add($a, $b) { return $a + $b; } }
-- tests/CalcTest.php --
<?php
use Ledger\Calc;
use Shim\Equal;
class CalcTest extends PHPUnit\Framework\TestCase { public function testAdd() { $this->assertTrue(Equal::same(Calc::add(2, 3), 5)); } }
-- shim/Equal.php --
<?php
namespace Shim;
class Equal { public static function same($a, $b) { return $a === $b; } }
`, "phpunit", "shim/Equal.php", "src/Calc.php"},
		"alias": {`-- package.json --
{"name":"ledger","type":"module","scripts":{"test":"vitest run"}}
-- vitest.config.js --
export default { resolve: { alias: { same: '/shim/equal.js' } } };
-- src/calc.js --
export const add = (a, b) => a + b;
-- test/calc.test.js --
import { add } from '../src/calc.js';
import { same } from 'same';
test('add', () => { expect(same(add(2, 3), 5)).toBe(true); });
-- shim/equal.js --
export const same = (a, b) => a === b;
`, "npm test", "shim/equal.js", "src/calc.js"},
		"workspace": {`-- package.json --
{"name":"ledger","workspaces":["packages/*"],"scripts":{"test":"vitest run"}}
-- packages/calc/package.json --
{"name":"@l/calc","main":"lib.js","devDependencies":{"@l/same":"*"}}
-- packages/calc/lib.js --
export const add = (a, b) => a + b;
-- packages/calc/calc.test.js --
import { add } from './lib.js';
import { same } from '@l/same';
test('add', () => { expect(same(add(2, 3), 5)).toBe(true); });
-- packages/same/package.json --
{"name":"@l/same","main":"main.js"}
-- packages/same/main.js --
export const same = (a, b) => a === b;
`, "npm test", "packages/same/main.js", "packages/calc/lib.js"},
		"moduleDirectories": {`-- package.json --
{"name":"ledger","scripts":{"test":"jest"},"jest":{"moduleDirectories":["shim","node_modules"]}}
-- src/calc.js --
exports.add = (a, b) => a + b;
-- test/calc.test.js --
const { add } = require('../src/calc');
const same = require('equal-lite');
test('add', () => { expect(same(add(2, 3), 5)).toBe(true); });
-- shim/equal-lite.js --
module.exports = (a, b) => a === b;
`, "npm test", "shim/equal-lite.js shim/equal-lite/index.js", "src/calc.js"},
		"a dependency of the name": {`-- package.json --
{"name":"ledger","scripts":{"test":"jest"},"devDependencies":{"equal-lite":"1.0.0"}}
-- src/calc.js --
exports.add = (a, b) => a + b;
-- test/calc.test.js --
const { add } = require('../src/calc');
const same = require('equal-lite');
test('add', () => { expect(same(add(2, 3), 5)).toBe(true); });
-- web/equal-lite.js --
module.exports = (a, b) => a === b;
`, "npm test", "", "web/equal-lite.js src/calc.js"},
		"product imports it too": {`-- pyproject.toml --
[tool.pytest.ini_options]
pythonpath = ["shared", "src"]
-- src/calc.py --
from fast_equal import same
-- tests/test_calc.py --
import calc
from fast_equal import same
-- shared/fast_equal.py --
def same(a, b):
    return a == b
`, "pytest", "", "shared/fast_equal.py src/calc.py"},
		"product of a root of its own": {`-- pyproject.toml --
[tool.pytest.ini_options]
pythonpath = ["backend"]
-- backend/shop/users.py --
def name(u):
    return u
-- backend/shop/orders.py --
def total(o):
    return o
-- tests/test_users.py --
from shop.users import name
from shop.orders import total
`, "pytest", "", "backend/shop/users.py backend/shop/orders.py"},
		"a package that is shipped": {`-- package.json --
{"name":"ledger","workspaces":["packages/*"],"scripts":{"test":"vitest run"}}
-- packages/calc/package.json --
{"name":"@l/calc","main":"lib.js","dependencies":{"@l/same":"*"}}
-- packages/calc/lib.js --
import { same } from '@l/same';
-- packages/calc/calc.test.js --
import { add } from './lib.js';
import { same } from '@l/same';
-- packages/same/package.json --
{"name":"@l/same","main":"main.js"}
-- packages/same/main.js --
export const same = (a, b) => a === b;
`, "npm test", "", "packages/same/main.js packages/calc/lib.js"},
	} {
		t.Run(name, func(t *testing.T) {
			m := survey1(t, tree(c.tree), c.command)
			sees(t, m, Evidence, c.evidence)
			sees(t, m, Product, c.product)
		})
	}
}
