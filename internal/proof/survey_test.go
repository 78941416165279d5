package proof

import "testing"

func TestPythonTree(t *testing.T) {
	m := survey1(t, tree(`
-- calc.py --
from util import twice
def add(a, b): return a + b
-- util.py --
def twice(a): return a * 2
-- checks.py --
def same(a, b):
    assert a == b
-- test_calc.py --
from calc import add
from checks import same
import json
def test_add():
    for case in json.load(open("cases.json")): same(add(*case[0]), case[1])
-- cases.json --
[]
-- rates.json --
{}
-- app.py --
open("rates.json")
-- pyproject.toml --
[project]
name = "calc"
dependencies = ["requests"]
[tool.pytest.ini_options]
addopts = "-p myplug"
python_files = "check_*.py test_*.py"
-- myplug.py --
x = 1
-- ci/check --
#!/bin/sh
python -m pytest
diff golden/out.txt out
-- golden/out.txt --
1
-- Makefile --
include build.inc
test:
	pytest
-- build.inc --
X=1
-- README.md --
hello
-- requirements.txt --
requests==2.0
`), "ci/check", "make test")
	sees(t, m, Product, `calc.py util.py app.py rates.json README.md new.py docs/x.md calc/new.py`)
	sees(t, m, Parts, `pyproject.toml requirements.txt`)
	sees(t, m, Evidence, `checks.py test_calc.py cases.json myplug.py ci/check golden/out.txt Makefile build.inc
		check_new.py test_new.py conftest.py pytest.py unittest.py json.py sitecustomize.py usercustomize.py requests.py requests/__init__.py evil-1.0.dist-info/entry_points.txt
		evil.pth __pycache__/test_calc.cpython-311.pyc .env .gitignore sub/.gitignore .npmrc new.json new.toml ci/other tools/x.py run.sh weird.xyz checks/__init__.py golden/new.txt
		pytest/__init__.py random.py src/json.py tests/aaa.py tests/__init__.py node_modules/x/index.js sub/pyproject.toml tox.ini Dockerfile x.py=import+pytest`)
}
