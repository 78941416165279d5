// Package pace says of a test what its time depends on: why it is slow, and
// that nothing in it happens at the same time. Each slow test is played once before
// a change is taken: not by make test (FORGE_PACE=short), but by make race, or, where
// that has nothing to find in it, by make long (FORGE_PACE=long). Stories in which things
// go on at once are played by make race alone, however fast they are. What is told at
// length where a part of it shows the same is left to make soak (FORGE_PACE=soak).
package pace

import (
	"os"
	"testing"
)

// SlowAttr is the attribute by which go test -json tells that a test may be slow.
const SlowAttr = "slow"

// Slow lets a test take longer than others may (see make test), and says why.
// It holds for the subtests too. Where FORGE_PACE is short it is left out.
func Slow(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a slow test needs a reason")
	}
	t.Attr(SlowAttr, why)
	if Left(true, false) {
		t.Skip("slow: " + why)
	}
}

// Sequential says that in a test nothing happens at the same time, beyond what
// the tests beside it show as well. The race detector, under which everything
// takes five times as long, has nothing to find in it, and it is skipped there.
func Sequential(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a sequential test needs a reason")
	}
	if Left(false, true) {
		t.Skip("not under the race detector: " + why)
	}
}

// Soak leaves a test to make soak, and says what shows the same before a change is taken.
func Soak(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a test that is left needs a reason")
	}
	if os.Getenv("FORGE_PACE") != "soak" {
		t.Skip("left to make soak: " + why)
	}
}

// Few is how many of many that are alike are played: few before a change is taken, all
// by make soak.
func Few(few, all int) int {
	if os.Getenv("FORGE_PACE") == "soak" {
		return all
	}
	return min(few, all)
}

// Left says that a test is not played now: a slow one where FORGE_PACE is
// short, and one in which nothing happens at the same time under the race detector.
func Left(slow, sequential bool) bool {
	switch {
	case Race:
		return sequential
	case os.Getenv("FORGE_PACE") == "short":
		return slow
	}
	return false
}

// LeftButLong is Left for one of many that a single test plays, which make long plays
// beside the tests that call Slow and Sequential.
func LeftButLong(slow, sequential bool) bool {
	return Left(slow, sequential) || os.Getenv("FORGE_PACE") == "long" && !(slow && sequential)
}

// OnlyBeside says of a package that the race detector watches those of its tests alone
// that begin something beside themselves (see internal/pace/pick): what it tests begins
// nothing by itself, or its tests are stories most of whose time is other programs', and
// what goes on in each is watched where it is written.
//
//	var _ = pace.OnlyBeside("runs on a fake code host")
func OnlyBeside(why string) bool {
	if why == "" {
		panic("what is not watched needs a reason")
	}
	return true
}
