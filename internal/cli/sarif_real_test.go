//go:build real

package cli

import (
	"os"
	"testing"
)

// What forge review prints as SARIF is held against the schema that OASIS
// publishes.
func TestRealSarifSchema(t *testing.T) {
	if os.Getenv(sarifSchemaWord) == "" {
		t.Fatalf("%s names no file: scripts/real.sh sets it", sarifSchemaWord)
	}
	t.Run("the check finds faults", TestSarifSchemaFindsFaults)
	t.Run("a review fits", TestReviewSarifFitsTheSchema)
}
