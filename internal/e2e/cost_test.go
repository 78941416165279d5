package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"forge/internal/pace"
)

// plainPhase is one phase of n iterations by an agent that is a shell script.
func plainPhase(n int, agent string) map[string]string {
	return map[string]string{
		".forge/phases.json": fmt.Sprintf(`{"phases":[{"number":"01","name":"only","promise":"ALL DONE","budget":%d}]}`, n),
		".forge/forge.toml": `
[agent]
use = "own"
[agents.own]
kind = "exec"
command = ["./agent.sh"]
[autonomy]
stale_iterations_before_pivot = 0
[verify]
none = true
`,
		"agent.sh": "#!/bin/sh\n" + agent,
	}
}

const appendLine = "echo line >> log.txt\n"

// counted runs n iterations under strace and counts the programs started and
// the calls that wait for the disk.
func counted(t *testing.T, n int) (programs, syncs int) {
	t.Helper()
	c := newCheckout(t, "off", plainPhase(n, appendLine))
	trace := c.at("trace")
	cmd := c.command("strace", "-f", "--seccomp-bpf", "-e", "trace=execve,fsync,fdatasync,syncfs,sync,msync", "-o", trace, os.Args[0], "run", "--autonomous")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Skipf("strace cannot trace here: %v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		// A call that another thread interrupts is printed in two halves.
		if !strings.Contains(line, "(") || strings.Contains(line, "resumed>") || strings.Contains(line, "ENOENT") {
			continue
		}
		if strings.Contains(line, " execve(") {
			programs++
		} else if strings.Contains(line, "sync") {
			syncs++
		}
	}
	return programs, syncs
}

// An iteration costs at most 6 processes beside the agent's own, the sixth for the
// shape of its change, and 4 waits for the disk. Both are counted, not timed.
func TestCostOfAnIteration(t *testing.T) {
	pace.Slow(t, "every call to the system is traced")
	pace.Sequential(t, processesAlone)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	const few, many = 4, 14
	p1, s1 := counted(t, few)
	p2, s2 := counted(t, many)
	programs, syncs := float64(p2-p1)/(many-few)-1, float64(s2-s1)/(many-few)
	t.Logf("per iteration: %.2f processes beside the agent, %.2f syncs", programs, syncs)
	if programs > 6 || programs < 1 {
		t.Errorf("an iteration starts %.2f processes beside the agent, want 1 to 6", programs)
	}
	if syncs > 4 || syncs < 1 {
		t.Errorf("an iteration waits %.2f times for the disk, want 1 to 4", syncs)
	}
}

// peak is the most memory that forge itself held, in MB.
func peak(c *checkout, args ...string) (megabytes float64, stderr string, code int) {
	c.t.Helper()
	var errs strings.Builder
	cmd := c.command(os.Args[0], args...)
	cmd.Stderr = &errs
	_ = cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		c.t.Skip("memory cannot be measured here")
	}
	unit := 1024.0 // Linux counts in KiB
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(usage.Maxrss) * unit / 1e6, errs.String(), cmd.ProcessState.ExitCode()
}

// A line of 100 MB neither breaks anything nor is held in memory.
func TestOneLongLine(t *testing.T) {
	pace.Slow(t, "a line of 100 MB")
	pace.Sequential(t, processesAlone)
	c := newCheckout(t, "off", plainPhase(1, "head -c 100000000 /dev/zero | tr '\\0' x\necho\necho '<promise>ALL DONE</promise>'\n"))
	mb, stderr, code := peak(c, "run", "--autonomous")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	t.Logf("%.0f MB", mb)
	most := 80.0
	if pace.Race {
		most *= 3
	}
	if mb > most {
		t.Errorf("forge held %.0f MB, want at most %.0f", mb, most)
	}
	logs, _ := filepath.Glob(c.at("state/runs/*/logs/01-1-1.log"))
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	if info, err := os.Stat(logs[0]); err != nil || info.Size() > 40<<20 {
		t.Errorf("the log is not capped: %v, %v", info, err)
	}
}

// What a command does not use is not made ready when it starts: no rooms of ours
// but those of these tests take memory before main, apart from a little.
func TestStartMakesLittleReady(t *testing.T) {
	pace.Sequential(t, "one process that prints what it did")
	const most = 512 << 10
	c := newCheckout(t, "off", map[string]string{"a.txt": "a\n"})
	cmd := c.command(os.Args[0], "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rooms, sum := 0, 0
	for _, line := range strings.Split(string(out), "\n") {
		var name string
		var at, took float64
		var bytes int
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &bytes); n < 4 || !strings.HasPrefix(name, "forge/") || strings.HasPrefix(name, "forge/internal/e2e") {
			continue
		}
		rooms++
		sum += bytes
	}
	if rooms < 5 || sum > most {
		t.Errorf("%d rooms take %d bytes before main, want at most %d:\n%s", rooms, sum, most, out)
	}
}
