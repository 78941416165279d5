package verify

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// claim is a small project and what an agent did to its product.
type claim struct {
	need     string // program that the runner is
	commands []string
	setup    []string // of [worktree]
	base     files
	change   files // over base
}

// judged is a bench with a claim in it.
func judged(t *testing.T, c claim) (*bench, work.ControlRequest) {
	t.Helper()
	if c.need != "" {
		if _, err := exec.LookPath(c.need); err != nil {
			t.Skipf("%s is not here", c.need)
		}
	}
	b := newBench(t, nil)
	b.commits.all = map[string]files{"base": c.base, "claim": c.after()}
	req := work.ControlRequest{
		Phase: "01", Dir: filepath.Join(b.state, "control", "01"),
		Commit: "claim", Trusted: "base", Snapshot: "claim", Base: "base",
		Product: c.product(), Commands: c.commands, BudgetSecs: 600, AblateSecs: 600, TimeoutSecs: 300,
		Worktree: work.Worktree{Setup: c.setup},
		Sandbox:  work.SandboxSettings{Mode: "off"}, LogPath: filepath.Join(b.state, "log"),
	}
	// The developer's own build cache stands for one that an owner shares.
	if home, err := os.UserHomeDir(); err == nil {
		if cache := filepath.Join(home, ".cache", "go-build"); exists(cache) {
			req.Sandbox.Write = []string{cache}
			b.environ = append(slices.DeleteFunc(b.environ, func(e string) bool { return strings.HasPrefix(e, "HOME=") }), "HOME="+home)
		}
	}
	return b, req
}

// after is the tree with the change.
func (c claim) after() files {
	tree := maps.Clone(c.base)
	maps.Copy(tree, c.change)
	return tree
}

// product are the changed files that are no tests.
func (c claim) product() []string {
	var product []string
	for p := range c.change {
		if !strings.Contains(p, "_test.") {
			product = append(product, p)
		}
	}
	slices.Sort(product)
	return product
}

func (b *bench) control(req work.ControlRequest) work.ControlReport {
	b.t.Helper()
	rep, err := b.Control(b.t.Context(), req, nil)
	if err != nil {
		b.t.Fatalf("Control: %v", err)
	}
	if exists(req.Dir) || exists(outOf(req.Dir)) || exists(homeOf(req.Dir)) {
		b.t.Errorf("folders stay behind")
	}
	if b.t.Failed() {
		b.t.Log(read(b.t, req.LogPath))
	}
	return rep
}

// wantClean fails the test when the controls found anything.
func wantClean(t *testing.T, rep work.ControlReport, runner string) {
	t.Helper()
	if rep.Bad() || len(rep.Undecided) > 0 || len(rep.Skipped) > 0 {
		t.Errorf("an honest change is held: %+v", rep)
	}
	for _, r := range rep.Runners {
		if r.Name == runner && r.Accounted && r.Passed > 0 && r.Planted > 0 && r.Wrong > 0 {
			return
		}
	}
	t.Errorf("%s is not accounted with planted and wrong tests: %+v", runner, rep.Runners)
}

const goTest = `package calc

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{{1, 2, 3}, {2, 2, 4}} {
		t.Run("sum", func(t *testing.T) {
			if got := Add(c.a, c.b); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestDouble(t *testing.T) {
	if got := Double(4); got != 8 {
		t.Fatalf("got %d", got)
	}
}

func TestLater(t *testing.T) { t.Skip("later") }
`

func goClaim(change files) claim {
	return claim{
		commands: []string{"go test ./..."},
		base: files{
			"go.mod":       "module example.com/calc\n\ngo 1.24\n",
			"calc.go":      "package calc\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Double(a int) int { return Add(a, a) }\n",
			"calc_test.go": goTest,
		},
		change: change,
	}
}

