package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/pace"
)

// embedder makes vectors as the model server of the tests does, and counts.
type embedder struct {
	model string
	dims  int
	asked []string
	fails func(texts []string) error
	mute  bool // says nothing of tokens
}

func (e *embedder) Model() string { return e.model }

func (e *embedder) Embed(_ context.Context, texts []string) (vectors [][]float32, tokens *int64, err error) {
	if e.fails != nil {
		if err := e.fails(texts); err != nil {
			return nil, new(int64), err
		}
	}
	spent := int64(0)
	for _, one := range texts {
		e.asked = append(e.asked, one)
		spent += int64(len(one) / 4)
		vectors = append(vectors, fakemodel.Embed(one, e.dims))
	}
	if e.mute {
		return vectors, nil, nil
	}
	return vectors, &spent, nil
}

func clock() time.Time { return noon }

func vectorsOf(tb testing.TB) *Vectors {
	tb.Helper()
	v, err := OpenVectors(tb.Context(), filepath.Join(tb.TempDir(), "vectors.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { v.Close() })
	return v
}

// filesOfMade are the files of the index that made gives.
func filesOfMade(context.Context, string, string) (string, error) {
	return "package p\n\nfunc parseHTTPHeader() {}\n", nil
}

func fill(t *testing.T, v *Vectors, i *Index, e *embedder, m Meter) []string {
	t.Helper()
	e.asked = nil
	if err := v.Fill(t.Context(), i, e, m, filesOfMade); err != nil {
		t.Fatal(err)
	}
	return e.asked
}

// Each text is given to the model once, whatever it stands in and however often it
// is asked for; a new one alone is given later.
func TestEachTextIsEmbeddedOnce(t *testing.T) {
	i, v := made(t), vectorsOf(t)
	e, m := &embedder{model: "m", dims: 32}, Meter{Now: clock}
	if err := i.Write(t.Context(), func(b *Batch) error {
		return b.Add(Piece{Source: "s8", Kind: KindComment, Run: "r9", Body: "please keep the header"}) // as s3 has it
	}); err != nil {
		t.Fatal(err)
	}
	if got := fill(t, v, i, e, m); len(got) != 4 { // the file that stands nowhere is not read
		t.Errorf("%d texts were embedded: %q", len(got), got)
	}
	if got := fill(t, v, i, e, m); len(got) != 0 {
		t.Errorf("embedded again: %q", got)
	}
	if err := i.Write(t.Context(), func(b *Batch) error {
		return errors.Join(b.Drop("s1"), b.Add(Piece{Source: "s1", Kind: KindPlan, Body: "write the header parser"}), b.Add(Piece{Source: "s9", Kind: KindPlan, Body: "new"}))
	}); err != nil {
		t.Fatal(err)
	}
	if got := fill(t, v, i, e, m); !slices.Equal(got, []string{"new"}) {
		t.Errorf("embedded %q, want the new text alone", got)
	}
	e.model = "other"
	if near, err := v.Near(t.Context(), e, m, Query{Terms: []Term{{Words: "header"}}}); near != nil || err != nil {
		t.Errorf("vectors of another model are asked: %v, %v", near, err)
	}
	if got := fill(t, v, i, e, m); len(got) != 5 {
		t.Errorf("another model: %d texts were embedded, want all", len(got))
	}
	if model, dims, err := v.Of(t.Context()); model != "other" || dims != 32 || err != nil {
		t.Errorf("%s of %d, %v", model, dims, err)
	}
}

func TestWhatNoIndexHasIsDropped(t *testing.T) {
	i, v := made(t), vectorsOf(t)
	e, m := &embedder{model: "m", dims: 20}, Meter{Now: clock}
	fill(t, v, i, e, m)
	if err := i.Write(t.Context(), func(b *Batch) error { return b.Drop("s1") }); err != nil {
		t.Fatal(err)
	}
	if err := v.Keep(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	hashes, err := v.nearest(t.Context(), fakemodel.Embed("please keep the header", 20), 10, nil)
	if err != nil || len(hashes) != 3 || hashes[0] != hashOf("please keep the header") {
		t.Errorf("%v, %v; want the three that are left, that of the text first", hashes, err)
	}
	if got := fill(t, v, i, e, m); len(got) != 0 {
		t.Errorf("embedded again: %q", got)
	}
}

// What is spent stays below the cap, whether the model says what it took or not, and
// goes on the next day.
func TestCapOfTheDay(t *testing.T) {
	for _, mute := range []bool{false, true} {
		v := vectorsOf(t)
		texts := map[string]string{}
		for n := range 200 {
			texts[fmt.Sprintf("f%d.txt", n)] = fmt.Sprintf("text %d %s\n", n, strings.Repeat("word ", 300))
		}
		i := indexOf(t, texts)
		day := noon
		m := Meter{Now: func() time.Time { return day }, Limit: 200_000}
		e := &embedder{model: "m", dims: 8, mute: mute}
		days := 0
		for ; days < 10; days++ {
			err := v.Fill(t.Context(), i, e, m, filesOf(texts))
			spent, failed := v.Spent(t.Context(), day.Format(time.DateOnly))
			if failed != nil || spent > m.Limit || spent == 0 {
				t.Errorf("mute %v: %d tokens were spent of %d, %v", mute, spent, m.Limit, failed)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, ErrCap) {
				t.Fatal(err)
			}
			day = day.AddDate(0, 0, 1)
		}
		if want := map[bool]int{false: 0, true: 1}[mute]; days != want || len(e.asked) != 200 {
			t.Errorf("mute %v: it took %d more days for %d texts, want %d for 200", mute, days, len(e.asked), want)
		}
	}
}

// A text that the model does not take keeps no other from having its vector, and is
// not sent again.
func TestTextThatIsNotTaken(t *testing.T) {
	i, v := made(t), vectorsOf(t)
	e := &embedder{model: "m", dims: 8, fails: func(texts []string) error {
		if slices.Contains(texts, "please keep the header") {
			return fmt.Errorf("%w: too long", ErrNotTaken)
		}
		return nil
	}}
	if got := fill(t, v, i, e, Meter{Now: clock}); len(got) != 3 {
		t.Errorf("embedded %q", got)
	}
	if got := fill(t, v, i, e, Meter{Now: clock}); len(got) != 0 {
		t.Errorf("embedded again %q", got)
	}
	e.fails = func([]string) error { return ErrNotTaken }
	if err := vectorsOf(t).Fill(t.Context(), i, e, Meter{Now: clock}, filesOfMade); !errors.Is(err, ErrNotTaken) {
		t.Errorf("a model that takes nothing: %v", err)
	}
}

// What was made before a failure stays, and nobody is shut out after it.
func TestFillGoesOnWhereItStopped(t *testing.T) {
	texts := map[string]string{}
	for n := range 100 {
		texts[fmt.Sprintf("f%d.txt", n)] = fmt.Sprintf("text %d\n", n)
	}
	i, v := indexOf(t, texts), vectorsOf(t)
	gone := errors.New("the service is gone")
	e := &embedder{model: "m", dims: 8}
	e.fails = func([]string) error {
		if len(e.asked) > 0 {
			return gone
		}
		return nil
	}
	if err := v.Fill(t.Context(), i, e, Meter{Now: clock}, filesOf(texts)); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	first := len(e.asked)
	if left, err := v.Left(t.Context(), i, "m"); err != nil || left != 100-first || left == 0 {
		t.Errorf("%d are left after %d, %v", left, first, err)
	}
	e.fails = nil
	if err := v.Fill(t.Context(), i, e, Meter{Now: clock}, filesOf(texts)); err != nil || len(e.asked) != 100 {
		t.Errorf("%d texts were embedded, %v", len(e.asked), err)
	}
}

// While somebody fills, nobody else does: it would be paid twice.
func TestTwoDoNotFillAtOnce(t *testing.T) {
	i, v := made(t), vectorsOf(t)
	second := &embedder{model: "m", dims: 8}
	first := &embedder{model: "m", dims: 8}
	first.fails = func([]string) error {
		return v.Fill(t.Context(), i, second, Meter{Now: clock}, filesOfMade)
	}
	fill(t, v, i, first, Meter{Now: clock})
	if len(second.asked) != 0 || len(first.asked) != 4 {
		t.Errorf("the first embedded %d, the second %d", len(first.asked), len(second.asked))
	}
}

// Two or three bits a number, and the signs first, find nearly what comparing everything
// whole would: of those that are nearest most come first, and the others soon.
func TestNearestBesideAll(t *testing.T) {
	pace.Sequential(t, "arithmetic, in one goroutine")
	for dims, least := range map[int]nearness{256: {0.75, 0.98, 0.9}, 768: {0.6, 0.97, 0.75}} {
		t.Run(fmt.Sprint(dims), func(t *testing.T) { nearestBesideAll(t, dims, least) })
	}
}

// nearness is how many of the ten that are nearest are among the first ten and the first
// thirty, and how often the very nearest is among the first ten.
type nearness struct{ same, near, first float64 }

func nearestBesideAll(t *testing.T, dims int, least nearness) {
	t.Helper()
	const count, n, soon = 3000, 10, 30
	r := rand.New(rand.NewPCG(1, 2))
	// As models answer: around some topics, and all of them to one side.
	var topics [][]float32
	for range 40 {
		topics = append(topics, gauss(r, dims, nil, 0))
	}
	all := map[int64][]float32{}
	var list []madeVector
	for id := range int64(count) {
		all[id] = gauss(r, dims, topics[r.IntN(len(topics))], 1)
		list = append(list, madeVector{id, all[id]})
	}
	v := vectorsOf(t)
	if err := v.put(t.Context(), "m", dims, list); err != nil {
		t.Fatal(err)
	}
	same, near, first := 0, 0, 0
	const questions = 30
	for range questions {
		q := gauss(r, dims, topics[r.IntN(len(topics))], 1)
		got, err := v.nearest(t.Context(), q, soon, nil)
		if err != nil || len(got) != soon {
			t.Fatal(got, err)
		}
		want, cosines := make([]int64, 0, count), make(map[int64]float64, count)
		for id, vector := range all {
			want, cosines[id] = append(want, id), angle(q, vector)
		}
		slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(cosines[b], cosines[a]) })
		for _, id := range want[:n] {
			if slices.Contains(got[:n], id) {
				same++
			}
			if slices.Contains(got, id) {
				near++
			}
		}
		if slices.Contains(got[:n], want[0]) {
			first++
		}
	}
	t.Logf("%d of %d among the first %d, %d among the first %d, the very nearest %d times of %d", same, questions*n, n, near, soon, first, questions)
	share := func(found, of int) float64 { return float64(found) / float64(of) }
	if share(same, questions*n) < least.same || share(near, questions*n) < least.near || share(first, questions) < least.first {
		t.Error("too few")
	}
}

func gauss(r *rand.Rand, dims int, around []float32, pull float32) []float32 {
	out := make([]float32, dims)
	for n := range out {
		out[n] = float32(r.NormFloat64()) + 0.3
		if around != nil {
			out[n] += pull * around[n]
		}
	}
	return out
}

func angle(a, b []float32) float64 {
	dot, x, y := 0.0, 0.0, 0.0
	for n := range a {
		dot += float64(a[n]) * float64(b[n])
		x += float64(a[n]) * float64(a[n])
		y += float64(b[n]) * float64(b[n])
	}
	return dot / math.Sqrt(x*y)
}

// Whatever is asked and however near it is: what the question does not allow is not
// found, and what it allows is, wherever others are nearer.
func TestMeaningFindsNothingElse(t *testing.T) {
	e := &embedder{model: "m", dims: 64}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 7))
		one := func(list ...string) string { return list[r.IntN(len(list))] }
		run := func() string { return one("r1", "r2", "r3") }
		phase := func() string { return one("01", "02") }
		kind := func() Kind { return []Kind{KindPlan, KindAgent, KindComment}[r.IntN(3)] }
		word := func() string { return one("apple", "apples", "pear", "plum", "cherry", "quince") }
		var pieces []Piece
		for n := range 1 + r.IntN(60) {
			pieces = append(pieces, Piece{Source: fmt.Sprint(n), Path: fmt.Sprint(n), Kind: kind(), Run: run(), Phase: phase(), Body: word() + " " + word()})
		}
		i, v := indexOf(t, nil), vectorsOf(t)
		if err := i.Write(t.Context(), func(b *Batch) error {
			for _, p := range pieces {
				if err := b.Add(p); err != nil {
					return err
				}
			}
			return b.AddFile("blob/x", "x", "apple of a file that stands nowhere")
		}); err != nil {
			t.Fatal(err)
		}
		if err := v.Fill(t.Context(), i, e, Meter{Now: clock}, noFile); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			q := Query{Terms: []Term{{Words: word()}}, Run: run()}
			if r.IntN(2) == 0 {
				q.Phase = phase()
			}
			if r.IntN(2) == 0 {
				q.Kinds = []Kind{kind()}
			}
			if r.IntN(2) == 0 {
				q.Not = []Term{{Words: word()}}
			}
			near, err := v.Near(t.Context(), e, Meter{Now: clock}, q)
			if err != nil || near == nil {
				t.Fatal(near, err)
			}
			// Few are looked at first, so that the rest has to be asked for.
			depth := []int{2, MaxHits}[r.IntN(2)]
			hits, err := i.byMeaning(t.Context(), q, near, depth)
			if err != nil {
				t.Fatal(err)
			}
			allowed := func(p Piece) bool {
				return p.Run == q.Run && (q.Phase == "" || p.Phase == q.Phase) && (len(q.Kinds) == 0 || p.Kind == q.Kinds[0]) &&
					(len(q.Not) == 0 || !slices.Contains(strings.Fields(p.Body), q.Not[0].Words))
			}
			want := 0
			for _, p := range pieces {
				if allowed(p) {
					want++
				}
			}
			for _, h := range hits {
				at := slices.IndexFunc(pieces, func(p Piece) bool { return p.Path == h.Path })
				if at < 0 || !allowed(pieces[at]) {
					t.Fatalf("seed %d: %+v was found by %+v", seed, h, q)
				}
			}
			if len(hits) != min(want, depth) {
				t.Fatalf("seed %d: %d were found of %d by %+v", seed, len(hits), want, q)
			}
		}
	}
}

