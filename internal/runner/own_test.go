package runner

import (
	"strings"
	"testing"
)

func (t tree) text(file string) string { return t[file] }

func TestOwnCall(t *testing.T) {
	in := tree{"package.json": `{"scripts":{"test":"vitest run"}}`}
	for command, want := range map[string]string{
		"npm test":                         "vitest",
		"npm run test --silent":            "vitest",
		"npm run check":                    "",
		"npm test -- --bail":               "",
		"yarn test":                        "",
		"npx mocha":                        "mocha",
		"npx mocha --recursive test":       "mocha",
		"npx mocha -g x":                   "",
		"npx mocha --reporter dot":         "",
		"cargo test":                       "cargo test",
		"cargo test -q --offline":          "cargo test",
		"cargo test --features=x":          "cargo test",
		"cargo test --release":             "",
		"cargo test name":                  "",
		"cargo test -p x":                  "",
		"cargo test -- --skip x":           "",
		"cargo nextest run":                "",
		"python3 -m unittest":              "unittest",
		"python -m unittest discover -s t": "unittest",
		"python3 -m unittest -v tests.a":   "unittest",
		"python3 -m unittest -k x":         "",
		"python3 -m unittest -f":           "",
		"python3 -I -m unittest":           "",
		"ruby -Ilib -Itest test/a_test.rb": "minitest",
		"ruby test/a_test.rb":              "minitest",
		"ruby test/a_test.rb -n test_x":    "",
		"ruby -rx test/a_test.rb":          "",
		"ruby a.rb b.rb":                   "",
		"rake test":                        "",
		"rspec":                            "rspec",
		"bundle exec rspec --color spec":   "rspec",
		"rspec -e x":                       "",
		"rspec spec/a_spec.rb:3":           "",
		"rspec --tag fast":                 "",
		"rspec -r ./x":                     "",
		"phpunit tests":                    "phpunit",
		"vendor/bin/phpunit -c p.xml":      "phpunit",
		"phpunit --bootstrap a.php tests":  "phpunit",
		"phpunit --filter x":               "",
		"php phpunit.phar":                 "",
		"bats test":                        "bats",
		"bats -r test":                     "bats",
		"bats":                             "",
		"bats -f x test":                   "",
		"prove":                            "tap",
		"prove -lr t":                      "",
		"prove -l -r t":                    "tap",
		"prove -e sh t":                    "tap",
		"prove --state=save":               "",
		"ctest":                            "",
		"ctest --test-dir build":           "",
		"cmake -B build && cmake --build build && ctest --test-dir build":                                                          "ctest",
		"cmake -S . -B b -DX=1 >/dev/null && cmake --build b -j 2 >/dev/null && ctest --test-dir b --output-on-failure >/dev/null": "ctest",
		"cmake -B b && cmake --build b && cd b && ctest":                                                                           "ctest",
		"cmake -B b && cmake --build b && ctest --test-dir b -R x":                                                                 "",
		"cmake -S sub -B b && cmake --build b && ctest --test-dir b":                                                               "",
		"cmake -B b && cmake --build b --target x && ctest --test-dir b":                                                           "",
		"cmake -P x.cmake && ctest --test-dir b":                                                                                   "",
		"cmake -B b && ./x && ctest --test-dir b":                                                                                  "",
		"cmake -B b && ctest --test-dir b && true":                                                                                 "",
		"cmake -B b && cmake --build b && ctest --test-dir b || true":                                                              "",
		"go vet ./... && go test ./...":                                                                                            "",
		"go test ./...":                                                                                                            "go test",
		"go test -race -tags=x ./...":                                                                                              "go test",
		"go test -v -timeout=5m ./...":                                                                                             "go test",
		"pytest":                                                                                                                   "pytest",
		"pytest -q tests":                                                                                                          "pytest",
		"python3 -m pytest -q --tb=short":                                                                                          "pytest",
		"node --test":                                                                                                              "node:test",
		"node --test test/calc.test.js":                                                                                            "node:test",
		"npx vitest run":                                                                                                           "vitest",
		"npx --no-install vitest run":                                                                                              "vitest",
		"npx jest":                                                                                                                 "jest",
		"":                                                                                                                         "",
		"true":                                                                                                                     "",
		"make test":                                                                                                                "",
		"go test ./pkg":                                                                                                            "",
		"go test ./... -run X":                                                                                                     "",
		"go test -run=X ./...":                                                                                                     "",
		"go test -short ./...":                                                                                                     "",
		"go test -exec=./x ./...":                                                                                                  "",
		"go test -toolexec=./x ./...":                                                                                              "",
		"go test ./... ./...":                                                                                                      "",
		"go vet ./...":                                                                                                             "",
		"./go test ./...":                                                                                                          "",
		"GOFLAGS=-run=X go test ./...":                                                                                             "",
		"go test ./... || true":                                                                                                    "",
		"go test ./... >log":                                                                                                       "",
		"cd x && go test ./...":                                                                                                    "",
		"go test ./...\ntrue":                                                                                                      "",
		"go test $X":                                                                                                               "",
		"pytest -k fast":                                                                                                           "",
		"pytest -x":                                                                                                                "",
		"pytest -p evil":                                                                                                           "",
		"pytest tests/test_a.py::test_b":                                                                                           "",
		"pytest --co":                                                                                                              "",
		"./pytest -q":                                                                                                              "",
		".venv/bin/pytest":                                                                                                         "",
		"uv run pytest":                                                                                                            "",
		"python3 -I -m pytest":                                                                                                     "",
		"python3 run.py -m pytest":                                                                                                 "",
		"node --test --import ./x.js":                                                                                              "",
		"node --test --test-name-pattern=x":                                                                                        "",
		"node test.js":                                                                                                             "",
		"npx vitest":                                                                                                               "",
		"npx vitest run -t x":                                                                                                      "",
		"npx vitest run src/a.test.js":                                                                                             "",
		"npx jest --passWithNoTests":                                                                                               "",
		"vitest run":                                                                                                               "",
	} {
		own, ok := OwnCall(command, in.text)
		if ok != (want != "") || own.Runner != want {
			t.Errorf("%q: %v %q, want %q", command, ok, own.Runner, want)
		}
		if ok && (own.Asked == "" || !strings.Contains(own.Command, "{out}")) {
			t.Errorf("%q: %+v", command, own)
		}
	}
}

