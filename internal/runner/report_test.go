package runner

import (
	"fmt"
	"strings"
	"testing"
)

// lines is a report as text, one test a line.
func lines(r Report) string {
	var b strings.Builder
	for _, t := range r.Tests {
		fmt.Fprintf(&b, "%s %s\n", t.Outcome, t.Name)
	}
	for _, g := range sortedKeys(r.Broken) {
		fmt.Fprintf(&b, "broken %s\n", g)
	}
	return b.String()
}

// recorded are reports as the runners wrote them.
var recorded = []struct {
	runner, file, text, want string
	told                     string // in the text of a failed test, or of a broken group
}{
	{
		"go test", "report",
		`{"Action":"start","Package":"m"}
{"Action":"run","Package":"m","Test":"TestAdd"}
{"Action":"output","Package":"m","Test":"TestAdd","Output":"    a_test.go:3: got 1\n"}
{"Action":"fail","Package":"m","Test":"TestAdd","Elapsed":0}
{"Action":"pass","Package":"m","Test":"TestAdd/sub","Elapsed":0}
{"Action":"skip","Package":"m","Test":"TestLater","Elapsed":0}
not json
{"Action":"fail","Package":"m","Elapsed":0.01}
{"ImportPath":"m/b [m/b.test]","Action":"build-output","Output":"b.go:3:1: undefined: x\n"}
{"ImportPath":"m/b [m/b.test]","Action":"build-fail"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b [m/b.test]"}
`,
		"failed m.TestAdd\npassed m.TestAdd/sub\nskipped m.TestLater\nbroken m/b\n", "got 1",
	},
	{
		"pytest", "report",
		`{"name": "tests/test_a.py::test_x[1]", "group": "tests/test_a.py", "outcome": "passed", "text": ""}
{"name": "tests/test_a.py::test_y", "group": "tests/test_a.py", "outcome": "failed", "text": "assert 1 == 2"}
{"name": "tests/test_a.py::test_z", "group": "tests/test_a.py", "outcome": "skipped", "text": ""}
{"name": "", "group": "tests/test_b.py", "outcome": "broken", "text": "ImportError"}
`,
		"passed tests/test_a.py::test_x[1]\nfailed tests/test_a.py::test_y\nskipped tests/test_a.py::test_z\nbroken tests/test_b.py\n", "assert 1 == 2",
	},
	{
		"jest", "report",
		`{"success":false,"testResults":[{"name":"/w/src/a.test.js","status":"failed","message":"","assertionResults":[{"ancestorTitles":["calc"],"title":"adds","status":"passed","failureMessages":[]},{"ancestorTitles":["calc"],"title":"adds","status":"failed","failureMessages":["Error: no"]},{"ancestorTitles":[],"title":"waits","status":"todo"}]},{"name":"/w/b.test.js","status":"failed","message":"Cannot find module","assertionResults":[]}]}`,
		"passed src/a.test.js: calc > adds\nfailed src/a.test.js: calc > adds #2\nskipped src/a.test.js: waits\nbroken b.test.js\n", "Error: no",
	},
	{
		"mocha", "report",
		`{"stats":{},"passes":[{"fullTitle":"calc adds","file":"/w/test/a.js","err":{}}],"failures":[{"fullTitle":"calc sums","file":"/w/test/a.js","err":{"message":"1 == 2","stack":"at x"}}],"pending":[{"fullTitle":"calc waits","file":"/w/test/a.js","err":{}}]}`,
		"passed test/a.js: calc adds\nfailed test/a.js: calc sums\nskipped test/a.js: calc waits\n", "1 == 2",
	},
	{
		"cargo test", "report",
		"   Compiling calc v0.1.0 (/w)\n    Finished `test` profile in 0.5s\n     Running unittests src/lib.rs (/k/target/debug/deps/calc-9a2b3c4d5e6f7a8b)\n\nrunning 3 tests\ntest tests::adds ... ok\ntest tests::fails ... FAILED\ntest tests::later ... ignored, no\n\nfailures:\n\n---- tests::fails stdout ----\nthread 'tests::fails' panicked at src/lib.rs:9:\nassertion failed\n\n\nfailures:\n    tests::fails\n\ntest result: FAILED.\n   Doc-tests calc\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\n",
		"passed calc src/lib.rs: tests::adds\nfailed calc src/lib.rs: tests::fails\nskipped calc src/lib.rs: tests::later\npassed doc-tests calc: src/lib.rs - add\n", "assertion failed",
	},
	{
		"cargo test", "report", "error[E0425]: cannot find value `x`\n --> src/lib.rs:1:1\nerror: could not compile `calc` (lib) due to 1 previous error\n",
		"broken calc\n", "E0425",
	},
	{
		"cargo nextest", "report",
		"    Starting 3 tests across 1 binary\n        PASS [   0.004s] calc tests::adds\n        FAIL [   0.010s] (2/3) calc::it sums up\n        SKIP [         ] calc tests::later\n",
		"passed calc: tests::adds\nskipped calc: tests::later\nfailed calc::it: sums up\n", "",
	},
	{
		"rspec", "report",
		`{"examples":[{"full_description":"calc adds","status":"passed","file_path":"./spec/a_spec.rb"},{"full_description":"calc sums","status":"failed","file_path":"./spec/a_spec.rb","exception":{"class":"X","message":"expected 3"}},{"full_description":"calc waits","status":"pending","file_path":"./spec/a_spec.rb"}],"messages":["boom"],"summary":{"errors_outside_of_examples_count":1}}`,
		"passed spec/a_spec.rb: calc adds\nfailed spec/a_spec.rb: calc sums\nskipped spec/a_spec.rb: calc waits\nbroken spec\n", "expected 3",
	},
	{
		"phpunit", "report",
		`<?xml version="1.0" encoding="UTF-8"?><testsuites><testsuite name="tests" tests="3"><testsuite name="CalcTest" file="/w/tests/CalcTest.php"><testcase name="testAdd" class="CalcTest" classname="CalcTest" time="0.1"/><testcase name="testSum" classname="CalcTest"><failure type="x">3 is not 4</failure></testcase><testcase name="testLater" classname="CalcTest"><skipped/></testcase></testsuite></testsuite></testsuites>`,
		"passed CalcTest::testAdd\nskipped CalcTest::testLater\nfailed CalcTest::testSum\n", "3 is not 4",
	},
	{
		"junit", "a.xml",
		`<testsuite name="JUnit Jupiter"><testcase name="adds()" classname="calc.CalcTest"><system-out><![CDATA[x]]></system-out></testcase><testcase name="sums()" classname="calc.CalcTest"><error message="boom" type="E"/></testcase></testsuite>`,
		"passed calc.CalcTest.adds()\nfailed calc.CalcTest.sums()\n", "boom",
	},
	{
		"ctest", "report",
		`<testsuite name="Linux"><testcase name="calc" classname="calc" status="run"/><testcase name="sum" classname="sum" status="fail"><failure message=""/><system-out>Assertion failed</system-out></testcase><testcase name="later" classname="later" status="notrun"><skipped/></testcase></testsuite>`,
		"passed calc\nskipped later\nfailed sum\n", "Assertion failed",
	},
	{
		"bats", "report", "1..3\nok 1 adds\nnot ok 2 sums\n# (in test file a.bats, line 3)\nok 3 later # skip no\n",
		"passed adds\nskipped later\nfailed sums\n", "line 3",
	},
	{
		"tap", "report", "\x1et/a.t\nok 1 - adds\nnot ok 2 - later # TODO some day\n    ok 1 - inner\n\x1et/b.t\nnot ok 1\n1..1\n",
		"passed t/a.t: adds\nskipped t/a.t: later\nfailed t/b.t: test 1\n", "",
	},
}

