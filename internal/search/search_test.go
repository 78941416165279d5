package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for said, want := range map[string]Query{
		`parse config`:                {Terms: []Term{{"parse", false, false, false}, {"config", false, false, false}}},
		`"time out" -slow`:            {Terms: []Term{{"time out", false, true, false}}, Not: []Term{{"slow", false, false, false}}},
		`run_usd retr*`:               {Terms: []Term{{"run usd", false, false, true}, {"retr", true, false, false}}},
		`"never closed`:               {Terms: []Term{{"never closed", false, true, false}}},
		`--rebuild -old`:              {Terms: []Term{{"rebuild", false, false, false}}, Not: []Term{{"old", false, false, false}}},
		`OneLine a.b "aB" v1.2`:       {Terms: []Term{{"OneLine", false, false, true}, {"a b", false, false, true}, {"aB", false, true, false}, {"v1 2", false, false, false}}},
		`x == y`:                      {Terms: []Term{{"x", false, false, false}, {"y", false, false, false}}},
		`x kind:file,plan path:*.go`:  {Terms: []Term{{"x", false, false, false}}, Kinds: []Kind{KindFile, KindPlan}, Path: "*.go"},
		`x who:"Ann B" run:1 phase:2`: {Terms: []Term{{"x", false, false, false}}, Who: "Ann B", Run: "1", Phase: "2"},
		`x since:2026-03-01 until:2026-03-02`: {
			Terms: []Term{{"x", false, false, false}}, Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC),
		},
		`http://x`: {Terms: []Term{{"http x", false, false, true}}}, // no filter is called http
	} {
		got, wrong := Parse(said, noon)
		if len(wrong) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%s) = %+v, %q; want %+v", said, got, wrong, want)
		}
	}
}

func TestParseWrong(t *testing.T) {
	for said, want := range map[string][]string{
		``:                          {"no word"},
		`== --`:                     {"no word"},
		`-only`:                     {"no word"},
		`x kind:nil since:tomorrow`: {"kind:nil is no kind", "since:tomorrow is no day"},
		`x run:`:                    {"run: names nothing"},
		`x run:a run:b`:             {"run: is given twice"},
		strings.Repeat("a ", 33):    {"at most 32"},
		strings.Repeat("a", 1001):   {"at most 1000"},
	} {
		_, wrong := Parse(said, noon)
		if len(wrong) != len(want) {
			t.Errorf("Parse(%.40s): %q, want %q", said, wrong, want)
			continue
		}
		for n := range want {
			if !strings.Contains(wrong[n], want[n]) {
				t.Errorf("Parse(%.40s): %q, want %q", said, wrong[n], want[n])
			}
		}
	}
}

