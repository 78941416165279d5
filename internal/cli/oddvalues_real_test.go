//go:build real

package cli

import (
	"testing"

	"forge/internal/pace"
)

func TestRealOddValuesAtThePages(t *testing.T) {
	pace.Soak(t, "TestOddValuesAtThePages plays each fourth")
	t.Parallel()
	oddAtThePages(t, 1)
}

func TestRealIssueKilledAtEveryStep(t *testing.T) {
	pace.Soak(t, "TestIssueKilledAtEveryStep kills at each third")
	t.Parallel()
	killedIssue(t, 1)
}
