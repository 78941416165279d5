package search

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// Near is what a question means, and the vectors that are compared with it.
type Near struct {
	Vectors *Vectors
	Vector  []float32
}

// byMeaning are the pieces whose vectors are nearest to the question's. What narrows
// a question is asked of the index, which alone knows whose a text is and where it
// stands; a vector by itself is never found.
func (i *Index) byMeaning(ctx context.Context, q Query, near *Near, depth int) ([]Hit, error) {
	hits, more, err := i.nearest(ctx, q, near, depth+depth/2, nil)
	if err != nil || len(hits) >= depth || !more {
		return hits[:min(len(hits), depth)], err
	}
	// Too few of the nearest may be found: then only those are compared which may.
	where, args := q.whereBeside()
	allowed, err := ints(ctx, i.db, "SELECT DISTINCT p.hash FROM piece AS p "+placed+where, args...)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	hits, _, err = i.nearest(ctx, q, near, depth+depth/2, allowed)
	return hits[:min(len(hits), depth)], err
}

// nearest are the pieces of the n nearest vectors that the question allows; more
// says that there are further ones.
func (i *Index) nearest(ctx context.Context, q Query, near *Near, n int, only []int64) (hits []Hit, more bool, err error) {
	hashes, err := near.Vectors.nearest(ctx, near.Vector, n, only)
	if err != nil {
		return nil, false, err
	}
	where, args := q.whereBeside()
	args = append([]any{jsonOf(hashes)}, args...)
	hits, err = i.hits(ctx, "SELECT "+columns+" FROM piece AS p "+placed+" AND p.hash IN (SELECT value FROM json_each(?))"+where+" GROUP BY p.id", args...)
	if err != nil {
		return nil, false, err
	}
	place := make(map[int64]int, len(hashes))
	for at, hash := range hashes {
		place[hash] = at
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(place[a.hash], place[b.hash]) })
	return hits, len(hashes) == n, nil
}

// whereBeside is what narrows a question that is not asked of words, with those that
// must not stand there.
func (q Query) whereBeside() (where string, args []any) {
	where, args = q.where()
	if len(q.Not) > 0 {
		where += " AND p.id NOT IN (SELECT rowid FROM word WHERE word MATCH ?)"
		args = append(args, q.without())
	}
	return where, args
}

