package proc

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

var errNeeded = errors.New("FORGE_TEST_REQUIRE_SANDBOX is set")

// need skips the test where the machine has no such sandbox, unless it is said
// to have one.
func need(t *testing.T, level Level) {
	t.Helper()
	if level == LevelNone {
		return
	}
	if err := try(t.Context(), Sandbox{Level: level, Container: tested(), Network: true}); err != nil {
		if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") == "1" {
			t.Fatalf("%v, but %s does not work: %v", errNeeded, level, err)
		}
		t.Skipf("%s does not work here: %v", level, err)
	}
}

// each runs the test in every kind of sandbox: in containers where the tag real is
// set.
func each(t *testing.T, test func(t *testing.T, level Level)) {
	t.Parallel()
	for _, level := range append([]Level{LevelBubblewrap, LevelLandlock}, containers()...) {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			need(t, level)
			test(t, level)
		})
	}
}

// files makes a folder with the files; a name that ends in a slash is a folder.
func files(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte("content of "+filepath.Base(name)), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ask runs the probes inside and returns their answers in order.
func ask(t *testing.T, s Spec, probes ...string) []string {
	t.Helper()
	s.Path, s.Args = self(), append([]string{"child:probe"}, probes...)
	r, out := run(t, s)
	wantExit(t, r, 0)
	if r.Sandbox != s.Sandbox.Level {
		t.Errorf("it ran under %q, want %q", r.Sandbox, s.Sandbox.Level)
	}
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(probes) {
		t.Fatalf("%d answers to %d probes: %q", len(answers), len(probes), out)
	}
	for i, a := range answers {
		answers[i] = strings.TrimPrefix(a, probes[i]+" ")
	}
	return answers
}

// expect holds the answers against what is wanted: probe, answer, probe, …
func expect(t *testing.T, s Spec, pairs ...string) {
	t.Helper()
	var probes []string
	for i := 0; i < len(pairs); i += 2 {
		probes = append(probes, pairs[i])
	}
	for i, got := range ask(t, s, probes...) {
		if want := pairs[2*i+1]; got != want {
			t.Errorf("%s: %s, want %s", probes[i], got, want)
		}
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if want == "" && errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil || string(b) != want {
		t.Errorf("outside, %s holds %q (%v), want %q", path, b, err, want)
	}
}

// The phase folder lies inside the hidden state folder, beside folders of other
// phases, and reads objects from a repository in it.
func TestSandboxView(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d := files(t, "state/key", "state/runs/1/phase/old.txt", "state/runs/1/phase/sub/", "state/runs/2/other.txt", "state/repo/objects/object",
			"project/spec.md", "project/private/secret", "project/also-secret")
		at := func(name string) string { return filepath.Join(d, name) }
		s := child(t, "")
		s.Dir = at("state/runs/1/phase")
		s.Sandbox = &Sandbox{
			Level: level, Container: tested(),
			Write: []string{s.Dir}, Read: []string{at("project"), at("state/repo/objects"), at("not-there")},
			Hide: []string{at("state"), at("project/private"), at("project/also-secret"), at("never-was")},
		}
		expect(t, s,
			"cwd", "ok "+s.Dir,
			"read:old.txt", "ok content of old.txt",
			"write:new.txt", "ok",
			"truncate:new.txt", "ok",
			"write:"+at("state/runs/1/phase/absolute.txt"), "ok",
			"rename:absolute.txt:sub/moved.txt", "ok",
			"read:"+at("state/key"), "refused",
			"read:"+at("state/runs/2/other.txt"), "refused",
			"write:"+at("state/runs/2/other.txt"), "refused",
			"truncate:"+at("state/runs/2/other.txt"), "refused",
			"read:"+at("state/repo/objects/object"), "ok content of object",
			"write:"+at("state/repo/objects/object"), "refused",
			"remove:"+at("state/repo/objects/object"), "refused",
			"read:"+at("project/spec.md"), "ok content of spec.md",
			"write:"+at("project/spec.md"), "refused",
			"truncate:"+at("project/spec.md"), "refused",
			"remove:"+at("project/spec.md"), "refused",
			"read:"+at("project/private/secret"), "refused",
			"read:"+at("project/also-secret"), "refused",
			"write:/usr/forge-test", "refused",
			"write:/forge-test", "refused",
			"write:/etc/forge-test", "refused",
			"run:echo shell works >/dev/null && echo yes", "ok yes",
			"env:"+landlockOrders, "ok ",
		)
		// Bubblewrap lets it write to a folder of that name that is its own.
		ask(t, s, "write:"+at("outside.txt"))
		wantContent(t, at("outside.txt"), "")
		wantContent(t, at("state/runs/1/phase/new.txt"), "")
		wantContent(t, at("state/runs/1/phase/sub/moved.txt"), "written by the child")
		wantContent(t, at("state/runs/2/other.txt"), "content of other.txt")
		wantContent(t, at("project/spec.md"), "content of spec.md")
		wantContent(t, at("state/key"), "content of key")
	})
}

