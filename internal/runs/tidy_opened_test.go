package runs

import (
	"testing"

	"forge/internal/opened"
	"forge/internal/proven"
)

// What a proof opened is there as long as its record may count for a run: such
// a proof is not traced again.
func TestWhatWasOpenedOutlivesItsProof(t *testing.T) {
	t.Parallel()
	if opened.MostAge <= proven.MostAge || opened.MostFiles < 2*proven.MostRecords {
		t.Errorf("kept for %s and %d files, proofs for %s and %d", opened.MostAge, opened.MostFiles, proven.MostAge, proven.MostRecords)
	}
}
