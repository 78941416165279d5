package proof

import (
	"strings"
	"testing"
)

func TestIsTestFile(t *testing.T) {
	yes := `a_test.go pkg/testdata/x.json test_a.py pkg/a_test.py tests/anything.txt conftest.py src/a.test.ts a.spec.jsx __tests__/a.js
		__snapshots__/a.snap app.cy.ts spec/models/user_spec.rb test/user_test.rb src/test/java/A.java ATest.java FooTests.cs FooSpec.scala
		UserIT.java tests/it.rs src/tests.rs lib/foo_test.exs test_helper.exs foo_SUITE.erl FooTest.php a_unittest.cc test_a.c foo_test.dart
		MainTests.swift TestMain.kt features/login.feature run.bats t/basic.t test-thing.R e2e/x.ts Tests/UnitTests/a.swift x_test.sh`
	no := `main.go contest.go latest.py attest.ts src/app.js README.md testament.rb protest.java Testing.md Latest.java src/it.rs spec.md
		inspect.py fastest.c Greatest.cs .forge/spec.md detest.exs manifest.php`
	for _, f := range strings.Fields(yes) {
		if !IsTestFile(f) {
			t.Errorf("%s is a test file", f)
		}
	}
	for _, f := range strings.Fields(no) {
		if IsTestFile(f) {
			t.Errorf("%s is no test file", f)
		}
	}
}
