package orchestrator

import (
	"path/filepath"
	"slices"
	"testing"

	"forge/internal/work"
)

// What a phase was proven with is there after it landed, also once the state
// was written down and read again.
func TestRecordOutlivesTheLanding(t *testing.T) {
	evs := golden(t, filepath.Join("testdata", "journals", "v2-doubts.jsonl"))
	s := openGolden(t, evs[0])
	for _, e := range evs {
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	r := restored(t, s).Phases["01"].Record
	if len(r.Ran) != 2 || r.Ran[0].On != work.OnSnapshot || r.Ran[1].On != work.OnTrusted || !r.Ran[1].OK {
		t.Errorf("ran %+v", r.Ran)
	}
	if !slices.Equal(r.PutBack, []string{"calc_test.go"}) || len(r.Commands) != 1 {
		t.Errorf("put back %q for %q", r.PutBack, r.Commands)
	}
	if c := r.Control; c == nil || len(c.Runners) != 1 || c.Runners[0].Passed != 2 || len(c.Unproven) != 1 {
		t.Errorf("control %+v", c)
	}
	if !slices.Equal(r.Doubts, s.Doubts) || len(r.Doubts) != 2 {
		t.Errorf("doubts %v, of the run %v", r.Doubts, s.Doubts)
	}
	if standing := s.Phases["01"].Standing(); standing.Record == nil || standing.Record.Line() != "verified; 2 tests passed by name in go test; 3 of 3 tests made wrong noticed; 1 function unproven; 2 doubts" {
		t.Errorf("standing %+v", standing.Record)
	}
}

// A journal of an earlier release says what ran, and claims no more; a phase
// whose last proof was red is not said to be proven.
func TestRecordOfAnEarlierRelease(t *testing.T) {
	s := openGolden(t, golden(t, filepath.Join("testdata", "journals", "v1-alone.jsonl"))[0])
	for _, e := range golden(t, filepath.Join("testdata", "journals", "v1-alone.jsonl")) {
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for _, n := range s.Order {
		p := s.Phases[n]
		if p.Record.Control != nil || len(p.Record.Doubts) > 0 {
			t.Errorf("phase %s: %+v", n, p.Record)
		}
		if p.Outcome == work.PhaseDone && p.Record.Line() != "verified" {
			t.Errorf("phase %s is done, and its proof is %q", n, p.Record.Line())
		}
		if p.Record.Known() {
			told++
		}
	}
	if told == 0 {
		t.Error("no phase has a record")
	}
}
