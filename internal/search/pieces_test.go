package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// A piece is so many chunks in a row, and cut again it gives these and no others: by
// that a vector made of a chunk is known again when the text of its piece is read.
func TestPiecesHaveTheChunksOfTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 300 {
		var b strings.Builder
		for range r.IntN(1500) {
			switch r.IntN(12) {
			case 0:
				b.WriteString(strings.Repeat("\n", r.IntN(90))) // chunks that are blank
			case 1:
				b.WriteString(strings.Repeat("long ", r.IntN(2000)) + "\n")
			default:
				b.WriteString(strings.Repeat("word ", r.IntN(12)) + "\n")
			}
		}
		body := b.String() + []string{"", "no end"}[r.IntN(2)]
		var again []chunk
		lines := strings.SplitAfter(body, "\n")
		for _, p := range pieces(body) {
			if got := strings.Join(lines[p.line-1:p.line-1+p.lines], ""); got != p.body {
				t.Fatalf("lines %d and %d more are not the text of a piece", p.line, p.lines)
			}
			parts := chunks(p.body)
			if len(parts) == 0 || len(parts) > pieceChunks {
				t.Fatalf("a piece has %d chunks", len(parts))
			}
			for _, c := range parts {
				c.line += p.line - 1
				again = append(again, c)
			}
		}
		if want := chunks(body); !reflect.DeepEqual(again, want) {
			t.Fatalf("the pieces have %d chunks, the text %d", len(again), len(want))
		}
	}
}

// longText has a line of its own in each of its chunks.
func longText() string {
	var b strings.Builder
	for n := range 12 * chunkLines {
		if n%chunkLines == 7 {
			fmt.Fprintf(&b, "marmalade%d sandwich%d\n", n/chunkLines, n/chunkLines)
		} else {
			b.WriteString("filler\n")
		}
	}
	return b.String()
}

// What is found by its meaning is the place of the chunk, within a piece of several; a
// piece of which several chunks fit counts once.
func TestMeaningNamesThePlaceInThePiece(t *testing.T) {
	texts := map[string]string{"long.txt": longText()}
	i, v := indexOf(t, texts), vectorsOf(t)
	e := &embedder{model: "m", dims: 600}
	if err := v.Fill(t.Context(), i, e, Meter{Now: clock}, filesOf(texts)); err != nil || len(e.asked) != 12 {
		t.Fatalf("%d texts were embedded, %v; want a vector of each chunk", len(e.asked), err)
	}
	// The question has no word of the text, its vector is that of one chunk.
	for _, n := range []int{0, 5, 9, 11} {
		near := &Near{Vectors: v, Vector: fakemodel.Embed(chunks(texts["long.txt"])[n].body, e.dims)}
		hits, err := i.AskNear(t.Context(), parsed(t, "absent"), near, filesOf(texts))
		if err != nil || len(hits) != 2 {
			t.Fatalf("%d hits, %v; want one of each piece", len(hits), err)
		}
		// Where no word is asked for that is there, the excerpt is the chunk's beginning.
		if want := n*chunkLines + 1; hits[0].Line != want {
			t.Errorf("chunk %d: line %d, want %d", n, hits[0].Line, want)
		}
	}
	for _, n := range []int{0, 7, 8, 11} {
		hits, err := i.Ask(t.Context(), parsed(t, fmt.Sprintf("marmalade%d", n)), filesOf(texts))
		if want := n*chunkLines + 8; err != nil || len(hits) != 1 || hits[0].Line != want {
			t.Errorf("word of chunk %d: %+v, %v; want line %d", n, hits, err, want)
		}
	}
}

// Of texts that are taken away no chunk is left, whether they were added in the same
// batch or before, and those that stay keep theirs.
func TestChunksGoWithTheirTexts(t *testing.T) {
	i := made(t)
	var orphans int
	count := func() int {
		t.Helper()
		hashes, err := i.hashes(t.Context())
		err2 := i.db.QueryRowContext(t.Context(), "SELECT count(*) FROM chunk WHERE piece NOT IN (SELECT id FROM piece)").Scan(&orphans)
		if err := errors.Join(err, err2); err != nil || orphans != 0 {
			t.Fatalf("%d chunks belong to no piece, %v", orphans, err)
		}
		return len(hashes)
	}
	if n := count(); n != 5 {
		t.Fatalf("%d chunks at first", n)
	}
	if err := i.Write(t.Context(), func(b *Batch) error {
		return errors.Join(
			b.Add(Piece{Source: "s8", Kind: KindIssue, Body: longText()}), b.Drop("s8"),
			b.Add(Piece{Source: "s8", Kind: KindIssue, Body: "please keep the header"}), // as s3 has it
			b.Drop("s1"), b.Prune("blob/"),
		)
	}); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 3 {
		t.Errorf("%d chunks are left, want 3", n)
	}
	if err := i.Write(t.Context(), func(b *Batch) error { return b.Drop("s3") }); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 3 {
		t.Errorf("%d chunks are left, want the one of s8 too", n)
	}
}

// An index of a version before is made anew: it costs nothing but time.
func TestIndexOfAVersionBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.db")
	old, err := dial(t.Context(), path, "CREATE TABLE piece(id INTEGER PRIMARY KEY, hash INTEGER); CREATE TABLE mark(source TEXT, mark INTEGER); INSERT INTO mark VALUES('head/1', 1);", schemaVersion-1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	i, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if mark, err := i.Mark(t.Context(), "head/1"); mark != 0 || err != nil {
		t.Errorf("what was read before counts as read: %d, %v", mark, err)
	}
	if err := i.Write(t.Context(), func(b *Batch) error { return b.AddFile("blob/1", "a", "text") }); err != nil {
		t.Error(err)
	}
}

// A file is noted in a time that does not grow with the files of its run.
func TestPlacesOfARunAreNotGoneThrough(t *testing.T) {
	i, err := Open(t.Context(), filepath.Join(t.TempDir(), "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	var id, parent, unused int
	var plan string
	if err := i.db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+unplace, 1, "a.go", "run", "phase").Scan(&id, &parent, &unused, &plan); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "place_source (source=?)") {
		t.Errorf("%q: it does not begin with the text", plan)
	}
}