// What an own call answers is what the runner would be asked by itself.
func TestOwnCallAnswersTheAsk(t *testing.T) {
	script := func(test string) tree {
		return tree{"package.json": `{"scripts":{"test":"` + test + `"}}`, "test/a.test.js": ""}
	}
	ruby := tree{"test/a_test.rb": "require 'minitest/autorun'", "a_spec.rb": ""}
	cmake := tree{"CMakeLists.txt": ""}
	for command, in := range map[string]tree{
		"npm test":                          script("vitest run"),
		"npm test --silent":                 script("jest"),
		"npm run test":                      script("mocha --recursive test"),
		"npm  run test":                     script("mocha test/*.js"),
		"npm t":                             script("node --test"),
		"npx mocha test":                    {"test/a.test.js": ""},
		"cargo test -q --offline":           {"Cargo.toml": "", "src/lib.rs": "#[test]"},
		"cargo test --workspace":            {"Cargo.toml": "", "src/lib.rs": "#[test]"},
		"python3 -m unittest":               {"test_a.py": "import unittest"},
		"ruby -Ilib test/a_test.rb":         ruby,
		"rspec --color":                     ruby,
		"bundle exec rspec spec":            ruby,
		"phpunit --bootstrap a tests":       {"tests/ATest.php": ""},
		"vendor/bin/phpunit --colors=never": {"tests/ATest.php": ""},
		"bats -r test":                      {"test/a.bats": ""},
		"prove -l -r t":                     {"t/a.t": ""},
		"cmake -B build && cmake --build build && ctest --test-dir build":           cmake,
		"cmake -S . -B b -DX=1 && cmake --build b >/dev/null && cd b && ctest -j 2": cmake,
		"go test -race ./...":       {"go.mod": "module m", "a_test.go": ""},
		"go test -tags=x -v ./...":  {"go.mod": "module m", "a_test.go": ""},
		"pytest -q":                 {"test_a.py": "def test_a():\n    pass\n"},
		"python -m pytest -v tests": {"tests/test_a.py": "def test_a():\n    pass\n"},
		"node --test --no-warnings": {"a.test.js": ""},
		"npx vitest run":            {"a.test.js": ""},
		"npx jest":                  {"a.test.js": ""},
	} {
		own, ok := OwnCall(command, in.text)
		asks := Find(in, []string{command})
		if !ok || len(asks) != 1 || asks[0].Command != own.Asked || asks[0].Runner != own.Runner {
			t.Errorf("%q answers %q, asked is %+v", command, own.Asked, asks)
		}
	}
	own, _ := OwnCall("go test ./...", nil)
	both := Find(tree{"go.mod": "module m", "a_test.go": ""}, []string{"go test ./...", "go test -race ./..."})
	if len(both) != 1 || both[0].Command == own.Asked {
		t.Errorf("one profile answers for two: %+v", both)
	}
}

