package verify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/proc"
	"forge/internal/work"
)

// identities is a bench whose machine is a folder of the test's.
type identities struct {
	*bench
	t    *testing.T
	home string
	bin  string
	q    work.ProofQuestion
}

func newIdentities(t *testing.T) *identities {
	t.Helper()
	i := &identities{bench: newBench(t, nil), t: t, home: t.TempDir()}
	i.bin = filepath.Join(t.TempDir(), "bin")
	i.put(filepath.Join(i.bin, "go"), "#!/bin/sh\n", 0o755)
	i.environ = []string{"HOME=" + i.home, "PATH=" + i.bin + ":" + filepath.Join(i.home, "missing") + ":relative", "LANG=C", "FORGE_SECRET=1"}
	i.caps = proc.Capabilities{}
	i.q = work.ProofQuestion{
		Verify: work.VerifyRequest{Commands: []string{"go test ./..."}, TimeoutSecs: 60, Sandbox: work.SandboxSettings{Mode: "off"}, Dir: "/one", Mark: "m1", Commit: "c1"},
	}
	return i
}

func (i *identities) put(path, text string, mode os.FileMode) {
	i.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		i.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		i.t.Fatal(err)
	}
}

func (i *identities) of(q work.ProofQuestion) string {
	i.t.Helper()
	key, err := i.Identity(i.t.Context(), q)
	if err != nil {
		i.t.Fatal(err)
	}
	return key
}

// TestIdentity: everything that a proof depends on, and nothing else, is in its
// name. The change of each row is made to a machine of its own.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(i *identities)
		same   bool
	}{
		"nothing": {func(*identities) {}, true},
		"where it runs": {func(i *identities) {
			i.q.Verify.Dir, i.q.Verify.Mark, i.q.Verify.LogPath, i.q.Verify.Phase, i.q.Verify.Commit = "/two", "m2", "/log", "02", "c2"
		}, true},
		"a list without anything in it": {func(i *identities) {
			i.q.Verify.MayWrite, i.q.Protected, i.q.Proof.Evidence, i.q.Verify.Worktree.Setup = []string{}, []string{}, []string{}, []string{}
		}, true},
		"a variable that commands do not get": {func(i *identities) { i.environ = append(i.environ, "EDITOR=vi") }, true},

		"the commands":     {func(i *identities) { i.q.Verify.Commands = []string{"go vet ./...", "go test ./..."} }, false},
		"their time":       {func(i *identities) { i.q.Verify.TimeoutSecs = 61 }, false},
		"one home":         {func(i *identities) { i.q.Verify.OneHome = true }, false},
		"what they change": {func(i *identities) { i.q.Verify.MayWrite = []string{"gen/**"} }, false},
		"caches":           {func(i *identities) { i.q.Verify.Caches.Off = true }, false},
		"setup":            {func(i *identities) { i.q.Verify.Worktree.Setup = []string{"npm ci"} }, false},
		"network":          {func(i *identities) { i.q.Verify.Sandbox.Network = true }, false},
		"protected":        {func(i *identities) { i.q.Protected = []string{"a/**"} }, false},
		"evidence":         {func(i *identities) { i.q.Proof.Evidence = []string{"a/**"} }, false},

		"a variable": {func(i *identities) { i.environ = append(i.environ, "TZ=UTC") }, false},
		"a variable that is let through": {func(i *identities) {
			i.environ, i.q.Verify.Env = append(i.environ, "DATABASE=a"), []string{"DATABASE"}
		}, false},
		"another program":      {func(i *identities) { i.put(filepath.Join(i.bin, "go"), "#!/bin/sh -e\n", 0o755) }, false},
		"the same length":      {func(i *identities) { i.put(filepath.Join(i.bin, "go"), "#!/bin/zh\n", 0o755) }, false},
		"one program more":     {func(i *identities) { i.put(filepath.Join(i.bin, "gcc"), "", 0o755) }, false},
		"a program no more":    {func(i *identities) { _ = os.Remove(filepath.Join(i.bin, "go")) }, false},
		"a folder of PATH":     {func(i *identities) { i.put(filepath.Join(i.home, "missing", "go"), "", 0o755) }, false},
		"the toolchain behind": {func(i *identities) { i.put(filepath.Join(filepath.Dir(i.bin), "VERSION"), "go2", 0o644) }, false},
		"an installed package": {func(i *identities) {
			i.put(filepath.Join(filepath.Dir(i.bin), "lib", "python3.12", "site-packages", "pytest-9.dist-info"), "", 0o644)
		}, false},
		"a version manager": {func(i *identities) { i.put(filepath.Join(i.home, ".rustup", "settings.toml"), "a", 0o644) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIdentities(t)
			was := i.of(i.q)
			test.change(i)
			if now := i.of(i.q); (was == now) != test.same {
				t.Errorf("same %v, want %v", was == now, test.same)
			}
		})
	}
}

