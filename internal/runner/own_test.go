package runner

import (
	"strings"
	"testing"
)

func TestOwnCall(t *testing.T) {
	for command, want := range map[string]string{
		"go test ./...":                     "go test",
		"go test -race -tags=x ./...":       "go test",
		"go test -v -timeout=5m ./...":      "go test",
		"pytest":                            "pytest",
		"pytest -q tests":                   "pytest",
		"python3 -m pytest -q --tb=short":   "pytest",
		"node --test":                       "node:test",
		"node --test test/calc.test.js":     "node:test",
		"npx vitest run":                    "vitest",
		"npx --no-install vitest run":       "vitest",
		"npx jest":                          "jest",
		"":                                  "",
		"true":                              "",
		"make test":                         "",
		"npm test":                          "",
		"go test ./pkg":                     "",
		"go test ./... -run X":              "",
		"go test -run=X ./...":              "",
		"go test -short ./...":              "",
		"go test -exec=./x ./...":           "",
		"go test -toolexec=./x ./...":       "",
		"go test ./... ./...":               "",
		"go vet ./...":                      "",
		"./go test ./...":                   "",
		"GOFLAGS=-run=X go test ./...":      "",
		"go test ./... || true":             "",
		"go test ./... >log":                "",
		"cd x && go test ./...":             "",
		"go test ./...\ntrue":               "",
		"go test $X":                        "",
		"pytest -k fast":                    "",
		"pytest -x":                         "",
		"pytest -p evil":                    "",
		"pytest tests/test_a.py::test_b":    "",
		"pytest --co":                       "",
		"./pytest -q":                       "",
		".venv/bin/pytest":                  "",
		"uv run pytest":                     "",
		"python3 -I -m pytest":              "",
		"python3 run.py -m pytest":          "",
		"node --test --import ./x.js":       "",
		"node --test --test-name-pattern=x": "",
		"node test.js":                      "",
		"npx vitest":                        "",
		"npx vitest run -t x":               "",
		"npx vitest run src/a.test.js":      "",
		"npx jest --passWithNoTests":        "",
		"vitest run":                        "",
	} {
		own, ok := OwnCall(command)
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
	for command, in := range map[string]tree{
		"go test -race ./...":       {"go.mod": "module m", "a_test.go": ""},
		"go test -tags=x -v ./...":  {"go.mod": "module m", "a_test.go": ""},
		"pytest -q":                 {"test_a.py": "def test_a():\n    pass\n"},
		"python -m pytest -v tests": {"tests/test_a.py": "def test_a():\n    pass\n"},
		"node --test --no-warnings": {"a.test.js": ""},
		"npx vitest run":            {"a.test.js": ""},
		"npx jest":                  {"a.test.js": ""},
	} {
		own, ok := OwnCall(command)
		asks := Find(in, []string{command})
		if !ok || len(asks) != 1 || asks[0].Command != own.Asked || asks[0].Runner != own.Runner {
			t.Errorf("%q answers %q, asked is %+v", command, own.Asked, asks)
		}
	}
	own, _ := OwnCall("go test ./...")
	both := Find(tree{"go.mod": "module m", "a_test.go": ""}, []string{"go test ./...", "go test -race ./..."})
	if len(both) != 1 || both[0].Command == own.Asked {
		t.Errorf("one profile answers for two: %+v", both)
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
