//go:build real

package e2e

import (
	"testing"

	"forge/internal/pace"
)

func TestRealKillFactoryWithTwentyInFlight(t *testing.T) {
	pace.Soak(t, "TestKillFactory has five in flight")
	killFactory(t, 20, 4)
}

func TestRealKillFactoryAfterEveryGitCommand(t *testing.T) {
	pace.Soak(t, sampled)
	killFactoryBetween(t, 1)
}
