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

// threeSeconds are projects whose tests take about three seconds and whose verify
// command is a runner's own call.
func threeSeconds() map[string]benched {
	wait := "import time\nfrom calc import add\n\n"
	for i := range 6 {
		wait += fmt.Sprintf("def test_add_%d():\n    time.sleep(0.5)\n    assert add(1, %d) == %d\n\n", i, i, i+1)
	}
	gone := "package calc\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n"
	for i := range 6 {
		gone += fmt.Sprintf("func TestAdd%d(t *testing.T) {\n\ttime.Sleep(500 * time.Millisecond)\n\tif got := Add(1, %d); got != %d {\n\t\tt.Fatal(got)\n\t}\n}\n\n", i, i, i+1)
	}
	js := "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './calc.js';\n\n"
	for i := range 6 {
		js += fmt.Sprintf("test('adds %d', async () => {\n  await new Promise((r) => setTimeout(r, 500));\n  assert.strictEqual(add(1, %d), %d);\n});\n", i, i, i+1)
	}
	project := func(need, command string, tree files) benched {
		return benched{need: need, command: command, tree: func(*testing.B, *provingGround) files { return tree }}
	}
	return map[string]benched{
		"go":     project("go", "go test ./...", files{"go.mod": "module example.com/calc\n\ngo 1.24\n", "calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n", "calc_test.go": gone}),
		"pytest": project("pytest", "pytest -q", files{"calc.py": "def add(a, b):\n    return a + b\n", "test_calc.py": wait}),
		"npm":    project("npm", "npm test", files{"package.json": "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n", "calc.js": "export const add = (a, b) => a + b;\n", "calc.test.js": js}),
		"unittest": project("python3", "python3 -m unittest", files{"calc.py": "def add(a, b):\n    return a + b\n",
			"test_calc.py": "import time\nimport unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n" + six("    def test_%d(self):\n        time.sleep(0.5)\n        self.assertEqual(add(1, %d), 1 + %d)\n\n")}),
		"rspec": project("rspec", "rspec", files{"lib/calc.rb": "def add(a, b)\n  a + b\nend\n",
			"spec/calc_spec.rb": "require \"calc\"\n\nRSpec.describe \"sums\" do\n" + six("  it \"adds %d\" do\n    sleep 0.5\n    expect(add(1, %d)).to eq(1 + %d)\n  end\n\n") + "end\n"}),
		"minitest": project("ruby", "ruby -Ilib test/calc_test.rb", files{"lib/calc.rb": "def add(a, b)\n  a + b\nend\n",
			"test/calc_test.rb": "require \"minitest/autorun\"\nrequire \"calc\"\n\nclass CalcTest < Minitest::Test\n" + six("  def test_%d\n    sleep 0.5\n    assert_equal 1 + %[2]d, add(1, %[3]d)\n  end\n\n") + "end\n"}),
		"phpunit": project("phpunit", "phpunit --do-not-cache-result --bootstrap calc.php tests", files{"calc.php": "<?php\nfunction add($a, $b) { return $a + $b; }\n",
			"tests/CalcTest.php": "<?php\nfinal class CalcTest extends PHPUnit\\Framework\\TestCase\n{\n" + six("    public function test%d(): void\n    {\n        usleep(500000);\n        $this->assertSame(1 + %d, add(1, %d));\n    }\n\n") + "}\n"}),
		"bats": project("bats", "bats test", files{"calc.sh": "add() { echo $(($1 + $2)); }\n",
			"test/calc.bats": "setup() {\n  . ./calc.sh\n}\n\n" + six("@test \"adds %d\" {\n  sleep 0.5\n  [ \"$(add 1 %d)\" -eq \"$((1 + %d))\" ]\n}\n\n")}),
		"prove": project("prove", "prove -l t", files{"lib/Calc.pm": "package Calc;\nsub add { return $_[0] + $_[1] }\n1;\n",
			"t/calc.t": "use lib 'lib';\nuse Test::More tests => 6;\nuse Calc;\n" + six("select(undef, undef, undef, 0.5);\nis(Calc::add(1, %[2]d), 1 + %[3]d, 'adds %[1]d');\n")}),
		"cmake": project("cmake", "cmake -B build >/dev/null && cmake --build build >/dev/null && ctest --test-dir build", files{
			"CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(calc C)\nenable_testing()\nadd_executable(calc_test test.c calc.c)\nadd_test(NAME calc COMMAND calc_test)\n",
			"calc.c":         "int add(int a, int b) { return a + b; }\n", "test.c": "#include <assert.h>\n#include <unistd.h>\nint add(int, int);\nint main(void) {\n    sleep(3);\n    assert(add(1, 2) == 3);\n    return 0;\n}\n"}),
		"node": project("node", "node --test", files{"package.json": "{\"type\": \"module\"}\n", "calc.js": "export const add = (a, b) => a + b;\n", "calc.test.js": js}),
	}
}