// What both rankings have comes before what one has.
func TestFuse(t *testing.T) {
	h := func(ids ...int64) (out []Hit) {
		for _, id := range ids {
			out = append(out, Hit{id: id})
		}
		return out
	}
	var got []int64
	for _, one := range fuse([][]Hit{h(1, 2, 3), h(4, 3, 5)}) {
		got = append(got, one.id)
	}
	if want := []int64{3, 1, 4, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Words in quotes and beginnings are meant as they stand.
func TestMeaning(t *testing.T) {
	for said, want := range map[string]string{"how are runs kept": "how are runs kept", `"time out"`: "", "retr*": "", "lease -old kind:file": "lease", `lease "a b"`: ""} {
		q, _ := Parse(said, noon)
		if got := q.Meaning(); got != want {
			t.Errorf("%s means %q, want %q", said, got, want)
		}
	}
}

// Vectors that cannot be read are said, never thrown away: they were paid for.
func TestBrokenVectorsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	broken := []byte("this is no database, and long enough to be seen as one that is not")
	writeFile(t, path, broken)
	if _, err := OpenVectors(t.Context(), path); err == nil {
		t.Fatal("it was opened")
	}
	if got := readFile(t, path); !slices.Equal(got, broken) {
		t.Errorf("it is %q now", got)
	}
}
