package evidence

import (
	"path/filepath"
	"testing"

	"forge/internal/opened"
	"forge/internal/work"
)

// TestTraced: a file of data beside the product, which no line of it names, is
// evidence where the proof of the base opened it; without a trace it is product.
func TestTraced(t *testing.T) {
	for name, traced := range map[string]bool{"traced": true, "not traced": false} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, files{
				"Makefile":      "test:\n\tpython3 -m unittest\n",
				"app/calc.py":   "def add(a, b):\n    return a + b\n",
				"app/sums.json": "[[1, 2, 3]]\n",
				"test_calc.py":  "import app.calc\n",
			})
			want := "[[1, 2, 4]]\n"
			if traced {
				want = "[[1, 2, 3]]\n"
				dir := filepath.Join(t.TempDir(), "opened")
				if err := opened.New(dir).Keep(b.tree(b.base), []string{"app/sums.json"}); err != nil {
					t.Fatal(err)
				}
				b.Traced(dir)
			}
			change := b.forge(files{"app/sums.json": "[[1, 2, 4]]\n"})
			b.want(b.mixOf(b.request(change), work.OnTrusted), files{"app/sums.json": want})
		})
	}
}

// TestTracedOwn: data that came with earlier work is product to the trusted
// state, and evidence on the floor whose own tests opened it.
func TestTracedOwn(t *testing.T) {
	b := newBed(t, files{
		"Makefile":    "test:\n\tpython3 -m unittest\n",
		"app/calc.py": "def add(a, b):\n    return a + b\n",
		"test_a.py":   "import app.calc\n",
	})
	base := b.forge(files{"app/sums.json": "[[1, 2, 3]]\n", "test_calc.py": "import app.calc\n"})
	dir := filepath.Join(t.TempDir(), "opened")
	if err := opened.New(dir).Keep(b.tree(base), []string{"app/sums.json"}); err != nil {
		t.Fatal(err)
	}
	b.Traced(dir)
	req := b.request(b.forge(files{"app/sums.json": "[[1, 2, 4]]\n"}))
	req.Base = base
	b.want(b.mixOf(req, work.OnProtected), files{"app/sums.json": "[[1, 2, 3]]\n"})
	equal(t, "touched", b.judgeOf(req).Touched, []string{"app/sums.json"})
}
