package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/work"
)

// benched is a project whose proof is held against the same command in a warm
// checkout: the floor.
type benched struct {
	need     string // program
	tree     func(b *testing.B, p *provingGround) files
	worktree work.Worktree
	prepare  string // makes the checkout and its home warm
	fill     string // the first proof, which fills
	command  string // each later one, and the floor
	network  bool
}

// BenchmarkProof: a warm proof beside the same command in a warm checkout, for
// each of three projects. over-ms is how far it is over 1.15 times the floor and
// 150 ms: at most 0 is the target. fill-ms is the first proof, which fills caches.
//
//	go test ./internal/verify -run '^$' -bench '^BenchmarkProof$' -benchtime 5x
func BenchmarkProof(b *testing.B) {
	python, testing3 := "python3 -m unittest -q", "unittest"
	if exec.Command("pytest", "--version").Run() == nil {
		python, testing3 = "pytest -q -p no:cacheprovider", "pytest"
	}
	for name, project := range map[string]benched{
		"go with ten modules": {
			need: "go", tree: tenModules, network: true, prepare: "go test -count=1 ./...", fill: "go test -count=1 ./...", command: "GOPROXY=off go test -count=1 ./...",
		},
		"node with vitest": {
			need: "npm", tree: vitestProject, network: true, prepare: "true",
			worktree: work.Worktree{Setup: []string{"npm install --no-audit --no-fund"}, CacheKey: []string{"package-lock.json"}},
			fill:     "npx --no-install vitest run", command: "npx --no-install vitest run",
		},
		"python with " + testing3: {
			need: "python3", prepare: "true", fill: python, command: python,
			tree: func(*testing.B, *provingGround) files {
				return files{"calc.py": "def add(a, b):\n    return a + b\n", "test_calc.py": "import unittest\nfrom calc import add\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"}
			},
		},
	} {
		b.Run(name, func(b *testing.B) {
			if _, err := exec.LookPath(project.need); err != nil {
				b.Skip(err)
			}
			newProvingGround(b).measure(project)
		})
	}
}

// provingGround is where one project is proven, and its checkout beside it.
type provingGround struct {
	b                *testing.B
	state, home, dir string
	environ          []string
	read             []string // paths that a sandbox shows besides
	env              string   // before a command that downloads
}

func newProvingGround(b *testing.B) *provingGround {
	p := &provingGround{b: b, state: b.TempDir(), home: b.TempDir(), dir: b.TempDir()}
	b.Cleanup(func() {
		for _, dir := range []string{p.state, p.home, p.dir} {
			_ = filetree.RemoveAll(dir)
		}
	})
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); name != "HOME" && !strings.HasPrefix(name, "XDG_") {
			p.environ = append(p.environ, e)
		}
	}
	p.environ = append(p.environ, "HOME="+p.home, "GOFLAGS=")
	return p
}

// plain runs a command in the checkout and returns how long it took.
func (p *provingGround) plain(command string) time.Duration {
	p.b.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.environ
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		p.b.Fatalf("%s: %v\n%s", command, err, out)
	}
	return time.Since(begin)
}

