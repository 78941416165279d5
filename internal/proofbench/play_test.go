package proofbench

import (
	"slices"
	"testing"
	"time"
)

// TestReadJournal reads a stream as forge prints it: lines of a log between the
// events, words in settings and messages that say nothing.
func TestReadJournal(t *testing.T) {
	out := `05:01:39 WARN no cost cap is set
{"v":1,"time":"2026-01-31T12:00:00Z","run":"r1","kind":"run.started","data":{"policy":{"gates":{"evidence":"flaky"}}}}
{"v":1,"time":"2026-01-31T12:00:01Z","run":"r1","kind":"verify.started","data":{"on":"base"}}
{"v":1,"time":"2026-01-31T12:00:03Z","run":"r1","kind":"verify.finished","data":{"on":"base","ok":true}}
{"v":1,"time":"2026-01-31T12:00:04Z","run":"r1","kind":"iteration.finished","phase":"01","data":{"message":"unproven"}}
{"v":1,"time":"2026-01-31T12:00:04Z","run":"r1","kind":"verify.started","phase":"01","data":{"on":"snapshot"}}
{"v":1,"time":"2026-01-31T12:00:06Z","run":"r1","kind":"verify.finished","phase":"01","data":{"on":"snapshot","ok":true,"output":"skipped: flaky on slow machines"}}
{"v":1,"time":"2026-01-31T12:00:07Z","run":"r1","kind":"merge.started","phase":"01","data":{}}
{"v":1,"time":"2026-01-31T12:00:08Z","run":"r1","kind":"phase.finished","phase":"01","data":{"outcome":"done","proof":"verified"}}
{"v":1,"time":"2026-01-31T12:00:08Z","run":"r1","kind":"checkpoint.opened","data":{"reasons":[{"kind":"evidence_weakened","lines":[3]},"test_aware: calc.py:4"]}}
{"v":1,"time":"2026-01-31T12:00:09Z","run":"r1","kind":"run.finished","data":{"outcome":"frozen"}}
`
	j := readJournal(out)
	if j.run != "r1" || j.outcome != "frozen" || !j.proven || !j.asked || j.proofs != 1 {
		t.Errorf("%+v", j)
	}
	if j.verify != 2*time.Second || j.proof != 3*time.Second {
		t.Errorf("verify %s, proof %s; want 2s and 3s", j.verify, j.proof)
	}
	if want := []string{"evidence_weakened", "test_aware"}; !slices.Equal(slices.Sorted(slices.Values(j.reasons)), want) {
		t.Errorf("reasons %q, want %q", j.reasons, want)
	}
}

// TestReadJournalUnproven says that a phase which is not proven is none, nor is
// a run without an end a result.
func TestReadJournalUnproven(t *testing.T) {
	j := readJournal(`{"v":1,"run":"r1","kind":"phase.finished","phase":"01","data":{"outcome":"done","proof":"claim"}}` + "\n")
	if j.proven || j.outcome != "" {
		t.Errorf("%+v", j)
	}
}

// TestEdits plays each verb on files and says what an agent does for it.
func TestEdits(t *testing.T) {
	f := files{"a": "1\n2\n", "d/x": "x", "d/y": "y"}
	actions, err := f.apply([]Op{
		{Verb: "replace", Path: "a", Text: "2\n====\n3\n"},
		{Verb: "append", Path: "a", Text: "4\n"},
		{Verb: "prepend", Path: "a", Text: "0\n"},
		{Verb: "mv", Path: "d", Arg: "e"},
		{Verb: "rm", Path: "e/y"},
		{Verb: "link", Path: "l", Arg: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := files{"a": "0\n1\n3\n4\n", "e/x": "x", "l": linkMark + "a"}
	if len(f) != len(want) || f["a"] != want["a"] || f["e/x"] != "x" || f["l"] != want["l"] {
		t.Errorf("%q, want %q", f, want)
	}
	if len(actions) != 6 || actions[2].text != want["a"] || actions[4].verb != "rm" {
		t.Errorf("%+v", actions)
	}
	for _, op := range []Op{
		{Verb: "replace", Path: "a", Text: "none\n====\nx\n"},
		{Verb: "rm", Path: "none"},
		{Verb: "mv", Path: "none", Arg: "x"},
		{Verb: "dance", Path: "a"},
	} {
		if _, err := f.apply([]Op{op}); err == nil {
			t.Errorf("%+v was taken", op)
		}
	}
}