// A folder in memory is below /dev, of which a child gets one of its own.
func TestSandboxInSharedMemory(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d, err := os.MkdirTemp("/dev/shm", "forge-test-") //nolint:usetesting // the test is about this folder, and not about where others are
		if err != nil {
			t.Skip("there is no folder in memory: ", err)
		}
		t.Cleanup(func() { os.RemoveAll(d) })
		at := func(name string) string { return filepath.Join(d, name) }
		for _, name := range []string{"phase", "objects", "state"} {
			if err := errors.Join(os.Mkdir(at(name), 0o755), os.WriteFile(at(name+"/file"), []byte("content"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		s := child(t, "")
		s.Dir = at("phase")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Read: []string{at("objects")}, Hide: []string{at("state")}}
		expect(t, s,
			"cwd", "ok "+s.Dir,
			"read:file", "ok content",
			"write:new", "ok",
			"read:"+at("objects/file"), "ok content",
			"write:"+at("objects/file"), "refused",
			"read:"+at("state/file"), "refused",
			"run:[ -c /dev/null ] && echo yes >/dev/null && echo yes", "ok yes",
		)
		wantContent(t, at("phase/new"), "written by the child")
	})
}

func TestSandboxHome(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d := files(t, "home/private.txt", "home/.login/token", "home/.config/app/settings", "home/.cache/build/", "elsewhere/creds")
		home := filepath.Join(d, "home")
		s := child(t, "")
		s.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + filepath.Join(d, "tmp")}
		s.Dir = t.TempDir()
		s.Sandbox = &Sandbox{
			Level: level, Container: tested(), Write: []string{s.Dir, filepath.Join(home, ".cache/build")},
			Read:      []string{filepath.Join(home, ".login"), filepath.Join(home, ".config/app")},
			ReadFiles: map[string]string{filepath.Join(home, ".creds.json"): filepath.Join(d, "elsewhere/creds")},
		}
		expect(t, s,
			"home:.login/token", "ok content of token",
			"write-home:.login/token", "refused",
			"home:.config/app/settings", "ok content of settings",
			"home:.creds.json", "ok content of creds",
			"write-home:.creds.json", "refused",
			"home:private.txt", "refused",
			"read:"+filepath.Join(home, "private.txt"), "refused",
			"list:~", "ok [.cache .config .creds.json .login]",
			"write-home:note", "ok",
			"home:note", "ok written by the child",
			"write-home:.cache/build/object", "ok",
			"temp:scratch", "ok",
			"read:"+filepath.Join(d, "elsewhere/creds"), map[Level]string{
				LevelBubblewrap: "refused", LevelContainer: "refused", LevelLandlock: "ok content of creds", // it cannot move files
			}[level],
		)
		wantContent(t, filepath.Join(home, "note"), "")
		wantContent(t, filepath.Join(home, ".cache/build/object"), "written by the child")
		wantContent(t, filepath.Join(d, "elsewhere/creds"), "content of creds")
	})
}

// HOME, the state folder and the phase folder are reached by symbolic links.
func TestSandboxLinks(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d := files(t, "disk/home/private.txt", "disk/home/.login", "disk/state/key", "disk/state/phase/a.txt")
		if err := os.Symlink(filepath.Join(d, "disk"), filepath.Join(d, "link")); err != nil {
			t.Fatal(err)
		}
		at := func(name string) string { return filepath.Join(d, "link", name) }
		s := child(t, "")
		s.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + at("home")}
		s.Dir = at("state/phase")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Read: []string{at("home/.login"), d}, Hide: []string{at("state")}}
		expect(t, s,
			"read:a.txt", "ok content of a.txt",
			"write:b.txt", "ok",
			"home:.login", "ok content of .login",
			"home:private.txt", "refused",
			"read:"+at("state/key"), "refused",
			"read:"+filepath.Join(d, "disk/state/key"), "refused",
			"read:"+at("state/phase/a.txt"), "ok content of a.txt",
			"read:"+filepath.Join(d, "disk/state/phase/a.txt"), "ok content of a.txt",
		)
		wantContent(t, filepath.Join(d, "disk/state/phase/b.txt"), "written by the child")
	})
}

