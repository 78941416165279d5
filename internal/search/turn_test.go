package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"forge/internal/pace"
)

// A vector that is turned keeps its length and its angles to others, whatever its
// length in numbers, and is turned alike each time; one whose numbers are few is
// spread over all of them.
func TestTurned(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, dims := range []int{1, 2, 3, 7, 64, 100, 384, 768, 1000, 1536} {
		a, b := gauss(r, dims, nil, 0), gauss(r, dims, nil, 0)
		kept := slices.Clone(a)
		x, y := turned(a), turned(b)
		if !reflect.DeepEqual(a, kept) || !reflect.DeepEqual(x, turned(a)) {
			t.Errorf("%d numbers: it is changed in place, or turned otherwise each time", dims)
		}
		if was, is := angle(a, b), angle(x, y); math.Abs(was-is) > 1e-4 {
			t.Errorf("%d numbers: the cosine was %v and is %v", dims, was, is)
		}
		if was, is := angle(a, a)*norm(a), angle(x, x)*norm(x); math.Abs(was-is) > 1e-3*was {
			t.Errorf("%d numbers: the length was %v and is %v", dims, was, is)
		}
		if dims < 64 {
			continue
		}
		one := make([]float32, dims)
		one[dims/3] = 1
		most := float32(0)
		for _, x := range turned(one) {
			most = max(most, x, -x)
		}
		if most > 0.5 {
			t.Errorf("%d numbers: a single one still has %.2f in one place", dims, most)
		}
	}
}