func TestHumps(t *testing.T) {
	for name, want := range map[string]string{
		"parseHTTPHeader": "parse HTTP Header", "lower": "lower", "ABC": "ABC", "aB": "a B", "Über": "Über", "getÜber": "get Über", "x": "x",
	} {
		if got := strings.Join(humps(name), " "); got != want {
			t.Errorf("humps(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestChunksHoldEveryLineOnce(t *testing.T) {
	for _, body := range []string{"", "\n", "one", "one\ntwo\n", strings.Repeat("line\n", 100), strings.Repeat(strings.Repeat("x", 1500)+"\n", 9), "a\n" + strings.Repeat("y", 9000)} {
		next, all := 1, ""
		for _, c := range chunks(body) {
			if c.line < next || c.lines != strings.Count(strings.TrimSuffix(c.body, "\n"), "\n")+1 {
				t.Errorf("%.10q: piece of %d lines at %d after %d", body, c.lines, c.line, next)
			}
			next, all = c.line+c.lines, all+c.body
		}
		if strings.TrimSpace(body) != "" && all != body {
			t.Errorf("%.10q: its pieces together are another text", body)
		}
	}
}

// made is an index of a few texts.
func made(t *testing.T) *Index {
	t.Helper()
	i, err := Open(t.Context(), filepath.Join(t.TempDir(), "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	err = i.Write(t.Context(), func(b *Batch) error {
		return errors.Join(
			b.Add(Piece{Source: "s1", Kind: KindPlan, Run: "r1", Phase: "01", Path: "plan", At: noon, Body: "write the header parser"}),
			b.Add(Piece{Source: "s2", Kind: KindFinding, Run: "r1", Phase: "02", Path: "7", Who: "Security", At: noon.AddDate(0, 0, 1), Body: "the parser trusts its input"}),
			b.Add(Piece{Source: "s3", Kind: KindComment, Run: "r2", Path: "9", Who: "ann", At: noon.AddDate(0, 0, 2), Body: "please keep the header"}),
			b.AddFile("blob/1", "p/header.go", "package p\n\nfunc parseHTTPHeader() {}\n"),
			b.Put(Place{Source: "blob/1", Path: "p/header.go", Held: "c1", At: noon}),
			b.Put(Place{Source: "blob/1", Path: "p/header.go", Run: "r2", Phase: "01", Held: "c2", At: noon.AddDate(0, 0, 1)}),
			b.AddFile("blob/2", "gone", "header of a file that stands nowhere"),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func noFile(context.Context, string, string) (string, error) { return "", os.ErrNotExist }

func TestAsk(t *testing.T) {
	i := made(t)
	for said, want := range map[string][]string{
		"parser":                    {"plan", "7", "p/header.go"}, // which parses
		`"parser"`:                  {"plan", "7"},
		"header parser":             {"plan", "7", "9", "p/header.go"}, // all of it first, then some
		`"header parser"`:           {"plan"},
		"header -please":            {"p/header.go", "plan"},
		"http header kind:file":     {"p/header.go"},
		"pars* kind:finding":        {"7"},
		"header run:r2":             {"9", "p/header.go"},
		"header phase:01 run:r1":    {"plan"},
		"header path:p/*":           {"p/header.go"},
		"parser who:secu":           {"7"},
		"header since:2026-03-06":   {"9"},
		`"parser" until:2026-03-04`: {"plan"},
		"nowhere":                   nil,
		"absent":                    nil,
		"NEAR OR AND":               nil, // words, not operators
	} {
		q, wrong := Parse(said, noon)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		hits, err := i.Ask(t.Context(), q, noFile)
		if err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, h.Path)
		}
		if said != "header parser" && !strings.Contains(said, `"`) {
			slices.Sort(got)
			slices.Sort(want)
		}
		if said == "header parser" {
			slices.Sort(got[1:])
			slices.Sort(want[1:])
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s finds %q, want %q", said, got, want)
		}
	}
}

func TestAskNamesTheNewestPlaceAndTheLine(t *testing.T) {
	i := made(t)
	q, _ := Parse("parseHTTPHeader", noon)
	hits, err := i.Ask(t.Context(), q, func(_ context.Context, commit, path string) (string, error) {
		if commit != "c2" || path != "p/header.go" {
			t.Errorf("read %s of %s", path, commit)
		}
		return "package p\n\nfunc parseHTTPHeader() {}\n", nil
	})
	if err != nil || len(hits) != 1 {
		t.Fatalf("%+v, %v", hits, err)
	}
	if h := hits[0]; h.Line != 3 || h.Excerpt != "func parseHTTPHeader() {}" || h.Run != "r2" {
		t.Errorf("%+v", h)
	}
}

func TestDropAndPrune(t *testing.T) {
	i := made(t)
	err := i.Write(t.Context(), func(b *Batch) error {
		return errors.Join(b.Drop("s1"), b.SetMark("blob/1", 1), b.SetMark("blob/2", 1), b.Prune("blob/"))
	})
	if err != nil {
		t.Fatal(err)
	}
	q, _ := Parse("parser header", noon)
	hits, err := i.Ask(t.Context(), q, noFile)
	if err != nil || len(hits) != 3 {
		t.Errorf("%+v, %v; want three", hits, err)
	}
	if one, _ := i.Mark(t.Context(), "blob/1"); one != 1 {
		t.Error("a file that stands somewhere was pruned")
	}
	if two, _ := i.Mark(t.Context(), "blob/2"); two != 0 {
		t.Error("a file that stands nowhere was kept")
	}
}

func TestBrokenIndexIsMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.db")
	for _, broken := range []string{"this is no database, and long enough to be seen as one that is not", ""} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		i, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Write(t.Context(), func(b *Batch) error { return b.SetMark("x", 1) }); err != nil {
			t.Error(err)
		}
		i.Close()
	}
}

func TestWriteIsWholeOrNothing(t *testing.T) {
	i := made(t)
	stop := errors.New("stop")
	err := i.Write(t.Context(), func(b *Batch) error {
		return errors.Join(b.Add(Piece{Source: "s9", Kind: KindEvent, Body: "rhubarb"}), stop)
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	q, _ := Parse("rhubarb", noon)
	if hits, err := i.Ask(t.Context(), q, noFile); err != nil || len(hits) != 0 {
		t.Errorf("%+v, %v", hits, err)
	}
}

// Whatever is typed is a question or refused, never trouble of the index.
func FuzzAsk(f *testing.F) {
	for _, said := range []string{`a b`, `"`, `*`, `a*b`, `NEAR(a b)`, `a:b`, `^a`, `-a b`, `{a}`, `a AND NOT`, "a\x00b", `"é́ "*`, `path:[ x`, `x path:*[`} {
		f.Add(said)
	}
	i, err := Open(context.Background(), filepath.Join(f.TempDir(), "search.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { i.Close() })
	f.Fuzz(func(t *testing.T, said string) {
		q, wrong := Parse(said, noon)
		if len(wrong) > 0 {
			return
		}
		if _, err := i.Ask(t.Context(), q, noFile); err != nil {
			t.Errorf("%q: %v", said, err)
		}
	})
}