// six is a text six times, with its number in each of its three places.
func six(text string) string {
	all := ""
	for i := range 6 {
		all += fmt.Sprintf(text, i, i, i)
	}
	return all
}

// BenchmarkAccounting: proofs of a claim and the accounting of its tests beside
// the bare command, for projects whose tests take three seconds. one is the
// verify of a claim that changes no evidence, two that and the one with trusted
// evidence; the targets are 1.2 and 2.2. wrapped is one by a command that has to be
// asked again.
//
//	go test ./internal/verify -run '^$' -bench '^BenchmarkAccounting$' -benchtime 3x
func BenchmarkAccounting(b *testing.B) {
	for name, project := range threeSeconds() {
		b.Run(name, func(b *testing.B) {
			if _, err := exec.LookPath(project.need); err != nil {
				b.Skip(err)
			}
			newProvingGround(b).account(project)
		})
	}
}

func (p *provingGround) account(of benched) {
	b := p.b
	tree := of.tree(b, p)
	if err := tree.write(p.dir); err != nil {
		b.Fatal(err)
	}
	bench := New(&commits{all: map[string]files{"c1": tree}}, proc.Detect(b.Context()), p.environ, filepath.Join(p.state, "cache"), nil)
	sandbox := work.SandboxSettings{Mode: "auto", Read: p.read}
	// proven runs the proofs and the accounting as a claim does, without the controls.
	proven := func(command string, proofs int, accepted bool) time.Duration {
		b.Helper()
		begin := time.Now()
		for range proofs {
			rep, err := bench.Verify(b.Context(), work.VerifyRequest{
				Dir: filepath.Join(p.state, "verify", "01"), Checkout: p.dir, Commit: "c1", Commands: []string{command}, Accepted: accepted,
				Sandbox: sandbox, Hide: []string{p.state}, Asked: true,
			}, nil)
			if err != nil || !rep.OK {
				b.Fatalf("%v %+v", err, rep)
			}
		}
		out, err := openTranscript("", bench.red)
		if err != nil {
			b.Fatal(err)
		}
		c := &control{Bench: bench, out: out, req: work.ControlRequest{
			Dir: filepath.Join(p.state, "control", "01"), Checkout: p.dir, Commit: "c1", Trusted: "c1", Snapshot: "c1", Base: "c1", Commands: []string{command},
			Sandbox: sandbox, Hide: []string{p.state},
		}}
		defer c.tidy()
		if _, _, err := c.count(b.Context()); err != nil || len(c.rep.Lost)+len(c.rep.Deaf) > 0 || len(c.rep.Runners) == 0 || !c.rep.Runners[0].Accounted {
			b.Fatalf("%v %+v", err, c.rep)
		}
		return time.Since(begin)
	}
	wrapped := of.command + " || exit 1"
	proven(of.command, 1, true) // fills caches, and learns the trusted state
	proven(wrapped, 1, false)
	floor := func() time.Duration { return p.plain(strings.Replace(of.command, "go test", "go test -count=1", 1)) }
	floor()
	var plains, ones, twos, others []time.Duration
	for b.Loop() {
		plains = append(plains, floor())
		ones = append(ones, proven(of.command, 1, false))
		twos = append(twos, proven(of.command, 2, false))
		others = append(others, proven(wrapped, 1, false))
	}
	bare := median(plains)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(bare.Milliseconds()), "bare-ms")
	b.ReportMetric(float64(median(ones))/float64(bare), "one/bare")
	b.ReportMetric(float64(median(twos))/float64(bare), "two/bare")
	b.ReportMetric(float64(median(others))/float64(bare), "wrapped/bare")
}