// Programs of PATH work also when they are installed in HOME, which is out of
// sight otherwise.
func TestSandboxTools(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d := files(t, "home/tool-1.2/share/data", "home/.local/share/pkg/bin/", "home/.local/share/pkg/data", "home/.local/bin/",
			"home/.local/share/keyrings/secret", "home/careless/.ssh/id", "home/careless/file", "home/.ssh/id_rsa", "home/bin/", "other/file")
		home := filepath.Join(d, "home")
		script := func(path, data string) {
			t.Helper()
			path = filepath.Join(home, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, []byte("#!/bin/sh\ncat "+filepath.Join(home, data)+"\n"), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		script("tool-1.2/bin/tool", "tool-1.2/share/data")
		script(".local/share/pkg/bin/linked", ".local/share/pkg/data")
		script("careless/bin/careless", "careless/file")
		script("bin/own", ".ssh/id_rsa")
		if err := os.Symlink("../share/pkg/bin/linked", filepath.Join(home, ".local/bin/linked")); err != nil {
			t.Fatal(err)
		}
		path := "/usr/bin:/bin"
		for _, dir := range []string{"tool-1.2/bin", ".local/bin", "careless/bin", "bin", "missing/bin"} {
			path += ":" + filepath.Join(home, dir)
		}
		s := child(t, "")
		s.Env = []string{"PATH=" + path, "HOME=" + home}
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
		if level == LevelContainer {
			// Its programs are the image's.
			expect(t, s, "run:tool", "refused", "run:linked", "refused", "run:echo $OF_THE_IMAGE $PATH", "ok 1 /usr/bin",
				"read:"+filepath.Join(home, "careless/.ssh/id"), "refused", "read:"+filepath.Join(home, ".ssh/id_rsa"), "refused",
				"run:[ -e /usr/bin/grep ] && ! [ -e /usr/bin/git ] && echo yes", "ok yes")
			return
		}
		expect(t, s,
			"run:tool", "ok content of data",
			"run:linked", "ok content of data",
			"run:careless", "refused", // it starts, and cannot read beside .ssh
			"run:own", "refused",
			"run:command -v own >/dev/null && echo found", "ok found",
			"read:"+filepath.Join(home, ".local/share/keyrings/secret"), "refused",
			"read:"+filepath.Join(home, "careless/.ssh/id"), "refused",
			"read:"+filepath.Join(home, ".ssh/id_rsa"), "refused",
			"write:"+filepath.Join(home, "tool-1.2/bin/tool"), "refused",
		)
	})
}

func TestSandboxNetwork(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s := child(t, "")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
		expect(t, s, "dial:"+l.Addr().String(), "refused")
		s.Sandbox.Network = true
		expect(t, s, "dial:"+l.Addr().String(), "ok")
		if b, err := os.ReadFile("/etc/resolv.conf"); err == nil {
			expect(t, s, "resolve", "ok "+strconv.Itoa(len(b)))
		}
	})
}

// The rights of root end at the sandbox.
func TestSandboxAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this user is not root")
	}
	each(t, func(t *testing.T, level Level) {
		s := child(t, "")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Network: true}
		sysctl := "/proc/sys/kernel/core_pattern"
		before, err := os.ReadFile(sysctl)
		if err != nil {
			t.Skip(err)
		}
		expect(t, s,
			"run:grep -qE '^CapEff:\\s*0+$' /proc/self/status && echo none", "ok none",
			"read:/etc/shadow", "refused",
			"write:"+sysctl, "refused",
		)
		if after, _ := os.ReadFile(sysctl); !bytes.Equal(before, after) {
			_ = os.WriteFile(sysctl, before, 0o644)
			t.Error("a sandboxed child changed a setting of the kernel")
		}
	})
}

