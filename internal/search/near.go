package search

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// Near is what a question means, and the vectors that are compared with it.
type Near struct {
	Vectors *Vectors
	Vector  []float32
}

// byMeaning are the chunks whose vectors are nearest to the question's. What narrows
// a question is asked of the index, which alone knows whose a text is and where it
// stands; a vector by itself is never found.
func (i *Index) byMeaning(ctx context.Context, q Query, near *Near, depth int) ([]Hit, error) {
	hits, more, err := i.nearest(ctx, q, near, depth+depth/2, nil)
	if err != nil || len(hits) >= depth || !more {
		return hits[:min(len(hits), depth)], err
	}
	// Too few of the nearest may be found: then only those are compared which may.
	where, args := q.whereBeside()
	allowed, err := ints(ctx, i.db, "SELECT DISTINCT c.hash FROM chunk AS c JOIN piece AS p ON p.id = c.piece "+placed+where, args...)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	hits, _, err = i.nearest(ctx, q, near, depth+depth/2, allowed)
	return hits[:min(len(hits), depth)], err
}

// nearest are the chunks of the n nearest vectors that the question allows; more
// says that there are further ones.
func (i *Index) nearest(ctx context.Context, q Query, near *Near, n int, only []int64) (hits []Hit, more bool, err error) {
	hashes, err := near.Vectors.nearest(ctx, near.Vector, n, only)
	if err != nil {
		return nil, false, err
	}
	where, args := q.whereBeside()
	args = append([]any{jsonOf(hashes)}, args...)
	hits, err = i.hits(ctx, "SELECT "+columns+", c.hash FROM chunk AS c JOIN piece AS p ON p.id = c.piece "+placed+" AND c.hash IN (SELECT value FROM json_each(?))"+where+" GROUP BY p.id, c.hash", args...)
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
// of those in only (nil = all). The signs of all are looked at first, and how large
// the numbers are of five times as many as are wanted.
func (v *Vectors) nearest(ctx context.Context, q []float32, n int, only []int64) ([]int64, error) {
	var allowed map[int64]bool
	if only != nil {
		allowed = make(map[int64]bool, len(only))
		for _, hash := range only {
			allowed[hash] = true
		}
	}
	q = turned(q)
	candidates, err := v.bySigns(ctx, q, 5*n, allowed)
	if err != nil {
		return nil, v.trouble(err)
	}
	rows, err := v.sizesOf(ctx, candidates, len(q))
	if err != nil {
		return nil, v.trouble(err)
	}
	score := make(map[int64]float64, len(candidates))
	per, long := sizesPer(len(q)), sizesLen(len(q))
	for _, one := range candidates {
		row, from := rows[one.at/per], one.at%per*long
		if from+long > len(row) {
			return nil, v.trouble(fmt.Errorf("there are no sizes of number %d", one.at))
		}
		score[one.hash] = likeness(q, one.signs, row[from:from+long])
	}
	out := slices.SortedFunc(maps.Keys(score), func(a, b int64) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return out[:min(len(out), n)], nil
}

// sizesOf are the rows that have the sizes of some vectors, by their ids.
func (v *Vectors) sizesOf(ctx context.Context, some []signed, dims int) (map[int][]byte, error) {
	out := map[int][]byte{}
	var ids []int64
	for _, one := range some {
		id := one.at / sizesPer(dims)
		if _, is := out[id]; !is {
			out[id] = nil
			ids = append(ids, int64(id))
		}
	}
	rows, err := v.db.QueryContext(ctx, "SELECT id, sizes FROM size WHERE id IN (SELECT value FROM json_each(?))", jsonOf(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var row []byte
		if err := rows.Scan(&id, &row); err != nil {
			return nil, err
		}
		out[id] = row
	}
	return out, rows.Err()
}

// signed is a vector's place among all, the hash of its text, and its signs.
type signed struct {
	at    int
	hash  int64
	signs []byte
}

// bySigns are the n vectors whose signs fit q best. How many signs differ
// says it roughly, which is counted for all; of what is left, the numbers of q are
// added where a vector is above zero and taken off where it is not.
func (v *Vectors) bySigns(ctx context.Context, q []float32, n int, allowed map[int64]bool) ([]signed, error) {
	rough, err := v.byDistance(ctx, signsOf(q), 8*n, allowed)
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
			heap.Push(&best, scored{one, score})
		} else if score > best[0].score {
			best[0] = scored{one, score}
			heap.Fix(&best, 0)
		}
	}
	out := make([]signed, 0, len(best))
	for _, one := range best {
		out = append(out, one.signed)
	}
	return out, nil
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
	rows, err := v.db.QueryContext(ctx, "SELECT id, hashes, signs FROM block ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []signed
	var distances []int
	count := make([]int, 8*len(q)+1) // of vectors, by distance
	for rows.Next() {
		var block int
		var hashes, signs []byte
		if err := rows.Scan(&block, &hashes, &signs); err != nil {
			return nil, err
		}
		for at := 0; (at+1)*len(q) <= len(signs) && (at+1)*hashLen <= len(hashes); at++ {
			one := signed{block*blockLen + at, hashAt(hashes, at), signs[at*len(q) : (at+1)*len(q)]}
			if allowed != nil && !allowed[one.hash] {
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
	signed
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
