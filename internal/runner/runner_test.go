package runner

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tree is a small project: content by path.
type tree map[string]string

func (t tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

func (t tree) Read(path string) ([]byte, error) {
	text, ok := t[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func TestFind(t *testing.T) {
	pyTest := "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
	for name, tt := range map[string]struct {
		tree     tree
		commands []string
		want     []string // "runner in dir: part of the command"
	}{
		"go":                 {tree{"go.mod": "module m", "a_test.go": ""}, []string{"go test -race -run X ./..."}, []string{"go test in .: -vet=off -race ./..."}},
		"go, nested, vendor": {tree{"a/go.mod": "", "a/a_test.go": "", "vendor/x/go.mod": "", "vendor/x/x_test.go": ""}, nil, []string{"go test in a: go test"}},
		"go without tests":   {tree{"go.mod": "", "a.go": ""}, []string{"go test ./..."}, nil},
		"make":               {tree{"Makefile": "test:\n\t@cd web && npx vitest run --config v.ts >log 2>&1\n", "web/a.test.ts": ""}, []string{"make test"}, []string{"vitest in web: --config v.ts"}},
		"npm with pretest":   {tree{"package.json": `{"scripts":{"pretest":"mocha --exit spec/*.js","test":"sh run.sh"}}`, "run.sh": "exec jest -c j.json\n"}, []string{"npm test"}, []string{"jest in .: -c j.json", "mocha in .: spec/*.js"}},
		"node":               {tree{"test/a.test.js": ""}, []string{"node --test --import ./x.js test/"}, []string{"node:test in .: --import ./x.js test/"}},
		"pytest, selected":   {tree{"tests/test_a.py": ""}, []string{"uv run pytest -x -k fast tests/"}, []string{"pytest in .: /report' tests/"}},
		"pytest by its form": {tree{"test_a.py": "def test_a():\n    pass\n"}, []string{"true"}, []string{"pytest in .: python3"}},
		"coverage":           {tree{"test_a.py": pyTest}, []string{"python -m coverage run -m unittest -v"}, []string{"unittest in .: python3"}},
		"unittest by form":   {tree{"test_a.py": pyTest}, nil, []string{"unittest in .: python3"}},
		"cargo":              {tree{"Cargo.toml": "", "src/lib.rs": "#[test]"}, []string{"cargo test --workspace --features a"}, []string{"cargo test in .: --workspace"}},
		"nextest":            {tree{"Cargo.toml": "", "src/lib.rs": "#[test]"}, []string{"cargo nextest run --locked"}, []string{"cargo nextest in .: --locked"}},
		"rspec":              {tree{"spec/a_spec.rb": ""}, []string{"bundle exec rspec -f d spec"}, []string{"rspec in .: bundle exec rspec --format json"}},
		"rake":               {tree{"test/a_test.rb": `require "minitest/autorun"`}, []string{"rake test"}, []string{"minitest in .: ask.rb"}},
		"composer":           {tree{"composer.json": `{"scripts":{"test":["@php -v","vendor/bin/phpunit -c p.xml"]}}`}, []string{"composer test"}, []string{"phpunit in .: vendor/bin/phpunit --log-junit"}},
		"ctest":              {tree{"CMakeLists.txt": "", "tests/a_test.c": ""}, []string{"cmake -S . -B b -DX=1 && cmake --build b && ctest --test-dir b"}, []string{"ctest in .: -DX=1"}},
		"maven":              {tree{"pom.xml": "", "src/test/java/ATest.java": "@Test"}, []string{"mvn -q verify"}, []string{"junit in .: mvn -o"}},
		"bats":               {tree{"tests/a.bats": ""}, []string{"bats -t tests"}, []string{"bats in .: bats --formatter tap tests"}},
		"prove":              {tree{"t/a.t": ""}, []string{"prove -e sh t"}, []string{"tap in .: sh \"$f\""}},
		"nothing":            {tree{"a.txt": ""}, []string{"./check", "true"}, nil},
		"a cycle of scripts": {tree{"a.sh": "sh b.sh", "b.sh": "sh a.sh; bats x"}, []string{"sh a.sh"}, []string{"bats in .: x"}},
	} {
		t.Run(name, func(t *testing.T) {
			asks := Find(tt.tree, tt.commands)
			if len(asks) != len(tt.want) {
				t.Fatalf("got %+v, want %q", asks, tt.want)
			}
			for i, a := range asks {
				key, part, _ := strings.Cut(tt.want[i], ": ")
				if a.Key() != key || !strings.Contains(a.Command, part) {
					t.Errorf("%s: %s\nwant %s", a.Key(), a.Command, tt.want[i])
				}
				if kind, ok := Lookup(a.Runner); !ok || kind.Parse == nil || kind.Plant == nil {
					t.Errorf("%s is no whole row of the table", a.Runner)
				}
			}
		})
	}
}

// What is planted fails by its name, stands where its runner looks, and never
// takes the place of a file that is not given.
func TestPlant(t *testing.T) {
	for _, tt := range []struct{ runner, beside, sample, file string }{
		{"go test", "calc/calc_linux_test.go", "//go:build x\n\npackage calc_test\n", "calc/balo_linux_test.go"},
		{"pytest", "tests/calc_test.py", "", "tests/balo_test.py"},
		{"unittest", "tests/test_calc.py", "", "tests/test_balo.py"},
		{"node:test", "test/test-calc.mjs", "import 'x'", "test/test-balo.mjs"},
		{"vitest", "src/calc.spec.ts", "", "src/balo.spec.ts"},
		{"jest", "__tests__/calc.js", "", "__tests__/balo.js"},
		{"mocha", "test/calc.js", "", "test/balo.js"},
		{"cargo test", "src/lib.rs", "#[test]\nfn a() {}\n", "src/lib.rs"},
		{"minitest", "test/calc_test.rb", "", "test/balo_test.rb"},
		{"rspec", "spec/calc_spec.rb", "", "spec/balo_spec.rb"},
		{"phpunit", "tests/CalcTest.php", "", "tests/BaloTest.php"},
		{"junit", "src/test/java/p/CalcTest.java", "package p;\n", "src/test/java/p/BaloTest.java"},
		{"ctest", "CMakeLists.txt", "enable_testing()\n", "CMakeLists.txt"},
		{"bats", "tests/calc.bats", "", "tests/balo.bats"},
		{"tap", "t/calc.t", "", "t/balo.t"},
	} {
		kind, ok := Lookup(tt.runner)
		if !ok {
			t.Fatalf("no %s", tt.runner)
		}
		file, text, ok := kind.Plant(tt.beside, []byte(tt.sample), "balo")
		if !ok || file != tt.file || !strings.Contains(strings.ToLower(text), "balo") {
			t.Errorf("%s beside %s: %s %v\n%s", tt.runner, tt.beside, file, ok, text)
		}
		if file == tt.beside && !strings.HasPrefix(text, tt.sample) {
			t.Errorf("%s: the file's own content is lost:\n%s", tt.runner, text)
		}
	}
}

func TestForeignFilesFindNothing(t *testing.T) {
	got := Find(tree{"node_modules/x/go.mod": "", "node_modules/x/x_test.go": "", "target/Cargo.toml": "", "target/a.rs": "#[test]"}, nil)
	if len(got) > 0 {
		t.Errorf("asks packages of others: %+v", got)
	}
}
