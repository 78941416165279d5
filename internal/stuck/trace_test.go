package stuck

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTraceIsSmall(t *testing.T) {
	var tr Trace
	for i := range 500 {
		name := fmt.Sprint(i, strings.Repeat("<\x00\u2028é\xff", 100))
		tr.Calls = append(tr.Calls, Called(name, name, name, true))
		tr.Failing, tr.Files = append(tr.Failing, name), append(tr.Files, name)
	}
	out := tr.Clipped()
	data, err := json.Marshal(out)
	if err != nil || len(data) > 8<<10 || len(out.Calls) != MaxCalls || len(out.Failing) != MaxNames+1 {
		t.Errorf("%d bytes, %d calls, %d tests, %v", len(data), len(out.Calls), len(out.Failing), err)
	}
	if again := out.Clipped(); !reflect.DeepEqual(again, out) {
		t.Errorf("clipped twice: %+v, %+v", again, out)
	}

	other := tr
	other.Failing = append(tr.Failing[:499:499], "zzz")
	if reflect.DeepEqual(other.Clipped().Failing, out.Failing) {
		t.Error("two lists became one")
	}
	if (*Trace)(nil).Clipped() != nil {
		t.Error("nothing became something")
	}
}

func TestClip(t *testing.T) {
	for _, name := range []string{"", "TestA/b_c", "tests/test_a.py::test_é"} {
		if Clip(name) != name {
			t.Errorf("Clip(%q) = %q", name, Clip(name))
		}
	}
	long := strings.Repeat("é", 100)
	if a, b := Clip(long+"1"), Clip(long+"2"); a == b || len(a) > maxName || !utf8.ValidString(a) {
		t.Errorf("%q, %q", a, b)
	}
}
