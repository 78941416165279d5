package verify

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/filetree"
	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/warm"
	"forge/internal/work"
)

// warmBench is a bench with tools, under one way to lend caches.
type warmBench struct {
	*bench
	mode string
	read []string // for the sandbox

	network bool
}

// lendings runs the test under each way in which caches are lent: below the home
// in a sandbox, copied into it there, and copied without one.
func lendings(t *testing.T, need string, test func(t *testing.T, b warmBench)) {
	t.Parallel()
	if _, err := exec.LookPath(need); err != nil {
		t.Skip(err)
	}
	caps := proc.Detect(t.Context())
	for _, way := range []string{"overlay", "copy", "off"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := warmBench{bench: newBench(t, nil), mode: "off"}
			// Tools of the machine, as a user has them.
			b.environ = append(b.environ, "PATH="+os.Getenv("PATH"))
			for _, name := range []string{"PYENV_ROOT", "RUSTUP_HOME"} {
				if dir := toolHome(name); dir != "" {
					b.environ = append(b.environ, name+"="+dir)
				}
			}
			if way != "off" {
				if !caps.Bubblewrap {
					t.Skip(caps.Why)
				}
				b.caps, b.mode = caps, "required"
				if err := proc.TryOverlay(t.Context(), b.state); err != nil && way == "overlay" {
					t.Skip(err)
				}
				b.overlaid[filepath.Join(b.state, "verify")] = way == "overlay"
			}
			t.Cleanup(func() { _ = filetree.RemoveAll(b.state) })
			test(t, b)
		})
	}
}

func toolHome(name string) string {
	for _, t := range toolHomes {
		if t.name != name {
			continue
		}
		if dir := os.Getenv(name); dir != "" {
			return dir
		}
		if home, err := os.UserHomeDir(); err == nil {
			if _, err := os.Stat(filepath.Join(home, t.dir)); err == nil {
				return filepath.Join(home, t.dir)
			}
		}
	}
	return ""
}

// proves runs commands on a tree, as a proof of accepted work or of an agent's.
func (b warmBench) proves(accepted bool, tree files, commands ...string) work.CommandsReport {
	b.t.Helper()
	b.n++
	commit := "w" + string(rune('a'+b.n))
	b.commits.mu.Lock()
	b.commits.all[commit] = tree
	b.commits.mu.Unlock()
	req := b.req(commands...)
	req.Commit, req.Accepted = commit, accepted
	req.Sandbox = work.SandboxSettings{Mode: b.mode, Read: b.read, Network: b.network}
	return b.verify(req)
}

func (b warmBench) wantGreen(what string, rep work.CommandsReport) {
	b.t.Helper()
	if !rep.OK {
		b.t.Fatalf("%s is red: %s\n%+v", what, rep.Problem, rep.Ran)
	}
}

func (b warmBench) wantRed(what string, rep work.CommandsReport) {
	b.t.Helper()
	if rep.OK || len(rep.Ran) == 0 {
		b.t.Fatalf("%s is not red: %+v", what, rep)
	}
}

// with is the tree with files changed or added.
func (f files) with(more files) files {
	all := files{}
	for p, text := range f {
		all[p] = text
	}
	for p, text := range more {
		all[p] = text
	}
	return all
}

