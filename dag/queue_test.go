package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The heap against a sorted list. It is large enough that the last rank can be
// smaller than the parent of a place in the middle.
func TestQueueIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 64
		q := newQueue(n)
		var want []int
		for _, rank := range rapid.Permutation(upTo(n)).Draw(t, "pushed") {
			q.push(rank)
			want = append(want, rank)
		}
		slices.Sort(want)
		for _, rank := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID).Draw(t, "removed") {
			q.remove(rank)
			want = slices.DeleteFunc(want, func(r int) bool { return r == rank })
		}
		for _, rank := range want {
			if got := q.pop(); got != rank {
				t.Fatalf("pop = %d, want %d", got, rank)
			}
		}
		if q.len() != 0 {
			t.Fatalf("%d left over", q.len())
		}
	})
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