// A script that selects, that is more than one call, or beside which others run,
// is no runner's own call.
func TestOwnCallReadsScripts(t *testing.T) {
	for script, want := range map[string]string{
		`"test":"vitest run"`:                  "vitest",
		`"test":"npx vitest run"`:              "vitest",
		`"test":"jest --verbose"`:              "jest",
		`"test":"mocha test/a.test.js"`:        "mocha",
		`"test":"node --test --no-warnings"`:   "node:test",
		`"test":"mocha test/*.spec.js"`:        "mocha",
		`"test":"node --test *.js"`:            "",
		`"test":"node --test test/"`:           "",
		`"test":"node test.js"`:                "",
		`"test":"vitest"`:                      "",
		`"test":"jest --passWithNoTests"`:      "",
		`"test":"vitest run && true"`:          "",
		`"test":"vitest run || true"`:          "",
		`"test":"NODE_OPTIONS=-r vitest run"`:  "",
		`"test":"./node_modules/.bin/jest"`:    "",
		`"test":["jest"]`:                      "",
		`"test":""`:                            "",
		`"check":"jest"`:                       "",
		`"test":"jest","pretest":"tsc"`:        "",
		`"test":"jest","posttest":"rm report"`: "",
	} {
		in := tree{"package.json": `{"scripts":{` + script + `}}`}
		own, ok := OwnCall("npm test", in.text)
		if ok != (want != "") || own.Runner != want {
			t.Errorf("%s: %v %q, want %q", script, ok, own.Runner, want)
		}
	}
	if _, ok := OwnCall("npm test", tree{}.text); ok {
		t.Error("a package that is not there has a script")
	}
}

func TestSaidByGoIsWhatGoTestPrints(t *testing.T) {
	report := `{"Action":"start","Package":"m"}
{"ImportPath":"m/b","Action":"build-output","Output":"b.go:3:1: undefined: x\n"}
{"Action":"run","Package":"m","Test":"TestAdd"}
{"Action":"output","Package":"m","Test":"TestAdd","Output":"=== RUN   TestAdd\n"}
{"Action":"output","Package":"m","Test":"TestAdd","Output":"    a_test.go:3: got 1\n"}
{"Action":"output","Package":"m","Test":"TestAdd","Output":"--- FAIL: TestAdd (0.00s)\n"}
{"Action":"fail","Package":"m","Test":"TestAdd","Elapsed":0}
{"Action":"output","Package":"m","Test":"TestFine","Output":"noise\n"}
{"Action":"pass","Package":"m","Test":"TestFine","Elapsed":0}
{"Action":"output","Package":"m","Output":"FAIL\tm\t0.01s\n"}
{"Action":"fail","Package":"m","Elapsed":0.01}
{"Action":"output","Package":"m/c","Output":"PASS\n"}
{"Action":"output","Package":"m/c","Output":"ok  \tm/c\t0.01s\n"}
{"Action":"pass","Package":"m/c"}
no event
{"Action":"output","Package":"m/d","Test":"TestHangs","Output":"waiting\n"}
`
	want := "b.go:3:1: undefined: x\n    a_test.go:3: got 1\n--- FAIL: TestAdd (0.00s)\nFAIL\tm\t0.01s\nok  \tm/c\t0.01s\nno event\nwaiting\n"
	if got := saidByGo(map[string][]byte{"report": []byte(report)}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
