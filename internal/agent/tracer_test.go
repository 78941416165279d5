package agent

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"forge/internal/redact"
	"forge/internal/stuck"
)

// still is a clock that stands.
func still() time.Time { return time.Unix(0, 0) }

func traceOf(kind, output string) *stuck.Trace {
	t := newTracer(kind, redact.New(nil), still)
	_, _ = t.Write([]byte(output))
	return t.trace()
}

// Every kind that tells of its tools has a trace, which does not depend on how
// its output comes in pieces.
func TestTraceOfEachKind(t *testing.T) {
	for _, kind := range Kinds() {
		data, err := os.ReadFile(filepath.Join("..", "cli", "testdata", "talk", kind+".log"))
		if err != nil {
			t.Fatal(err)
		}
		whole := traceOf(kind, string(data))
		if kind == "exec" {
			if whole != nil {
				t.Errorf("exec: %+v, it does not tell what it does", whole)
			}
			continue
		}
		named, answered := 0, 0
		for _, c := range whole.Calls {
			if c.Name != "" {
				named++
			}
			if c.Result != stuck.Digest("nothing") {
				answered++
			}
		}
		if named == 0 || answered == 0 && kind != "script" {
			t.Errorf("%s: %d calls with a name, %d with a result: %+v", kind, named, answered, whole.Calls)
		}

		pieces := newTracer(kind, redact.New(nil), still)
		for _, b := range data {
			_, _ = pieces.Write([]byte{b})
		}
		if got := pieces.trace(); !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: in pieces %+v, as a whole %+v", kind, got, whole)
		}
	}
}

// claudeCalls is the output of Claude Code for calls "tool|about|result".
func claudeCalls(calls ...string) string {
	var b strings.Builder
	for i, c := range calls {
		part := strings.Split(c, "|")
		id, key := string(rune('a'+i)), "command"
		if part[0] == "Read" {
			key = "file_path"
		}
		b.WriteString(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + id + `","name":"` + part[0] + `","input":{"` + key + `":"` + part[1] + `"}}]}}` + "\n")
		b.WriteString(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + part[2] + `"}]}}` + "\n")
	}
	return b.String()
}

func TestTraceOfTests(t *testing.T) {
	got := traceOf("claude", claudeCalls("Bash|go test ./...|--- FAIL: TestA (0.01s)\\nFAIL\\tm/a\\t0.1s", "Bash|ls|a.go", "Bash|go test ./...|--- FAIL: TestB (0.01s)\\nFAIL\\tm/a\\t0.1s"))
	if !got.Tested || !reflect.DeepEqual(got.Failing, []string{"TestB"}) || len(got.Calls) != 3 {
		t.Errorf("%+v", got)
	}
	// Times in the output make no other result, and what is the same is kept once.
	got = traceOf("claude", claudeCalls("Bash|make|done in 1.2s", "Bash|make|done in 3.4s"))
	if len(got.Calls) != 1 || got.Tested {
		t.Errorf("%+v", got)
	}
}

// A command that is run again measures; a file that is read again is read on.
func TestTraceTellsMeasuringFromReadingOn(t *testing.T) {
	judge := func(calls ...string) stuck.State {
		var all []stuck.Iteration
		for i, c := range calls {
			it := stuck.Iteration{N: i + 1, Tree: "a"}
			traceOf("claude", claudeCalls(c)).Fill(&it)
			all = append(all, it)
		}
		return stuck.Judge(all, stuck.RulesFor(stuck.DefaultThreshold)).State
	}
	if got := judge("Bash|make race|1 of 20", "Bash|make race|3 of 20", "Bash|make race|2 of 20"); got != stuck.Working {
		t.Errorf("who measures is %s", got)
	}
	if got := judge("Read|a.go|one", "Read|a.go|two", "Read|a.go|three"); got != stuck.Stuck {
		t.Errorf("who reads one file for three iterations is %s", got)
	}
}

func TestTraceOfSilence(t *testing.T) {
	now := time.Unix(0, 0)
	tr := newTracer("claude", redact.New(nil), func() time.Time { return now })
	for _, wait := range []time.Duration{3 * time.Second, 90 * time.Second, time.Second} {
		now = now.Add(wait)
		_, _ = tr.Write([]byte("{}\n"))
	}
	if got := tr.trace().SilenceSecs; got != 90 {
		t.Errorf("the longest silence is %d s, want 90", got)
	}
}

// A secret is out of what is compared, too: the same trace with it and without.
func TestTraceHoldsNoSecret(t *testing.T) {
	red := redact.New([]string{"hunter2hunter2"})
	tr := newTracer("claude", red, still)
	_, _ = tr.Write([]byte(claudeCalls("Bash|curl -u hunter2hunter2|ok hunter2hunter2")))
	if got := tr.trace(); got.Calls[0].Result != stuck.Digest(stuck.Steady(red.String("ok hunter2hunter2"))) {
		t.Errorf("%+v", got)
	}
}
