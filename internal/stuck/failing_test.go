package stuck

import (
	"slices"
	"testing"
)

func TestFailing(t *testing.T) {
	for name, tt := range map[string]struct {
		output string
		failed bool
		want   []string
		ran    bool
	}{
		"go":               {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n        a_test.go:3: no\nFAIL\nFAIL\tm/a\t0.003s\nok  \tm/b\t0.1s\n", true, []string{"TestA", "TestA/one"}, true},
		"go green":         {"ok  \tm/a\t(cached)\nok  \tm/b\t0.1s\n", false, nil, true},
		"go build":         {"# m/a\na.go:3:1: bad\nFAIL\tm/a [build failed]\nok  \tm/b\t0.1s\n", true, []string{"m/a"}, true},
		"pytest":           {"..F\nFAILED tests/test_a.py::test_one - assert 1 == 2\n========= 1 failed, 2 passed in 0.12s =========\n", true, []string{"tests/test_a.py::test_one"}, true},
		"pytest, quiet":    {"...\n3 passed in 0.01s\n", false, nil, true},
		"unittest":         {"FAIL: test_one (tests.test_a.T)\n---\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n", true, []string{"test_one (tests.test_a.T)"}, true},
		"TAP":              {"TAP version 13\nok 1 - a\nnot ok 2 - b c\n1..2\n", true, []string{"b c"}, true},
		"jest":             {"  ● sum › adds\n\nTests:       1 failed, 2 passed, 3 total\n", true, []string{"sum › adds"}, true},
		"cargo":            {"test a::b ... FAILED\ntest a::c ... ok\ntest result: FAILED. 1 passed; 1 failed\n", true, []string{"a::b"}, true},
		"mocha":            {"  2 passing (5ms)\n  1 failing\n\n  1) sum adds:\n     Error\n", true, []string{"sum adds"}, true},
		"RSpec":            {"3 examples, 1 failure\n\nrspec ./spec/a_spec.rb:3 # A b\n", true, []string{"./spec/a_spec.rb:3"}, true},
		"PHPUnit":          {"1) ATest::testB\nFailed\n\nTests: 3, Assertions: 3, Failures: 1.\n", true, []string{"ATest::testB"}, true},
		"no test":          {"total 3\n-rw-r--r-- a.go\n", false, nil, false},
		"nothing":          {"", false, nil, false},
		"red without name": {"3 passed in 0.01s\nsegmentation fault\n", true, nil, false},
	} {
		got, ran := Failing(tt.output, tt.failed)
		if ran != tt.ran || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, ran, tt.want, tt.ran)
		}
	}
}