func TestParse(t *testing.T) {
	for _, tt := range recorded {
		kind, ok := Lookup(tt.runner)
		if !ok {
			t.Fatalf("no %s", tt.runner)
		}
		r := kind.Parse(map[string][]byte{tt.file: []byte(tt.text), "pwd": []byte("/w\n")})
		if got := lines(r); got != tt.want {
			t.Errorf("%s:\n%swant\n%s", tt.runner, got, tt.want)
		}
		told := ""
		for _, one := range r.Tests {
			told += one.Text
			if one.Outcome != Failed && one.Text != "" {
				t.Errorf("%s: a test that did not fail has a text: %+v", tt.runner, one)
			}
		}
		for _, text := range r.Broken {
			told += text
		}
		if !strings.Contains(told, tt.told) {
			t.Errorf("%s: the failure says %q, want %q in it", tt.runner, told, tt.told)
		}
	}
}

// A report that is cut anywhere claims no test that the whole one does not.
func TestCutReportsClaimNothing(t *testing.T) {
	for _, tt := range recorded {
		kind, _ := Lookup(tt.runner)
		whole := kind.Parse(map[string][]byte{tt.file: []byte(tt.text), "pwd": []byte("/w\n")}).Outcomes()
		for n := range len(tt.text) {
			r := kind.Parse(map[string][]byte{tt.file: []byte(tt.text[:n]), "pwd": []byte("/w\n")})
			for _, one := range r.Tests {
				// A line of TAP may be cut behind its outcome.
				if one.Outcome == Passed && whole[one.Name] != Passed && tt.runner != "bats" && tt.runner != "tap" && tt.runner != "cargo nextest" {
					t.Fatalf("%s cut at %d: %s passes", tt.runner, n, one.Name)
				}
			}
		}
	}
}

func TestRedByName(t *testing.T) {
	r := Report{Tests: []Test{{Name: "m.TestBalo", Outcome: Failed}, {Name: "m.TestDimu", Outcome: Passed}}}
	if !r.RedByName("balo") || r.RedByName("dimu") || r.RedByName("rufa") {
		t.Error("a name is red that is not, or the other way round")
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range recorded {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, k := range Kinds() {
			r := k.Parse(map[string][]byte{"report": data, "a.xml": data, "pwd": []byte("/w\n")})
			seen := map[string]bool{}
			for _, one := range r.Tests {
				if seen[one.Name] {
					t.Fatalf("%s: two tests are called %q", k.Name, one.Name)
				}
				seen[one.Name] = true
				if one.Outcome != Passed && one.Outcome != Failed && one.Outcome != Skipped {
					t.Fatalf("%s: outcome %q", k.Name, one.Outcome)
				}
			}
		}
	})
}