func TestControlGoHonest(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, goClaim(files{
		"calc.go": "package calc\n\nimport \"strings\"\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn b + a + len(strings.TrimSpace(\"\"))\n}\n\nfunc Double(a int) int { return 2 * a }\n",
	}))
	rep := b.control(req)
	wantClean(t, rep, "go test")
	if rep.Green != (work.Sampled{Done: 2, Of: 2}) || rep.Red.Done == 0 || rep.Red.Done != rep.Red.Of {
		t.Errorf("green %+v, red %+v", rep.Green, rep.Red)
	}
	if r := rep.Runners[0]; r.Passed != 4 || r.Skipped != 1 || r.Planted != 1 {
		t.Errorf("counted %+v", r)
	}
}

func TestControlGoCheats(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, goClaim(files{"calc.go": ""}))
	wrong := "func Add(a, b int) int { return a - b }\n\nfunc Double(a int) int { return Add(a, a) }\n"
	for name, tt := range map[string]struct{ product, finds string }{
		"exits in init":   {"package calc\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\n" + wrong, "lost"},
		"exits when used": {"package calc\n\nimport \"os\"\n\nfunc Add(a, b int) int { os.Exit(0); return 0 }\n\nfunc Double(a int) int { return Add(a, a) }\n", "lost"},
		"prints the report and exits": {"package calc\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc init() {\n\tfor _, n := range []string{\"TestAdd\", \"TestAdd/sum\", \"TestAdd/sum#01\", \"TestDouble\"} {\n" +
			"\t\tfmt.Printf(\"\\x16=== RUN   %s\\n\\x16--- PASS: %s (0.00s)\\n\", n, n)\n\t}\n\tfmt.Println(\"\\x16PASS\")\n\tos.Exit(0)\n}\n\n" + wrong, "deaf"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.commits.all["claim"] = goClaim(files{"calc.go": tt.product}).after()
			rep := b.control(req)
			if tt.finds == "lost" && len(rep.Lost) == 0 || tt.finds == "deaf" && len(rep.Deaf) == 0 {
				t.Errorf("not seen: %+v", rep)
			}
		})
	}
}

func TestControlFindsWhatNoTestMisses(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, goClaim(files{
		"calc.go":        "package calc\n\nfunc Add(a, b int) int { return b + a }\n\nfunc Double(a int) int { return Add(a, a) }\n\nfunc Half(a int) int { return a / 2 }\n",
		"start.go":       "package calc\n\nvar table = fill()\n\nfunc fill() map[int]int { return map[int]int{1: 1} }\n",
		"other/other.go": "//go:build never\n\npackage other\n",
		"notes.cfg":      "x = 1\n",
		"docs/notes.md":  "words\n",
	}))
	rep := b.control(req)
	if len(rep.Unproven) != 2 || rep.Unproven[0].Name != "Half" || rep.Unproven[1].Name != "fill" {
		t.Errorf("unproven %+v, undecided %+v", rep.Unproven, rep.Undecided)
	}
	if !slices.Equal(rep.Unread, []string{"notes.cfg"}) && len(rep.Skipped) == 0 {
		t.Errorf("unread %v", rep.Unread)
	}
}

func TestControlAblation(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	b, req := judged(t, goClaim(files{
		"calc.go":       "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n\nfunc Double(a int) int { return Add(a, a) }\n\nfunc Triple(a int) int { return 3 * a }\n",
		"more.go":       "package calc\n\nvar idle = 7\n",
		"more_test.go":  "package calc\n\nimport \"testing\"\n\nfunc TestTriple(t *testing.T) {\n\tif Triple(2) != 6 {\n\t\tt.Fatal()\n\t}\n}\n",
		"docs/notes.md": "words\n",
	}))
	req.Ablate = "report"
	rep := b.control(req)
	a := rep.Ablation
	if a == nil || a.Hunks != 4 || a.Tried != 2 || a.Needed != 1 || a.Share != 0.4 || len(a.Plain) != 2 {
		t.Fatalf("ablation %+v", a)
	}
	if len(a.Idle) != 1 || a.Idle[0].Path != "more.go" || a.Plain[0].Path != "calc.go" || a.Plain[1].Path != "docs/notes.md" {
		t.Errorf("idle %+v, plain %+v", a.Idle, a.Plain)
	}
	req.Ablate = "off"
	if rep := b.control(req); rep.Ablation != nil {
		t.Errorf("ablation although it is off: %+v", rep.Ablation)
	}
}
