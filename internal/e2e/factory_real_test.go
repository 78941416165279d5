//go:build real

package e2e

import "testing"

func TestRealKillFactoryWithTwentyInFlight(t *testing.T) { killFactory(t, 20, 4) }

func TestRealKillFactoryAfterEveryGitCommand(t *testing.T) { killFactoryBetween(t, 1) }
