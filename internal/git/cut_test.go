package git

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCutWriter writes texts in pieces: what fits comes whole, and what does not as
// its whole lines up to the bound, with a last line that says where it ends.
func TestCutWriter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		const bound = 40
		var written strings.Builder
		over := 0
		w := &cutWriter{max: bound, over: func() { over++ }}
		for range r.IntN(8) {
			piece := make([]byte, r.IntN(20))
			for i := range piece {
				piece[i] = "a\nb"[r.IntN(3)]
			}
			written.Write(piece)
			if n, err := w.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("seed %d: write of %d bytes: %d, %v", seed, len(piece), n, err)
			}
			clear(piece) // it is the caller's again
		}
		want, ends := written.String(), 0
		if len(want) > bound {
			whole := want[:strings.LastIndexByte(want[:bound], '\n')+1]
			want, ends = whole+fmt.Sprintf("[diff cut after %d bytes]\n", len(whole)), 1
		}
		if got := w.text(); got != want || over != ends {
			t.Fatalf("seed %d: text %q, over %d times; want %q, %d times, of %q", seed, got, over, want, ends, written.String())
		}
	}
}
