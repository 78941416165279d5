package approval

import (
	"slices"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// What the proof put back is evidence that the phase changed, once: neither what
// is known to be protected nor what is gone is named again.
func TestEvidenceOfAProof(t *testing.T) {
	t.Parallel()
	e := Evidence{Protected: []string{"ci.yml"}, Gone: []string{"gone_test.go"}}
	e.prove("01", &orchestrator.View{})
	if e.Records != nil || len(e.Protected) != 1 {
		t.Errorf("without a record: %+v", e)
	}
	record := work.ProofRecord{Ran: []work.ProofRun{{}}, PutBack: []string{"calc_test.go", "ci.yml", "gone_test.go"}}
	if !record.Known() {
		t.Fatalf("%+v is no record", record)
	}
	e.prove("02", &orchestrator.View{Judging: orchestrator.Judging{Record: record}})
	if want := []string{"ci.yml", "calc_test.go"}; !slices.Equal(e.Protected, want) {
		t.Errorf("protected files that it touched: %q, want %q", e.Protected, want)
	}
	if got, ok := e.Records["02"]; len(e.Records) != 1 || !ok || !slices.Equal(got.PutBack, record.PutBack) {
		t.Errorf("records %+v", e.Records)
	}
}
