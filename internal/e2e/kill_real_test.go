//go:build real

package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

func TestRealKillAtEveryJournalOffset(t *testing.T) { killEvery(t, 1) }

func TestRealPowerCut(t *testing.T) { cutEvery(t, 3) }

func TestRealReviewersMisbehave(t *testing.T) { misbehave(t, 1) }

func TestRealKillAfterEveryGitCommand(t *testing.T) { killBetween(t, 1) }

func TestRealKillInAFreeze(t *testing.T) { killFreezing(t, 20, killSeed(t)) }

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
