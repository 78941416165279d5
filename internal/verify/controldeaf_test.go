package verify

import (
	"strings"
	"testing"

	"forge/internal/runner"
)

// A test that is called otherwise is made wrong where it was, and nowhere else:
// negate(5) == -5 is as right as negate(4) == -4.
func TestStandingInARenamedTest(t *testing.T) {
	const file = "tests/test_calc.py"
	was := "def test_negate():\n    assert negate(4) == -4\n"
	now := "class TestCalc:\n    def test_negate(self):\n        assert negate(4) == -4\n\n    def test_again(self):\n        assert negate(4) == -4\n"
	var last []runner.Wrong
	for _, w := range runner.Expectations(file, []byte(was)) {
		if strings.HasPrefix(was[w.From:], "4\n") {
			last = append(last, w)
		}
	}
	found := standing(last, map[string][]byte{file: []byte(now)})["test_negate"]
	if len(last) != 1 || len(found) != 2 {
		t.Fatalf("%d expectations became %+v, want one in each test", len(last), found)
	}
	for _, w := range found {
		if !strings.HasPrefix(now[w.From:], "4\n") {
			t.Errorf("%d to %d is made wrong, which is %q", w.From, w.To, now[w.From:w.To])
		}
	}
}
