//go:build real

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"forge/internal/pace"
)

const sampled = "a sample of it is played by make test or make check"

func TestRealKillAtEveryJournalOffset(t *testing.T) {
	pace.Soak(t, sampled)
	killEvery(t, 1)
}

func TestRealPowerCut(t *testing.T) {
	pace.Soak(t, sampled)
	cutEvery(t, 3)
}

func TestRealReviewersMisbehave(t *testing.T) {
	pace.Soak(t, sampled)
	misbehave(t, 1)
}

func TestRealKillAfterEveryGitCommand(t *testing.T) {
	pace.Soak(t, sampled)
	killBetween(t, 1)
}

func TestRealKillInAFreeze(t *testing.T) {
	pace.Soak(t, sampled)
	killFreezing(t, 20, killSeed(t))
}

// killSeed is FORGE_SEED, else another one each time.
func killSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("FORGE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FORGE_SEED: %v", err)
		}
	}
	t.Logf("FORGE_SEED=%d plays the same offsets again", seed)
	return seed
}
