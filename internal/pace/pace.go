// Package pace says of a test what its time depends on: why it is slow, and
// that nothing in it happens at the same time.
package pace

import "testing"

// SlowAttr is the attribute by which go test -json tells that a test may be slow.
const SlowAttr = "slow"

// Slow lets a test take longer than others may (see make test), and says why.
// It holds for the subtests too.
func Slow(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a slow test needs a reason")
	}
	t.Attr(SlowAttr, why)
}

// Sequential says that in a test nothing happens at the same time, beyond what
// the tests beside it show as well. The race detector, under which everything
// takes five times as long, has nothing to find in it, and it is skipped there.
func Sequential(t testing.TB, why string) {
	t.Helper()
	if why == "" {
		t.Fatal("a sequential test needs a reason")
	}
	if Race {
		t.Skip("not under the race detector: " + why)
	}
}
