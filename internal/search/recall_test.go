package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// asked is one question of testdata/questions.txt.
type asked struct {
	repo, said string
	right      []string // any of these files and folders
}

// questions reads the case set; a place that is not there would make its question
// unanswerable without anybody noticing.
func questions(tb testing.TB, roots map[string]string) []asked {
	tb.Helper()
	data, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var out []asked
	repo := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		said, places, is := strings.Cut(line, " = ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			repo = strings.Trim(line, "[]")
		case !is:
			tb.Fatalf("%q is no question", line)
		default:
			one := asked{repo: repo, said: said, right: strings.Fields(places)}
			for _, place := range one.right {
				if _, err := os.Stat(filepath.Join(roots[repo], place)); err != nil {
					tb.Errorf("the answer to %q: %v", said, err)
				}
			}
			out = append(out, one)
		}
	}
	return out
}

func (a asked) found(paths []string) bool {
	return slices.ContainsFunc(paths[:min(len(paths), 10)], func(path string) bool {
		return slices.ContainsFunc(a.right, func(place string) bool { return path == place || strings.HasPrefix(path, place+"/") })
	})
}

// repositories are Forge's own and two that it is built of, which are there
// wherever it is built.
func repositories(tb testing.TB) map[string]string {
	tb.Helper()
	roots := map[string]string{"forge": "../.."}
	for name, module := range map[string]string{"goldmark": "github.com/yuin/goldmark", "cli": "github.com/urfave/cli/v2"} {
		dir, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			tb.Fatal(err)
		}
		roots[name] = strings.TrimSpace(string(dir))
	}
	return roots
}

// textsBelow are the texts of a folder by their paths, without the questions.
func textsBelow(tb testing.TB, root string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if d.Name() == ".git" || d.Name() == "dist" || rel == "internal/search/testdata" {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) <= 1<<20 && !slices.Contains(data[:min(len(data), 8000)], 0) {
			out[rel] = strings.ToValidUTF8(string(data), "�")
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// indexOf is an index of texts by their paths.
func indexOf(tb testing.TB, texts map[string]string) *Index {
	tb.Helper()
	i, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "search.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { i.Close() })
	err = i.Write(tb.Context(), func(b *Batch) error {
		for path, body := range texts {
			source := "blob/" + path
			if err := errors.Join(b.AddFile(source, path, body), b.Put(Place{Source: source, Path: path, Held: "c"})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

// filesOf gives texts back as a snapshot would.
func filesOf(texts map[string]string) Files {
	return func(_ context.Context, _, path string) (string, error) {
		if body, is := texts[path]; is {
			return body, nil
		}
		return "", os.ErrNotExist
	}
}

func parsed(tb testing.TB, said string) Query {
	tb.Helper()
	q, wrong := Parse(said, noon)
	if len(wrong) > 0 {
		tb.Fatal(wrong)
	}
	return q
}

// served makes vectors by the API of services.
type served struct{ url string }

func (s *served) Model() string { return "made-of-letters" }

func (s *served) Embed(ctx context.Context, texts []string) (vectors [][]float32, tokens *int64, err error) {
	body, err := json.Marshal(map[string]any{"model": s.Model(), "input": texts})
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Data []struct{ Embedding []float32 }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, nil, err
	}
	for _, one := range answer.Data {
		vectors = append(vectors, one.Embedding)
	}
	return vectors, nil, nil
}

// bySearch are the files that the index names, the best first, each once.
func bySearch(tb testing.TB, i *Index, said string, near *Near, texts map[string]string) []string {
	tb.Helper()
	q := parsed(tb, said)
	q.Limit = MaxHits
	hits, err := i.AskNear(tb.Context(), q, near, filesOf(texts))
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, h := range hits {
		if !slices.Contains(out, h.Path) {
			out = append(out, h.Path)
		}
	}
	return out
}

// byGrep are the files that git grep names, those with the most of the question's
// words first, then those with the most lines.
func byGrep(tb testing.TB, root, said string) []string {
	tb.Helper()
	words, lines := map[string]int{}, map[string]int{}
	for _, word := range strings.Fields(said) {
		cmd := exec.CommandContext(tb.Context(), "git", "grep", "--no-index", "-I", "-i", "-c", "-F", "-e", word, "--", ".", ":!internal/search/testdata")
		cmd.Dir = root
		out, _ := cmd.Output() // it ends with 1 where nothing is found
		for line := range strings.Lines(string(out)) {
			path, count, _ := strings.Cut(strings.TrimSpace(line), ":")
			n, _ := strconv.Atoi(count)
			words[path]++
			lines[path] += n
		}
	}
	var out []string
	for path := range words {
		out = append(out, path)
	}
	slices.SortFunc(out, func(a, b string) int {
		if words[a] != words[b] {
			return words[b] - words[a]
		}
		if lines[a] != lines[b] {
			return lines[b] - lines[a]
		}
		return strings.Compare(a, b)
	})
	return out
}

// The words alone keep what they promise, over the repositories that do not change
// while Forge is worked on.
func TestRecall(t *testing.T) {
	roots := repositories(t)
	found, n := 0, 0
	all := questions(t, roots)
	for _, repo := range []string{"goldmark", "cli"} {
		texts := textsBelow(t, roots[repo])
		i := indexOf(t, texts)
		for _, one := range all {
			if one.repo != repo {
				continue
			}
			n++
			if one.found(bySearch(t, i, one.said, nil, texts)) {
				found++
			}
		}
	}
	if n != 43 || found < 36 {
		t.Errorf("%d of %d answers are among the first ten", found, n)
	}
}

// BenchmarkRecall prints for how many of the questions the right place is among
// the first ten files. What is promised is that of the words: no model of embeddings
// is behind the vectors, whose numbers are made of the same words and of letters in
// a row, so that they know no synonym.
func BenchmarkRecall(b *testing.B) {
	server, err := fakemodel.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	e := &served{url: server.Service("svc", fakemodel.Service{Dims: benchDims})}
	roots := repositories(b)
	all := questions(b, roots)
	for _, repo := range []string{"forge", "goldmark", "cli"} {
		b.Run(repo, func(b *testing.B) {
			texts := textsBelow(b, roots[repo])
			i, v := indexOf(b, texts), vectorsOf(b)
			if err := v.Fill(b.Context(), i, e, Meter{Now: clock}, filesOf(texts)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				n, grep, words, both := 0, 0, 0, 0
				for _, one := range all {
					if one.repo != repo {
						continue
					}
					n++
					if one.found(byGrep(b, roots[repo], one.said)) {
						grep++
					}
					if paths := bySearch(b, i, one.said, nil, texts); one.found(paths) {
						words++
					} else {
						b.Logf("not among the first ten of %s: %s", repo, one.said)
					}
					near, err := v.Near(b.Context(), e, Meter{Now: clock}, parsed(b, one.said))
					if err != nil {
						b.Fatal(err)
					}
					if one.found(bySearch(b, i, one.said, near, texts)) {
						both++
					}
				}
				b.ReportMetric(float64(n), "questions")
				b.ReportMetric(float64(grep)/float64(n), "recall@10/git-grep")
				b.ReportMetric(float64(words)/float64(n), "recall@10/words")
				b.ReportMetric(float64(both)/float64(n), "recall@10/both-no-model")
			}
		})
	}
}

func writeFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
