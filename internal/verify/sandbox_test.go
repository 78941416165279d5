package verify

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/proc"
	"forge/internal/work"
)

// levels are the sandboxes that work here.
func levels(t *testing.T) []proc.Level {
	t.Helper()
	caps := proc.Detect(t.Context())
	var all []proc.Level
	if caps.Bubblewrap {
		all = append(all, proc.LevelBubblewrap)
	}
	if caps.Landlock {
		all = append(all, proc.LevelLandlock)
	}
	if len(all) == 0 {
		if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") != "" {
			t.Fatalf("a sandbox is required and none works: %s", caps.Why)
		}
		t.Skipf("no sandbox works here: %s", caps.Why)
	}
	return all
}

func TestVerifyInASandbox(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) { verifyInASandbox(t, level, work.ContainerSettings{}) })
	}
}

func verifyInASandbox(t *testing.T, level proc.Level, in work.ContainerSettings) {
	user := checkout(t, files{".gitignore": "deps/\n"}, files{"deps/x": "dep", "secret": "secret"})
	b := newBench(t, files{"src": "src"})
	b.caps = proc.Capabilities{Bubblewrap: level == proc.LevelBubblewrap, Landlock: level == proc.LevelLandlock}
	home := variable(b.environ, "HOME")
	if err := (files{".ssh/id": "key", ".cache/tool/x": "1", ".cargo/x": "x"}).write(home); err != nil {
		t.Fatal(err)
	}
	if err := (files{"journal.db": "journal", "cache/setup/x": "x"}).write(b.state); err != nil {
		t.Fatal(err)
	}
	req := b.req()
	req.Sandbox = work.SandboxSettings{
		Mode: "required", Container: in, Read: []string{filepath.Join(home, ".cargo"), filepath.Join(home, ".gone")},
		Write: []string{filepath.Join(home, ".cache/tool"), filepath.Join(home, ".cache/none")},
	}
	req.Checkout, req.Worktree = user, work.Worktree{
		Link: []string{"deps"}, Setup: []string{"test $(cat deps/x) = dep && echo y >made && echo h >$HOME/h"},
	}
	req.Commands = []string{
		"test $(cat src) = src && echo changed >out",
		"test $(cat made) = y && test $(cat $HOME/h) = h && echo x >$HOME/x && echo x >${TMPDIR:-/tmp}/x",
		"test $(cat deps/x) = dep",
		"! echo x 2>/dev/null >deps/x",
		"test $(cat $HOME/.cargo/x) = x && ! touch $HOME/.cargo/y 2>/dev/null",
		"test $(cat $HOME/.cache/tool/x) = 1 && echo 2 >$HOME/.cache/tool/x",
		"! cat " + filepath.Join(user, "secret") + " 2>/dev/null",
		"! cat " + filepath.Join(home, ".ssh/id") + " 2>/dev/null",
		"! cat " + filepath.Join(b.state, "journal.db") + " 2>/dev/null",
		"! ls " + filepath.Join(b.state, "cache/setup") + " 2>/dev/null",
		"! touch " + filepath.Join(b.state, "cache/setup/y") + " 2>/dev/null",
		"! touch " + req.Dir + ".other 2>/dev/null || test ! -e " + filepath.Join(b.state, "journal.db"),
		"exit 7",
	}
	rep := b.verify(req)
	if len(rep.Ran) != len(req.Commands) || *rep.Ran[len(rep.Ran)-1].ExitCode != 7 || rep.Sandbox != string(level) {
		t.Fatalf("level %s, %s; %+v", rep.Sandbox, rep.Problem, rep.Ran[len(rep.Ran)-1])
	}
	if got := read(t, user, "deps/x"); got != "dep" {
		t.Errorf("the linked file became %q", got)
	}
	if got := read(t, home, ".cache/tool/x"); got != "2\n" {
		t.Errorf("the shared cache holds %q", got)
	}
	if exists(req.Dir + ".other") {
		t.Error("a command wrote beside its folder")
	}
	for command, code := range map[string]int{"./src": 126, "no-such-program-here": 127} {
		req := b.req(command)
		req.Sandbox = work.SandboxSettings{Mode: "required", Container: in}
		if rep := b.verify(req); rep.OK || rep.Ran[0].ExitCode == nil || *rep.Ran[0].ExitCode != code {
			t.Errorf("%s: %+v, want exit code %d", command, rep, code)
		}
	}
}

func TestVerifyNetworkAsConfigured(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash, which can connect by itself, is not there")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels(t) {
		b := newBench(t, files{})
		b.caps = proc.Capabilities{Bubblewrap: level == proc.LevelBubblewrap, Landlock: level == proc.LevelLandlock}
		for _, network := range []bool{true, false} {
			req := b.req(bash + " -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "' 2>/dev/null")
			req.Sandbox = work.SandboxSettings{Mode: "required", Network: network}
			if rep := b.verify(req); rep.OK != network {
				t.Errorf("%s: connecting with network %v: OK %v", level, network, rep.OK)
			}
		}
	}
}

// Commands reach the hosts that the settings name, and what was refused is said.
func TestSandboxVerifyWithHosts(t *testing.T) {
	if !slices.Contains(levels(t), proc.LevelBubblewrap) {
		t.Skip("it needs bubblewrap")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash speaks to the proxy here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.0 200 OK\r\n\r\nreached\n"))
			_ = conn.Close()
		}
	}()
	ask := func(host string) string {
		return "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf \"GET http://" + host + "/ HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3 | grep reached'"
	}
	b := newBench(t, files{"src": "src"})
	b.caps = proc.Capabilities{Bubblewrap: true}
	req := b.req()
	req.Sandbox = work.SandboxSettings{Mode: "auto", OnlyHosts: true, Hosts: []string{l.Addr().String()}}
	req.Commands = []string{ask(l.Addr().String())}
	if rep := b.verify(req); !rep.OK {
		t.Errorf("not reached: %+v", rep)
	}
	req.Commands = []string{ask("evil.example:8080")}
	if rep := b.verify(req); rep.OK || !strings.Contains(rep.Problem, "sandbox.network refused evil.example:8080") {
		t.Errorf("%+v", rep)
	}
}
