package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
)

// limited runs forge under a limit of the shell's and returns what it said and
// its exit code.
func (c *checkout) limited(limit string, args ...string) (stderr string, code int) {
	c.t.Helper()
	cmd := c.command("sh", append([]string{"-c", `ulimit ` + limit + ` && exec "$0" "$@"`, os.Args[0]}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	_ = cmd.Run()
	return said.String(), cmd.ProcessState.ExitCode()
}

// comesToAnEnd goes on with a run that was stopped, or begins one where there is
// none yet, and checks that it ends as if nothing had happened.
func (c *checkout) comesToAnEnd(when, want string) {
	c.t.Helper()
	_, stderr, code := c.forge("resume")
	if code == 2 && strings.Contains(stderr, "no runs") {
		_, stderr, code = c.forge("run", "--autonomous")
	}
	if code != 0 && !(code == 2 && strings.Contains(stderr, "is completed")) {
		c.t.Errorf("%s: resume: exit code %d\n%s", when, code, stderr)
		return
	}
	onceEach(c.t, c.exported())
	if got := c.outcome(); got != want {
		c.t.Errorf("%s: the run ended\n%s\nundisturbed it ends\n%s", when, got, want)
	}
}

// Too few descriptors, or files that may not become large, stop a run with a
// word about it. No phase fails for that.
func TestLimitsOfTheProcess(t *testing.T) {
	pace.Slow(t, "a run and its end under each limit")
	pace.Sequential(t, processesAlone)
	want, _ := undisturbed(t)
	limits := []string{"-n 14", "-n 20", "-f 8"}
	if kills(0) > 0 {
		limits = nil
		for n := 8; n < 64; n += 2 {
			limits = append(limits, fmt.Sprintf("-n %d", n), fmt.Sprintf("-f %d", n*2))
		}
	}
	struck := 0
	for _, limit := range limits {
		c := newKilled(t)
		stderr, code := c.limited(limit, "run", "--autonomous")
		switch code {
		case 0:
			continue
		case 2:
			struck++
			if !strings.Contains(stderr, "too many open files (limit ") && !strings.Contains(stderr, "larger than this process may write (limit ") {
				t.Errorf("ulimit %s: exit code 2, and it says\n%s", limit, stderr)
			}
		default:
			t.Errorf("ulimit %s: exit code %d\n%s", limit, code, stderr)
		}
		for _, e := range c.exported() {
			if e.Kind == "phase.finished" && strings.Contains(string(e.Data), "internal") {
				t.Errorf("ulimit %s: a phase failed: %s", limit, e.Data)
			}
		}
		c.comesToAnEnd("ulimit "+limit, want)
	}
	if struck == 0 {
		t.Error("no limit was low enough")
	}
}

// inSmallWorld says that the test runs where it may mount: in a namespace of
// its own, in which it is started again.
const inSmallWorld = "SMALL_WORLD_OF_A_TEST"

// smallWorld runs the test that calls it in a namespace where disks can be
// mounted. It returns false in the outer one, where there is nothing left to do.
func smallWorld(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inSmallWorld) != "" {
		return true
	}
	if runtime.GOOS != "linux" {
		t.Skip("small disks are made with Linux's namespaces")
	}
	in := []string{"--user", "--map-root-user", "--mount"}
	if out, err := exec.Command("unshare", append(in, "mount", "-t", "tmpfs", "tmpfs", t.TempDir())...).CombinedOutput(); err != nil {
		t.Skipf("a disk cannot be mounted here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", append(in, os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")...)
	cmd.Env = append(os.Environ(), inSmallWorld+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// fullAt runs forge with its state on a disk of its own, which is filled but for
// some bytes when event number at is seen. It returns what forge said and its
// exit code. The disk has room again afterwards.
func (c *checkout) fullAt(at int64, left int) (stderr string, code int) {
	c.t.Helper()
	if err := os.MkdirAll(c.at("state"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.must("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", c.at("state"))
	c.t.Cleanup(func() { _ = exec.Command("umount", "-l", c.at("state")).Run() })
	ballast := filepath.Join(c.at("state"), "ballast")
	cmd := c.command(os.Args[0], "run", "--autonomous", "--output", "json")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Seq == at {
			c.fill(ballast, left)
		}
	}
	_ = cmd.Wait()
	_ = os.Remove(ballast)
	return said.String(), cmd.ProcessState.ExitCode()
}

// fill takes all of the disk that path is on but for some bytes.
func (c *checkout) fill(path string, left int) {
	c.t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		c.t.Fatal(err)
	}
	free := int(st.Bavail) * int(st.Bsize)
	f, err := os.Create(path)
	if err != nil {
		c.t.Logf("fill: %v", err)
		return
	}
	for part := make([]byte, 1<<20); err == nil && free > left; free -= len(part) {
		_, err = f.Write(part[:min(len(part), free-left)])
	}
	if err = errors.Join(err, f.Close()); err != nil {
		c.t.Logf("fill: %v", err)
	}
}

// A disk that is full of a sudden stops the run wherever that strikes. No phase
// fails for it, and with more room the run ends as it would have.
func TestFullStateDisk(t *testing.T) {
	pace.Slow(t, "a run and its end on each disk that is full")
	pace.Sequential(t, processesAlone)
	if !smallWorld(t) {
		return
	}
	want, events := undisturbed(t)
	n, struck := int64(kills(4)), 0
	for i := range n {
		c := newKilled(t)
		at, left := 2+i*(events-3)/n, int(i%4)*24<<10
		when := fmt.Sprintf("full at event %d but for %d KB", at, left>>10)
		stderr, code := c.fullAt(at, left)
		switch code {
		case 0:
		case 2:
			struck++
			if !strings.Contains(stderr, "full") {
				t.Errorf("%s: exit code 2, and it says\n%s", when, stderr)
			}
		default:
			t.Errorf("%s: exit code %d\n%s", when, code, stderr)
		}
		for _, e := range c.exported() {
			if e.Kind == "phase.finished" && !strings.Contains(string(e.Data), `"done"`) {
				t.Errorf("%s: a phase ended: %s", when, e.Data)
			}
		}
		c.comesToAnEnd(when, want)
	}
	if struck == 0 {
		t.Error("the disk was never full in time")
	}
}

// A factory whose disk is full stays, and goes on with all that it worked on once there
// is room.
func TestFactoryOnAFullDisk(t *testing.T) {
	pace.Slow(t, "issues before, on and after a full disk")
	pace.Sequential(t, processesAlone)
	if !smallWorld(t) {
		return
	}
	c := newCheckout(t, "off", map[string]string{
		"agent.sh":          "echo \"$FORGE_PHASE_NAME\" >\"$FORGE_PHASE_NAME.txt\"\nsleep 1\necho \"<promise>ISSUE $(echo $FORGE_PHASE_NAME | tr -dc 0-9) DONE</promise>\"\n",
		".forge/forge.toml": "[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", \"agent.sh\"]\n[factory]\ntriage = \"off\"\ndefault_policy = \"full\"\n[verify]\ncommands = [\"true\"]\n[proof]\ncontrols = false\n",
	})
	if err := os.MkdirAll(c.at("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.must("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", c.at("state"))
	t.Cleanup(func() { _ = exec.Command("umount", "-l", c.at("state")).Run() })
	for n := range 4 {
		if _, stderr, code := c.forge("issue", "add", fmt.Sprintf("thing%d", n+1), "--column", "ready", "--level", "full"); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	cmd := c.command(os.Args[0], "factory", "--listen", "off", "--max-runs", "2")
	log, err := os.Create(c.at("factory.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	said := func() string {
		body, _ := os.ReadFile(log.Name())
		return string(body)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	heard := func(what string) {
		t.Helper()
		for end := time.Now().Add(patience); !strings.Contains(said(), what); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q is not said:\n%s", what, said())
			}
		}
	}
	heard("works on: thing2")
	ballast := c.at("state/ballast")
	c.fill(ballast, 0)
	heard("stopped for now, and goes on once there is room")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if board, _, _ := c.forge("issue", "list", "--column", "done"); strings.Count(board, "thing") == 4 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("not all is done:\n%s\n%s", board, said())
		}
	}
}