// nearest are the hashes of the n texts whose vectors point most nearly where q does,
// of those in only (nil = all). The signs of all are looked at first, and the
// vectors themselves of five times as many as are wanted.
func (v *Vectors) nearest(ctx context.Context, q []float32, n int, only []int64) ([]int64, error) {
	var allowed map[int64]bool
	if only != nil {
		ids, err := ints(ctx, v.db, "SELECT id FROM vector WHERE hash IN (SELECT value FROM json_each(?))", jsonOf(only))
		if err != nil {
			return nil, v.trouble(err)
		}
		allowed = make(map[int64]bool, len(ids))
		for _, id := range ids {
			allowed[id] = true
		}
	}
	candidates, err := v.bySigns(ctx, q, 5*n, allowed)
	if err != nil {
		return nil, v.trouble(err)
	}
	rows, err := v.db.QueryContext(ctx, "SELECT hash, code FROM vector WHERE id IN (SELECT value FROM json_each(?)) AND code IS NOT NULL", jsonOf(candidates))
	if err != nil {
		return nil, v.trouble(err)
	}
	defer rows.Close()
	score := make(map[int64]float64, len(candidates))
	for rows.Next() {
		var hash int64
		var code []byte
		if err := rows.Scan(&hash, &code); err != nil {
			return nil, v.trouble(err)
		}
		if len(code) == len(q) {
			score[hash] = cosine(q, code)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, v.trouble(err)
	}
	out := slices.SortedFunc(maps.Keys(score), func(a, b int64) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return out[:min(len(out), n)], nil
}

// cosine of the angle between a vector and one as bytesOf writes it, up to the length
// of q, which is the same for all.
func cosine(q []float32, code []byte) float64 {
	dot, length := float32(0), float32(0)
	for n, b := range code {
		x := float32(int8(b)) //nolint:gosec // it was written as one
		dot += q[n] * x
		length += x * x
	}
	if length == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(length))
}

// signed is a vector's id and signs.
type signed struct {
	id    int64
	signs []byte
}

// bySigns are the ids of the n vectors whose signs fit q best. How many signs differ
// says it roughly, which is counted for all; of what is left, the numbers of q are
// added where a vector is above zero and taken off where it is not.
func (v *Vectors) bySigns(ctx context.Context, q []float32, n int, allowed map[int64]bool) ([]int64, error) {
	rough, err := v.byDistance(ctx, signsOf(q, len(q)), 8*n, allowed)
	if err != nil {
		return nil, err
	}
	sums := signSums(q)
	best := make(worstFirst, 0, n)
	for _, one := range rough {
		score := float32(0)
		for k, eight := range one.signs {
			score += sums[k][eight]
		}
		if len(best) < n {
			heap.Push(&best, scored{one.id, score})
		} else if score > best[0].score {
			best[0] = scored{one.id, score}
			heap.Fix(&best, 0)
		}
	}
	ids := make([]int64, 0, len(best))
	for _, one := range best {
		ids = append(ids, one.id)
	}
	return ids, nil
}

// signSums has for each eight numbers of q what they come to by the signs that a byte
// has of them.
func signSums(q []float32) [][256]float32 {
	sums := make([][256]float32, (len(q)+7)/8)
	for at := range sums {
		for eight := range 256 {
			for k := range min(8, len(q)-8*at) {
				if eight>>k&1 == 1 {
					sums[at][eight] += q[8*at+k]
				} else {
					sums[at][eight] -= q[8*at+k]
				}
			}
		}
	}
	return sums
}

// byDistance are the vectors of which the fewest signs are others than those of q, n
// and as many more as differ in as many as the last one.
func (v *Vectors) byDistance(ctx context.Context, q []byte, n int, allowed map[int64]bool) ([]signed, error) {
	rows, err := v.db.QueryContext(ctx, "SELECT id, signs FROM block ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []signed
	var distances []int
	count := make([]int, 8*len(q)+1) // of vectors, by distance
	for rows.Next() {
		var block int64
		var signs []byte
		if err := rows.Scan(&block, &signs); err != nil {
			return nil, err
		}
		for at := 0; (at+1)*len(q) <= len(signs); at++ {
			one := signed{block*blockLen + int64(at), signs[at*len(q) : (at+1)*len(q)]}
			if allowed != nil && !allowed[one.id] {
				continue
			}
			d := differing(q, one.signs)
			all, distances = append(all, one), append(distances, d)
			count[d]++
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	most, taken := 0, 0
	for taken += count[0]; taken < n && most < len(count)-1; taken += count[most] {
		most++
	}
	out := make([]signed, 0, taken)
	for at, one := range all {
		if distances[at] <= most {
			out = append(out, one)
		}
	}
	return out, nil
}

// differing is how many bits of two lists differ, which are of one length.
func differing(a, b []byte) int {
	n := 0
	for ; len(a) >= 8; a, b = a[8:], b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b))
	}
	for at := range a {
		n += bits.OnesCount8(a[at] ^ b[at])
	}
	return n
}

type scored struct {
	id    int64
	score float32
}

// worstFirst is a heap of what fits best so far.
type worstFirst []scored

func (w worstFirst) Len() int           { return len(w) }
func (w worstFirst) Less(a, b int) bool { return w[a].score < w[b].score }
func (w worstFirst) Swap(a, b int)      { w[a], w[b] = w[b], w[a] }

// Push is for heap alone.
func (w *worstFirst) Push(x any) { *w = append(*w, x.(scored)) }

// Pop is for heap alone.
func (w *worstFirst) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