func norm(a []float32) float64 {
	sum := 0.0
	for _, x := range a {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// What is kept of a vector says nearly its angle to another, whatever its numbers are.
func TestLikeness(t *testing.T) {
	// The root of what is left of a bell when it is cut in so many pieces.
	for dims, near := range map[int]float64{256: 0.983, 768: 0.939} {
		t.Run(fmt.Sprint(dims), func(t *testing.T) { likenessOf(t, dims, near) })
	}
}

func likenessOf(t *testing.T, dims int, near float64) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, made := range map[string]func() []float32{
		"a bell":        func() []float32 { return gauss(r, dims, nil, 0) },
		"few numbers":   func() []float32 { return sparse(r, dims) },
		"all one side":  func() []float32 { return gauss(r, dims, slices.Repeat([]float32{1}, dims), 3) },
		"a single size": func() []float32 { return slices.Repeat([]float32{float32(r.NormFloat64())}, dims) },
	} {
		for range 20 {
			q, x := made(), made()
			signs, sizes := coded(x)
			if len(signs) != dims/8 || len(sizes) != sizesLen(dims) {
				t.Fatalf("%s: %d and %d bytes", name, len(signs), len(sizes))
			}
			turnedQ := turned(q)
			if got, want := likeness(turnedQ, signs, sizes)/norm(turnedQ), near*angle(q, x); math.Abs(got-want) > 0.05 {
				t.Errorf("%s: the cosine is %.3f, and said to be %.3f", name, want, got)
			}
		}
	}
}

func sparse(r *rand.Rand, dims int) []float32 {
	out := make([]float32, dims)
	for range 30 {
		out[r.IntN(dims)] = float32(r.NormFloat64())
	}
	return out
}

// oldBytes are the numbers of a vector as version 1 kept them.
func oldBytes(vector []float32) []byte {
	most := float32(0)
	for _, x := range vector {
		most = max(most, x, -x)
	}
	out := make([]byte, len(vector))
	for n, x := range vector {
		out[n] = byte(int8(math.RoundToEven(float64(x / most * 127))))
	}
	return out
}

// What versions before kept vectors in.
const oldSchema = `
CREATE TABLE model(id INTEGER PRIMARY KEY CHECK(id = 1), name TEXT NOT NULL, dims INTEGER NOT NULL);
CREATE TABLE vector(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL UNIQUE, code BLOB);
CREATE TABLE block(id INTEGER PRIMARY KEY, signs BLOB NOT NULL);
CREATE TABLE spent(day TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO spent VALUES('2026-03-01', 77);`

// oldSizes are the sizes of a vector as version 2 kept them: two bits of each number.
func oldSizes(vector []float32) []byte {
	x := turned(vector)
	mean := float32(norm(x) / math.Sqrt(float64(len(x))))
	out := make([]byte, (len(x)*2+7)/8)
	for n, one := range x {
		size := byte(0)
		for _, cut := range []float32{0.5006, 1.050, 1.748} {
			if max(one, -one) > cut*mean {
				size++
			}
		}
		out[n/4] |= size << (n % 4 * 2)
	}
	return out
}

// oldFile writes vectors as a version before did, in blocks of 1024.
func oldFile(t *testing.T, path string, version, dims int, list []madeVector) {
	t.Helper()
	old, err := dial(t.Context(), path, oldSchema, version, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	tx, err := old.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	do := func(query string, args ...any) {
		if _, err := tx.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	do("INSERT INTO model(id, name, dims) VALUES(1, 'm', ?)", dims)
	var signs []byte
	for id, one := range list {
		var code []byte
		sign := make([]byte, (dims+7)/8)
		if one.vector != nil {
			sign, code = signsOf(turned(one.vector)), oldSizes(one.vector)
			if version == 1 {
				code = oldBytes(one.vector)
			}
		}
		do("INSERT INTO vector(id, hash, code) VALUES(?, ?, ?)", id, one.hash, code)
		signs = append(signs, sign...)
	}
	id := 0
	for block := range slices.Chunk(signs, 1024*((dims+7)/8)) {
		do("INSERT INTO block(id, signs) VALUES(?, ?)", id, block)
		id++
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// Vectors that versions before wrote are gone on with: none is asked for again, the
// same are found, and the file gives its room back. Those of version 2 become what is
// made of the numbers themselves.
func TestVectorsOfVersionsBefore(t *testing.T) {
	pace.Sequential(t, "one file, read by one")
	const count = 2500
	for _, dims := range []int{96, 600} {
		r := rand.New(rand.NewPCG(9, 10))
		var list []madeVector
		for id := range int64(count) {
			one := madeVector{hash: 7000 - id}
			if id%100 != 3 { // the model did not take that one
				one.vector = gauss(r, dims, nil, 0)
			}
			list = append(list, one)
		}
		fresh := vectorsOf(t)
		if err := fresh.put(t.Context(), "m", dims, list); err != nil {
			t.Fatal(err)
		}
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("version %d, %d numbers", version, dims), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "vectors.db")
				oldFile(t, path, version, dims, list)
				before := int64(len(readFile(t, path)))
				v, err := OpenVectors(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				defer v.Close()
				known, err := v.known(t.Context(), "m")
				if err != nil || len(known) != count {
					t.Fatalf("%d are known, %v", len(known), err)
				}
				if spent, err := v.Spent(t.Context(), "2026-03-01"); err != nil || spent != 77 {
					t.Errorf("spent is %d, %v", spent, err)
				}
				if version == 2 {
					same(t, v, fresh, dims)
				}
				alike(t, v, fresh, list)
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
				if info, err := os.Stat(path); err != nil || info.Size() > before*95/100 {
					t.Errorf("it had %d bytes and has %d, %v", before, info.Size(), err)
				}
			})
		}
	}
}

// same says that two files have the same vectors, bit by bit.
func same(t *testing.T, v, fresh *Vectors, dims int) {
	t.Helper()
	got, err := allVectors(t.Context(), v.db, dims)
	want, err2 := allVectors(t.Context(), fresh.db, dims)
	if err := errors.Join(err, err2); err != nil || len(got) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d vectors are not those of the numbers themselves, which are %d: %v", len(got), len(want), err)
	}
}

// alike says that nearly the same is found with the vectors of two files.
func alike(t *testing.T, v, fresh *Vectors, list []madeVector) {
	t.Helper()
	alike, most := 0, 0
	for n := 0; n < len(list); n += 97 {
		if list[n].vector == nil {
			continue
		}
		got, err := v.nearest(t.Context(), list[n].vector, 5, nil)
		want, err2 := fresh.nearest(t.Context(), list[n].vector, 5, nil)
		most += len(want)
		for _, hash := range got {
			if slices.Contains(want, hash) {
				alike++
			}
		}
		if err := errors.Join(err, err2); err != nil || got[0] != list[n].hash {
			t.Fatalf("near %d is %v, and made anew %v: %v", list[n].hash, got, want, err)
		}
	}
	// A byte a number is not the number: the last places may differ.
	if alike < most*3/4 {
		t.Errorf("%d of %d that are nearest are so when they are made anew", alike, most)
	}
}

// Where older vectors cannot be taken over, nothing of it is done: not when it cannot come
// to its end, not when one is not as its version writes it, and not of a later version.
func TestVectorsThatCannotBeTakenOver(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	list := []madeVector{{1, gauss(r, 64, nil, 0)}, {2, gauss(r, 64, nil, 0)}}
	refused := func(path string, version, kept int, older upgrade) {
		t.Helper()
		if db, err := dial(t.Context(), path, vectorSchema, vectorVersion, older); err == nil {
			db.Close()
			t.Fatal("it was taken over")
		}
		db, err := dial(t.Context(), path, oldSchema, version, nil)
		if err != nil {
			t.Fatalf("it is half of another version: %v", err)
		}
		defer db.Close()
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM vector").Scan(&n); err != nil || n != kept {
			t.Errorf("%d of %d vectors are left, %v", n, kept, err)
		}
	}
	for _, version := range []int{1, 2} {
		path := filepath.Join(t.TempDir(), "vectors.db")
		oldFile(t, path, version, 64, list)
		refused(path, version, 2, func(ctx context.Context, tx *sql.Tx, from int) (bool, error) {
			if known, err := oldVectors(ctx, tx, from); err != nil || !known {
				t.Fatal(known, err)
			}
			return true, errors.New("the power is cut")
		})
		db, err := dial(t.Context(), path, oldSchema, version, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE vector SET code = x'01' WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		refused(path, version, 2, oldVectors)
	}
	later := filepath.Join(t.TempDir(), "later.db")
	oldFile(t, later, vectorVersion+1, 64, list)
	refused(later, vectorVersion+1, 2, oldVectors)
}

// Where texts are gone, each vector that stays keeps its own signs and sizes.
func TestVectorsStayTogether(t *testing.T) {
	const dims, count = 64, 2100
	r := rand.New(rand.NewPCG(11, 12))
	var list []madeVector
	v, i := vectorsOf(t), indexOf(t, nil)
	if err := i.Write(t.Context(), func(w *Batch) error {
		for n := range count {
			body := string(rune('a'+n%26)) + " text " + string(rune(0x4e00+n))
			if n%3 == 0 {
				if err := w.Add(Piece{Source: "s", Kind: KindComment, Body: body}); err != nil {
					return err
				}
			}
			list = append(list, madeVector{hashOf(chunks(body)[0].body), gauss(r, dims, nil, 0)})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, some := range [][]madeVector{list[:700], list[700:]} { // the second begins within a block
		if err := v.put(t.Context(), "m", dims, some); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Keep(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if err := v.put(t.Context(), "m", dims, []madeVector{{1, gauss(r, dims, nil, 0)}}); err != nil {
		t.Fatal(err)
	}
	known, err := v.known(t.Context(), "m")
	if err != nil || len(known) != count/3+1 {
		t.Fatalf("%d stay, %v", len(known), err)
	}
	for n := 0; n < count; n += 41 {
		got, err := v.nearest(t.Context(), list[n].vector, 1, nil)
		if err != nil || (got[0] == list[n].hash) != (n%3 == 0) {
			t.Errorf("text %d: nearest is %v, %v", n, got, err)
		}
	}
}
