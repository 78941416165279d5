//go:build real

package cli

import "testing"

func TestRealOddValuesAtThePages(t *testing.T) {
	t.Parallel()
	oddAtThePages(t, 1)
}

func TestRealIssueKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	killedIssue(t, 1)
}