// goProxy writes a module that others can need to a folder that go can download
// from, and returns its address and the lines of go.sum.
func goProxy(t testing.TB, dir string) (address, sums string) {
	t.Helper()
	const mod = "module example.com/dep\n\ngo 1.24\n"
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range map[string]string{
		"go.mod": mod, "dep.go": "package dep\n\n// Twice is twice n.\nfunc Twice(n int) int { return 2 * n }\n",
	} {
		w, err := z.Create("example.com/dep@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	at := files{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`, "v1.0.0.mod": mod, "v1.0.0.zip": buf.String()}
	if err := at.write(filepath.Join(dir, "example.com/dep/@v")); err != nil {
		t.Fatal(err)
	}
	address = "file://" + dir
	scratch := t.TempDir()
	if err := goModule.write(scratch); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Cleanup(func() { _ = filetree.RemoveAll(home) })
	cmd := exec.Command("go", "mod", "tidy")
	cmd.Dir = scratch
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOPROXY=" + address, "GONOSUMDB=*", "GOFLAGS=-mod=mod"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	return address, read(t, scratch, "go.sum")
}

var goModule = files{
	"go.mod":  "module example.com/calc\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
	"main.go": "package main\n\nimport \"example.com/dep\"\n\nfunc four() int { return dep.Twice(2) }\n\nfunc main() {\n\tif four() != 4 {\n\t\tpanic(four())\n\t}\n}\n",
}

// goProject is the module with its sums, the command that proves it while the
// network is there, and the one that does when it is not. compiled is a build
// cache in which the standard library is: compiling it is what takes long.
func goProject(t *testing.T, b *warmBench, compiled string) (tree files, online, offline string) {
	t.Helper()
	dir := t.TempDir()
	address, sums := goProxy(t, dir)
	b.read = append(b.read, dir, compiled)
	online = "mkdir -p ~/.cache && cp -r " + compiled + " ~/.cache/go-build && GOPROXY=" + address + " GONOSUMDB=* go run ."
	return goModule.with(files{"go.sum": sums}), online, "GOPROXY=off go run ."
}

func TestGoCaches(t *testing.T) {
	pace.Slow(t, "go compiles a module cold and warm, under each way of lending")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	compiled := compiledFor(t, files{"main.go": "package main\n\nfunc main() {}\n"}, "run", ".")
	for name, test := range map[string]func(*testing.T, warmBench, string){"lent": goLent, "poison": goPoison} {
		t.Run(name, func(t *testing.T) {
			lendings(t, "go", func(t *testing.T, b warmBench) { test(t, b, compiled) })
		})
	}
	t.Run("results of tests", func(t *testing.T) {
		test := files{"none_test.go": "package none\n\nimport (\n\t_ \"os/exec\"\n\t\"testing\"\n)\n\nfunc TestNone(*testing.T) {}\n"}
		goResults(t, compiledFor(t, test, "test", "-trimpath", "-vet=off", "./..."))
	})
}

// compiledFor is a build cache in which that of the standard library is which a
// go command takes on tree. Compiling it takes longest of all: what is made once
// stays beside the developer's own build cache, whose warmth it has, and is made
// anew for another go. It is copied from, and nobody writes to it.
func compiledFor(t *testing.T, tree files, args ...string) string {
	t.Helper()
	about, err := exec.Command("go", "env", "GOVERSION", "GOROOT", "GOCACHE", "GOARCH", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	beside := strings.Split(string(about), "\n")[2]
	tree = tree.with(files{"go.mod": "module example.com/none\n\ngo 1.24\n"})
	sum := sha256.Sum256(fmt.Appendf(about, "%q %q", tree, args))
	made := filepath.Join(beside, "forge-test-"+hex.EncodeToString(sum[:8]))
	if exists(made) {
		return made
	}
	cache, err := os.MkdirTemp(beside, "forge-test-new-") //nolint:usetesting // it is renamed within its file system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = filetree.RemoveAll(cache) })
	scratch := t.TempDir()
	if err := tree.write(scratch); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = scratch, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "GOCACHE=" + cache}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile the standard library: %v\n%s", err, out)
	}
	if err := os.Rename(cache, made); err != nil && !exists(made) { // another run may have been first
		t.Fatal(err)
	}
	return made
}

// A proof needs neither the network nor a compiler for what the base needed.
func goLent(t *testing.T, b warmBench, compiled string) {
	tree, online, offline := goProject(t, &b, compiled)
	b.wantGreen("an agent's proof without caches", b.proves(false, tree, online))
	b.wantRed("a proof after an agent's, without network", b.proves(false, tree, offline))
	b.wantGreen("the base", b.proves(true, tree, online))
	stale := `test "$(GOPROXY=off go list -f '{{.Stale}}' example.com/dep)" = false`
	if b.mode == "off" {
		stale = "true" // without a sandbox each home, and so each module, has a path of its own
	}
	b.wantGreen("a proof without network", b.proves(false, tree, offline, stale, offline))
	b.wantRed("a proof of a wrong change", b.proves(false, wrongGo(tree), offline))
}

func wrongGo(tree files) files {
	return tree.with(files{"main.go": strings.Replace(tree["main.go"], "Twice(2)", "Twice(3)", 1)})
}

// Whatever an agent's commit does to the caches that it was lent, the next proof
// is judged by those that accepted work left.
func goPoison(t *testing.T, b warmBench, compiled string) {
	tree, online, offline := goProject(t, &b, compiled)
	b.wantGreen("the base", b.proves(true, tree, online))
	wrong := wrongGo(tree)
	// The module is made to say what the wrong change needs.
	replace := `cd "$(GOPROXY=off go list -m -f '{{.Dir}}' example.com/dep)" && chmod -R u+w . && sed 's/2 \* n/4/' dep.go >x && rm dep.go && mv x dep.go && cd - && `
	for _, p := range []string{
		replace + "go clean -cache && true",
		`for f in $(find ~/.cache/go-build -name '*-d' -size -64k); do echo bad >$f; done; find ~/.cache/go-build -name '*-a' | xargs rm; true`,
		`chmod -R u+w ~/go && rm -rf ~/go ~/.cache; true`,
		`rm -rf ~/.cache/go-build && ln -s /etc ~/.cache/go-build; true`,
	} {
		b.wantGreen("poison "+p, b.proves(false, wrong, p))
		b.wantGreen("honest work after "+p, b.proves(false, tree, offline))
		b.wantRed("wrong work after "+p, b.proves(false, wrong, offline))
	}
	b.wantRed("wrong work behind its own poison", b.proves(false, wrong, replace+"true", offline))
}

// Go takes a test for passed that read the same files before, and does not know
// what programs read that the test starts.
func goResults(t *testing.T, compiled string) {
	b := warmBench{bench: newBench(t, nil), mode: "off"}
	t.Cleanup(func() { _ = filetree.RemoveAll(b.state) })
	tree := files{
		"go.mod": "module example.com/calc\n\ngo 1.24\n", "data.txt": "right\n",
		"run_test.go": "package calc\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestData(t *testing.T) {\n" +
			"\tif out, err := exec.Command(\"cat\", \"data.txt\").Output(); err != nil || string(out) != \"right\\n\" {\n\t\tt.Fatal(string(out), err)\n\t}\n}\n",
	}
	// Under -trimpath the folder is not in what is compiled, and without
	// a sandbox each proof would have its own.
	ask := "go test -trimpath -vet=off ./..."
	b.wantGreen("the base", b.proves(true, tree, "mkdir -p ~/.cache && cp -r "+compiled+" ~/.cache/go-build && "+ask+" && "+ask+" | grep -F '(cached)'"))
	rep := b.proves(false, tree, ask)
	b.wantGreen("the same", rep)
	if strings.Contains(rep.Ran[0].Output, "(cached)") {
		t.Errorf("a result of the base was taken: %s", rep.Ran[0].Output)
	}
	b.wantRed("what a program of the test reads is wrong", b.proves(false, tree.with(files{"data.txt": "wrong\n"}), ask))
}

// Only green proofs of accepted work fill, and nothing fills where it is off.
func TestCachesAreFilledByAcceptedWorkAlone(t *testing.T) {
	lendings(t, "sh", func(t *testing.T, b warmBench) {
		seen := `cat ~/go/pkg/mod/*; true`
		write := func(text string) string { return "mkdir -p ~/go/pkg/mod && echo " + text + " >~/go/pkg/mod/" + text }
		tree := files{"a": "a"}
		b.proves(false, tree, write("agent"))
		b.proves(true, tree, write("red"), "false")
		b.proves(true, tree, write("disturbed"), "echo b >a")
		b.proves(true, tree, write("first"), write("second"))
		b.proves(false, tree, write("other"))
		b.proves(true, tree, "test -e ~/go/pkg/mod/first && "+write("third"))
		if rep := b.proves(false, tree, seen); rep.Ran[0].Output != "first\nsecond\nthird\n" {
			t.Errorf("a proof sees %q", rep.Ran[0].Output)
		}
		req := b.req(seen)
		req.Commit, req.Caches.Off, req.Sandbox.Mode = "c1", true, b.mode
		b.commits.all["c1"] = tree
		if rep := b.verify(req); strings.Contains(rep.Ran[0].Output, "first") {
			t.Errorf("without caches a proof sees %q", rep.Ran[0].Output)
		}
	})
}

// What the owner names is kept as well: below the home, or by a variable.
func TestOwnCachesAreKept(t *testing.T) {
	lendings(t, "sh", func(t *testing.T, b warmBench) {
		prove := func(accepted bool, command string) work.CommandsReport {
			req := b.req(command)
			req.Accepted, req.Sandbox.Mode = accepted, b.mode
			req.Caches.Also = []string{"~/.sdk", "DEMO_CACHE"}
			return b.verify(req)
		}
		b.commits.all["c1"] = files{"a": "a"}
		b.wantGreen("base", prove(true, `mkdir -p ~/.sdk $DEMO_CACHE ~/.other && echo 1 >~/.sdk/x && echo 2 >$DEMO_CACHE/x && echo 3 >~/.other/x`))
		if rep := prove(false, `cat ~/.sdk/x $DEMO_CACHE/x; ls ~/.other; true`); !strings.HasPrefix(rep.Ran[0].Output, "1\n2\nls: ") {
			t.Errorf("a proof sees %q", rep.Ran[0].Output)
		}
	})
}

// A layer whose files are not what they were is not used where it is copied.
func TestDamagedLayerIsNotCopied(t *testing.T) {
	b := newBench(t, files{"a": "a"})
	req := b.req("mkdir -p ~/.cargo/registry && cat ~/.cargo/registry/x || echo good >~/.cargo/registry/x")
	req.Accepted = true
	b.green(req)
	found, err := filepath.Glob(filepath.Join(b.state, "cache/warm/*-1/home/.cargo/registry/x"))
	if err != nil || len(found) != 1 {
		t.Fatalf("kept %q, %v", found, err)
	}
	if err := os.WriteFile(found[0], []byte("evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	req.Accepted = false
	if rep := b.green(req); strings.Contains(rep.Ran[0].Output, "evil") {
		t.Errorf("a changed file was lent: %s", rep.Ran[0].Output)
	}
	if loan, err := warm.New(filepath.Join(b.state, "cache/warm")).Lend(warm.Key(b.environ, "none"), false); err != nil || loan != nil {
		t.Errorf("the layer is still there: %+v, %v", loan, err)
	}
}

// Proofs that begin at once, some of them filling, are each judged right.
func TestProofsAtOnce(t *testing.T) {
	lendings(t, "sh", func(t *testing.T, b warmBench) {
		b.commits.all["c1"] = files{"a": "a"}
		done := make(chan error)
		for n := range 8 {
			go func() {
				req := b.req("mkdir -p ~/.npm/_cacache && for f in 1 2 3 4 5 6 7 8; do echo $f >~/.npm/_cacache/$f; done && cat ~/.npm/_cacache/*")
				req.Dir = filepath.Join(b.state, "verify", string(rune('a'+n)))
				req.LogPath, req.Accepted, req.Sandbox.Mode = "", n%2 == 0, b.mode
				rep, err := b.Verify(context.WithoutCancel(t.Context()), req, nil)
				if err == nil && (!rep.OK || rep.Ran[0].Output != "1\n2\n3\n4\n5\n6\n7\n8\n") {
					err = errString(rep.Problem + rep.Ran[0].Output)
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

type errString string

func (e errString) Error() string { return string(e) }