// TestIdentityBehindLinks: a tool that is a link has its libraries beside what it
// leads to, and a folder of libraries that two prefixes share is noted for both.
func TestIdentityBehindLinks(t *testing.T) {
	t.Parallel()
	i := newIdentities(t)
	opt := t.TempDir()
	i.put(filepath.Join(opt, "bin", "python3"), "", 0o755)
	installed := filepath.Join(opt, "lib", "python3.12", "site-packages", "pytest-8.dist-info")
	i.put(installed, "", 0o644)
	shared := filepath.Join(filepath.Dir(i.bin), "lib")
	for to, from := range map[string]string{filepath.Join(i.bin, "python3"): filepath.Join(opt, "bin", "python3"), shared: filepath.Join(opt, "lib")} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	was := i.of(i.q)
	i.put(filepath.Join(opt, "VERSION"), "2", 0o644)
	newer := i.of(i.q)
	if newer == was {
		t.Error("the toolchain behind a link is not in it")
	}
	i.put(installed, "more", 0o644)
	if i.of(i.q) == newer {
		t.Error("a package behind a link is not in it")
	}
}

// TestIdentityOfHiddenChecks: their content is part of it, and where they cannot
// be read nobody can tell.
func TestIdentityOfHiddenChecks(t *testing.T) {
	t.Parallel()
	i := newIdentities(t)
	dir := t.TempDir()
	i.q.Proof.Hidden = []string{dir}
	if _, err := i.Identity(t.Context(), i.q); err == nil {
		t.Error("hidden checks that are not there have a name")
	}
	i.put(filepath.Join(dir, "hidden.toml"), "[[check]]\nname = \"a\"\ncommand = \"sh a.sh\"\nsay = \"wrong\"\n", 0o644)
	i.put(filepath.Join(dir, "a.sh"), "true\n", 0o644)
	was := i.of(i.q)
	i.put(filepath.Join(dir, "a.sh"), "test 1\n", 0o644)
	if i.of(i.q) == was {
		t.Error("another hidden check has the same name")
	}
}

// TestIdentityOfWhatIsBrought: what the checkout gives to a folder, and paths
// that a sandbox shows, are told apart by what is below them.
func TestIdentityOfWhatIsBrought(t *testing.T) {
	t.Parallel()
	i := newIdentities(t)
	dir, shown := checkout(t, files{".gitignore": "node_modules/\n"}, files{"node_modules/a/index.js": "1"}), t.TempDir()
	i.put(filepath.Join(shown, "deep", "lib.so"), "1", 0o644)
	i.environ = append(i.environ[:1:1], "PATH="+i.bin+":"+os.Getenv("PATH"))
	i.q.Verify.Checkout, i.q.Verify.Worktree.Link, i.q.Verify.Sandbox.Read = dir, []string{"node_modules"}, []string{shown}
	seen := []string{i.of(i.q)}
	for _, change := range []string{filepath.Join(dir, "node_modules", "a", "index.js"), filepath.Join(shown, "deep", "lib.so"), filepath.Join(shown, "deep", "more.so")} {
		i.put(change, "22", 0o644)
		now := i.of(i.q)
		if slices.Contains(seen, now) {
			t.Errorf("%s is another one, and the name is not", strings.TrimPrefix(change, shown))
		}
		seen = append(seen, now)
	}
}

// TestNoIdentity: what commands share and write to, a folder that cannot be read,
// and more files than anybody looks at cannot be told.
func TestNoIdentity(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(i *identities){
		"a path that commands write to": func(i *identities) { i.q.Verify.Sandbox.Write = []string{i.home} },
		"a sandbox that is not there":   func(i *identities) { i.q.Verify.Sandbox.Mode = "required" },
		"a loop in PATH": func(i *identities) {
			if err := os.Symlink("loop", filepath.Join(i.home, "loop")); err != nil {
				i.t.Fatal(err)
			}
			i.environ = append(i.environ, "PATH="+filepath.Join(i.home, "loop"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIdentities(t)
			change(i)
			if key, err := i.Identity(t.Context(), i.q); err == nil || key != "" {
				t.Errorf("%q, %v", key, err)
			}
		})
	}
	p := &prints{left: 1, to: nil}
	p.left = 0
	if err := p.file(t.TempDir()); !errors.Is(err, errTooMany) {
		t.Errorf("one file more than may be looked at: %v", err)
	}
}

// TestWhereTheTimeWent: setup and commands are told apart, and that there were
// no caches to lend.
func TestWhereTheTimeWent(t *testing.T) {
	t.Parallel()
	b := newBench(t, files{"a.txt": "1"})
	req := b.req("sleep 0.05")
	req.Worktree.Setup = []string{"sleep 0.2"}
	rep := b.verify(req)
	if took := rep.Time; took == nil || took.SetupMillis < 200 || took.RunMillis < 50 || !took.Cold {
		t.Errorf("%+v", took)
	}
	req.Caches.Off = true
	if rep = b.verify(req); rep.Time == nil || rep.Time.Cold {
		t.Errorf("without caches by the owner's word: %+v", rep.Time)
	}
}