func (p *provingGround) measure(of benched) {
	b := p.b
	tree := of.tree(b, p)
	if err := tree.write(p.dir); err != nil {
		b.Fatal(err)
	}
	p.plain(p.env + of.prepare)
	bench := New(&commits{all: map[string]files{"c1": tree}}, proc.Detect(b.Context()), p.environ, filepath.Join(p.state, "cache"), nil)
	prove := func(accepted bool, command string) time.Duration {
		begin := time.Now()
		rep, err := bench.Verify(b.Context(), work.VerifyRequest{
			Dir: filepath.Join(p.state, "verify", "01"), Checkout: p.dir, Commit: "c1", Commands: []string{command}, Accepted: accepted, Worktree: of.worktree,
			Sandbox: work.SandboxSettings{Mode: "auto", Network: of.network, Read: p.read}, Hide: []string{p.state},
		}, nil)
		if err != nil || !rep.OK {
			b.Fatalf("%v %+v", err, rep)
		}
		return time.Since(begin)
	}
	if len(of.worktree.Setup) > 0 {
		// As a run does, in a folder of accepted work.
		at := filepath.Join(p.state, "setup")
		if err := tree.write(at); err != nil {
			b.Fatal(err)
		}
		rep, err := bench.Setup(b.Context(), work.SetupRequest{Dir: at, Checkout: p.dir, Settings: of.worktree, Sandbox: work.SandboxSettings{Mode: "auto", Network: true}})
		if err != nil || !rep.OK {
			b.Fatalf("%v %+v", err, rep)
		}
	}
	fill := prove(true, p.env+of.fill)
	p.plain(of.command)
	var proofs, plains []time.Duration
	for b.Loop() {
		plains = append(plains, p.plain(of.command))
		proofs = append(proofs, prove(false, of.command))
	}
	proof, floor := median(proofs), median(plains)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(fill.Milliseconds()), "fill-ms")
	b.ReportMetric(float64(proof.Milliseconds()), "proof-ms")
	b.ReportMetric(float64(floor.Milliseconds()), "floor-ms")
	b.ReportMetric(float64(proof)/float64(floor), "proof/floor")
	b.ReportMetric(float64((proof-floor*115/100).Milliseconds()-150), "over-ms")
}

// tenModules is a Go module that needs ten others, which this machine has
// downloaded already: for Forge's own sake.
func tenModules(b *testing.B, p *provingGround) files {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		b.Skip(err)
	}
	download := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	p.read = append(p.read, download)
	// What it has not is asked of the machine's own proxy.
	p.env = "GOPROXY=file://" + download + ",$(go env GOPROXY) GONOSUMDB=* GOTOOLCHAIN=local "
	own, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		b.Fatal(err)
	}
	packages := map[string]string{
		"github.com/BurntSushi/toml": "toml", "github.com/gobwas/glob": "glob", "github.com/mattn/go-isatty": "isatty", "github.com/dustin/go-humanize": "humanize",
		"github.com/yuin/goldmark": "goldmark", "golang.org/x/net": "net/html", "go.yaml.in/yaml/v3": "yaml", "github.com/urfave/cli/v2": "cli",
		"pgregory.net/rapid": "rapid", "github.com/cespare/xxhash/v2": "xxhash",
	}
	var require, imports strings.Builder
	for _, line := range strings.Split(string(own), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || packages[fields[0]] == "" {
			continue
		}
		fmt.Fprintf(&require, "\t%s %s\n", fields[0], fields[1])
		path := fields[0]
		if _, below, ok := strings.Cut(packages[fields[0]], "/"); ok {
			path += "/" + below
		}
		fmt.Fprintf(&imports, "\t_ %q\n", path)
	}
	tree := files{
		"go.mod":       "module example.com/calc\n\ngo 1.24\n\nrequire (\n" + require.String() + ")\n",
		"calc.go":      "package calc\n\nimport (\n" + imports.String() + ")\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
		"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n",
	}
	if err := tree.write(p.dir); err != nil {
		b.Fatal(err)
	}
	p.plain(p.env + "go mod tidy")
	for _, name := range []string{"go.mod", "go.sum"} {
		tree[name] = read(b, p.dir, name)
	}
	return tree
}

// vitestProject is a package with vitest, when npm can download it.
func vitestProject(b *testing.B, p *provingGround) files {
	tree := files{
		"package.json": `{"name":"calc","version":"1.0.0","private":true,"type":"module"}`, ".gitignore": "node_modules/\n",
		"calc.js":      "export const add = (a, b) => a + b;\n",
		"calc.test.js": "import { test, expect } from 'vitest';\nimport { add } from './calc.js';\ntest('add', () => { expect(add(1, 2)).toBe(3); });\n",
	}
	if err := tree.write(p.dir); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("npm", "install", "--save-dev", "--no-audit", "--no-fund", "vitest@2.1.9")
	cmd.Dir, cmd.Env = p.dir, p.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Skipf("npm cannot download vitest: %v\n%s", err, out)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		tree[name] = read(b, p.dir, name)
	}
	return tree
}