func TestSandboxIsWrittenDownOrRefused(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		d := files(t, "phase/.forge/forge.toml", "phase/a", "state/key", "creds")
		at := func(name string) string { return filepath.Join(d, name) }
		plain := Sandbox{Level: level, Container: tested(), Write: []string{at("phase")}}
		for _, c := range []struct {
			name   string
			change func(*Spec)
			want   string
		}{
			{"missing write path", func(s *Spec) { s.Sandbox.Write = append(s.Sandbox.Write, at("none")) }, "open sandbox for writing"},
			{"relative path", func(s *Spec) { s.Sandbox.Read = []string{"relative"} }, `"relative" is not absolute`},
			{"relative file", func(s *Spec) { s.Sandbox.ReadFiles = map[string]string{"a": at("creds")} }, "is not absolute"},
			{"missing file", func(s *Spec) {
				s.Sandbox.ReadFiles = map[string]string{at("none"): at("none")}
			}, "for the sandbox: "},
			{"everything", func(s *Spec) { s.Sandbox.Write = []string{"/"} }, "would undo the sandbox"},
			{"folder out of sight", func(s *Spec) { s.Dir = at("state") }, "is not visible in the sandbox"},
			{"hidden folder", func(s *Spec) {
				s.Dir, s.Sandbox.Read, s.Sandbox.Hide = at("state"), []string{d}, []string{at("state")}
			}, "is not visible in the sandbox"},
			{"relative folder", func(s *Spec) { s.Dir = "." }, "absolute working folder"},
		} {
			sb := plain
			s := child(t, "exit", "0")
			s.Dir, s.Sandbox = at("phase"), &sb
			c.change(&s)
			p, err := Start(t.Context(), s)
			if err == nil {
				p.Wait()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
		}

		// A hidden path inside a writable one.
		s := child(t, "")
		s.Dir = at("phase")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Hide: []string{at("phase/.forge")}}
		if level != LevelLandlock {
			expect(t, s, "read:a", "ok content of a", "read:.forge/forge.toml", "refused")
		} else if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "landlock cannot hide") {
			t.Errorf("hidden inside writable: error %v", err)
		}
		// Written over hidden, hidden over read.
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Hide: []string{s.Dir, at("state")}, Read: []string{at("state")}}
		expect(t, s, "read:a", "ok content of a", "write:b", "ok", "read:"+at("state/key"), "refused")
	})
}

// "The command could not be started" is never taken for "it failed".
func TestSandboxCannotStartTheCommand(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		s := child(t, "")
		s.Path, s.Args = filepath.Join(s.Dir, "program"), nil
		if err := os.WriteFile(s.Path, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
		if r, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "could not start the command") {
			t.Errorf("error %v, %s", err, r.how())
		}
		s = child(t, "exit", "3")
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
		r, _ := run(t, s)
		wantExit(t, r, 3)
	})
}

// A child whose network is cut reaches what serves it, and nothing else.
func TestSandboxServed(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		if level != LevelLandlock {
			testServed(t, level)
		}
	})
}

func testServed(t *testing.T, level Level) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var served atomic.Int64
	s := child(t, "")
	s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}, Serve: func(ctx context.Context, l net.Listener) {
		stop := context.AfterFunc(ctx, func() { _ = l.Close() })
		defer stop()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Add(1)
			_ = conn.Close()
		}
	}}
	expect(t, s,
		"dial:"+l.Addr().String(), "refused",
		"dial:127.0.0.1:3128", "ok",
		"run:echo $HTTPS_PROXY $https_proxy $ALL_PROXY", "ok http://127.0.0.1:3128 http://127.0.0.1:3128 http://127.0.0.1:3128",
		"run:ls -A /.way | wc -l", "ok 0",
		"run:grep -c : /proc/net/dev", "ok 1",
		"write:/.way/socket", "refused",
	)
	if served.Load() != 1 {
		t.Errorf("served %d connections, want 1", served.Load())
	}
	for _, other := range []Sandbox{{Level: LevelLandlock}, {Level: level, Container: tested(), Network: true}} {
		other.Serve, other.Write = s.Sandbox.Serve, s.Sandbox.Write
		s.Sandbox = &other
		if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "single hosts") {
			t.Errorf("%s, network %t: %v", other.Level, other.Network, err)
		}
	}
}
