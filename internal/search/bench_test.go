package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// What the figures are taken of: as many files, in at least as many pieces.
const (
	benchFiles  = 10_000
	benchPieces = 100_000
	benchDims   = 768
	benchRatio  = 0.6 // of the texts is what index and vectors may take together
	cutDims     = 256 // what a model that is made for it leaves, with embedding_numbers = 256
)

// madeText is made by a seed, its words as frequent as those of a program.
func madeText(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		for range 3 + r.IntN(8) {
			fmt.Fprintf(&b, "w%d ", int(float64(20000)*r.ExpFloat64()/8))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// realTexts are the sources of Go itself, which are there wherever Forge is built,
// and where they are fewer texts made by a seed; pieces counts what they are cut into.
func realTexts(tb testing.TB) (paths []string, texts map[string]string, pieces int) {
	tb.Helper()
	texts = textsBelow(tb, filepath.Join(runtime.GOROOT(), "src")) //nolint:staticcheck // where this very go is, which runs the test
	for path, body := range texts {
		paths = append(paths, path)
		pieces += len(chunks(body))
	}
	slices.Sort(paths)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(paths), func(a, b int) { paths[a], paths[b] = paths[b], paths[a] })
	for n := 0; len(paths) < benchFiles || pieces < benchPieces; n++ {
		path := fmt.Sprintf("made/f%d.txt", n)
		paths, texts[path] = append(paths, path), madeText(r, 200)
		pieces += len(chunks(texts[path]))
	}
	return paths, texts, pieces
}

// benchQuestions are those of the case set, and two to four words in a row
// from somewhere.
func benchQuestions(b *testing.B, paths []string, texts map[string]string) []Query {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var said []string
	for _, one := range questions(b, repositories(b)) {
		said = append(said, one.said)
	}
	for len(said) < 400 {
		words := strings.FieldsFunc(texts[paths[r.IntN(len(paths))]], func(r rune) bool { return r < 'A' || r > 'z' })
		if at := r.IntN(max(len(words)-8, 1)); len(words) > 8 {
			said = append(said, strings.Join(words[at:at+2+r.IntN(3)], " "))
		}
	}
	var out []Query
	for _, one := range said {
		if q, wrong := Parse(one, noon); len(wrong) == 0 {
			out = append(out, q)
		}
	}
	return out
}

// BenchmarkIndex prints how fast 10,000 files are taken in and how large the index is
// beside them; then, over 100,000 pieces, how long questions take in 99 of 100 cases:
// by words, and by words and vectors. The vectors are not a model's: they are made of
// words and letters, which takes a question as long to compare. It fails where index and
// vectors are larger than benchRatio of the texts. The floor is one word
// looked for in every text in memory.
func BenchmarkIndex(b *testing.B) {
	paths, texts, pieces := realTexts(b)
	asked := benchQuestions(b, paths, texts)
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "search.db")
		i, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		size, took := 0, time.Duration(0)
		write := func(some []string) {
			began := time.Now()
			if err := i.Write(b.Context(), func(w *Batch) error {
				for _, path := range some {
					if err := w.AddFile("blob/"+path, path, texts[path]); err != nil {
						return err
					}
					if err := w.Put(Place{Source: "blob/" + path, Path: path, Held: "c"}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			took += time.Since(began)
			for _, path := range some {
				size += len(texts[path])
			}
		}
		write(paths[:benchFiles])
		b.ReportMetric(float64(size)/took.Seconds()/1e6, "MB/s")
		write(paths[benchFiles:])
		b.ReportMetric(float64(pieces), "pieces")

		byWords := p99(b, asked, func(q Query) error { _, err := i.Ask(b.Context(), q, filesOf(texts)); return err })
		v := benchVectors(b, i, texts, "vectors.db", benchDims)
		beside := p99(b, asked, func(q Query) error {
			near := &Near{Vectors: v, Vector: fakemodel.Embed(q.Meaning(), benchDims)}
			_, err := i.AskNear(b.Context(), q, near, filesOf(texts))
			return err
		})
		floor := p99(b, asked, func(q Query) error {
			for _, path := range paths {
				_ = strings.Contains(texts[path], q.Terms[0].Words)
			}
			return nil
		})
		b.ReportMetric(ms(byWords), "words-p99-ms")
		b.ReportMetric(ms(beside), "both-p99-ms")
		b.ReportMetric(ms(floor), "scan-p99-ms")
		vectors := filepath.Join(filepath.Dir(path), "vectors.db")
		if err := benchVectors(b, i, texts, "cut.db", cutDims).Close(); err != nil {
			b.Fatal(err)
		}
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sizeOf(b, path))/float64(size), "index/text")
		b.ReportMetric(float64(sizeOf(b, vectors))/float64(size), "vectors/text")
		both := float64(sizeOf(b, path)+sizeOf(b, vectors)) / float64(size)
		if b.ReportMetric(both, "both/text"); both > benchRatio {
			b.Errorf("index and vectors are %.3f of the texts, at most %.2f are wanted", both, benchRatio)
		}
		b.ReportMetric(float64(sizeOf(b, filepath.Join(filepath.Dir(path), "cut.db")))/float64(size), "cut-vectors/text")
	}
}

// benchVectors are the vectors of all pieces of an index, of so many numbers, in a file
// beside it.
func benchVectors(b *testing.B, i *Index, texts map[string]string, file string, dims int) *Vectors {
	b.Helper()
	var dir string
	if err := i.db.QueryRowContext(b.Context(), "SELECT file FROM pragma_database_list").Scan(&dir); err != nil {
		b.Fatal(err)
	}
	v, err := OpenVectors(b.Context(), filepath.Join(filepath.Dir(dir), file))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { v.Close() })
	if err := v.Fill(b.Context(), i, &embedder{model: "m", dims: dims}, Meter{Now: clock}, filesOf(texts)); err != nil {
		b.Fatal(err)
	}
	return v
}

// p99 is how long 99 of 100 questions take at most.
func p99(b *testing.B, asked []Query, ask func(Query) error) time.Duration {
	b.Helper()
	var all []time.Duration
	for _, q := range asked {
		began := time.Now()
		if err := ask(q); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func sizeOf(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
