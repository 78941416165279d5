package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
)

// deliverySteps is a phase whose result changes, adds and removes many files.
const deliverySteps = `
[[step]]
phase = "01"
do = [ { run = "for i in $(seq 40); do echo new $i > f$i.txt; mkdir -p d$i; echo more > d$i/g.txt; done; rm -r gone" }, { print = "<promise>BASE DONE</promise>" } ]
`

const deliveryPlan = `{"phases":[{"number":"01","name":"base","promise":"BASE DONE","budget":2}]}`

func newDelivered(t *testing.T) *checkout {
	t.Helper()
	files := map[string]string{
		".forge/forge.toml": killConfig, ".forge/phases.json": deliveryPlan, "script.toml": deliverySteps,
		"a.txt": "a\n", "gone/one.txt": "1\n", "gone/deep/two.txt": "2\n",
	}
	for i := 1; i <= 20; i++ {
		files[fmt.Sprintf("f%d.txt", i)] = fmt.Sprintln("old", i)
	}
	return newCheckout(t, "off", files)
}

// kills is how many moments a test tries: FORGE_KILLS, else few enough for
// every test run.
func kills(few int) int {
	if n, err := strconv.Atoi(os.Getenv("FORGE_KILLS")); err == nil && n > 0 {
		return n
	}
	return few
}

// killAll kills a process and all that it has started, also those with a session
// of their own. They are stopped first, so that none gets away.
func killAll(pid int) {
	stopped := map[int]bool{}
	var stop func(pid int)
	stop = func(pid int) {
		stopped[pid] = true
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, task := range tasks {
			data, _ := os.ReadFile(task)
			for _, word := range strings.Fields(string(data)) {
				if child, err := strconv.Atoi(word); err == nil && !stopped[child] {
					stop(child)
				}
			}
		}
	}
	for n := -1; n != len(stopped); {
		n = len(stopped)
		stop(pid)
	}
	for pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// killedAfter runs forge and kills it with everything that it has started, so
// long after an event of this kind; 0 is never. It returns how long forge went
// on after the event.
func (c *checkout) killedAfter(kind string, wait time.Duration) time.Duration {
	c.t.Helper()
	cmd := c.command(os.Args[0], "run", "--autonomous", "--output", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	begun := time.Time{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == kind {
			begun = time.Now()
			if wait > 0 {
				time.Sleep(wait)
				killAll(cmd.Process.Pid)
			}
		}
	}
	_ = cmd.Wait()
	return time.Since(begun)
}

// A group kill at any moment of a delivery, git's own children included, leaves
// a checkout that resume moves whole.
func TestKillAtDelivery(t *testing.T) {
	pace.Slow(t, "each kill is followed by a whole run")
	pace.Sequential(t, processesAlone)
	if runtime.GOOS != "linux" {
		t.Skip("the children of a process are found in Linux's /proc")
	}
	whole := newDelivered(t)
	span := whole.killedAfter("deliver.started", 0)
	want := whole.outcome()
	if !strings.Contains(want, "d40/g.txt") || strings.Contains(want, "gone/") {
		t.Fatalf("the undisturbed run ended\n%s", want)
	}
	n := kills(2)
	for i := range n {
		t.Run(fmt.Sprintf("moment %d of %d", i+1, n), func(t *testing.T) {
			c := newDelivered(t)
			c.killedAfter("deliver.started", time.Millisecond+time.Duration(i)*span/time.Duration(n))
			if _, stderr, code := c.forge("resume"); code != 0 && !(code == 2 && strings.Contains(stderr, "is completed")) {
				t.Fatalf("resume: exit code %d\n%s", code, stderr)
			}
			c.isMoved(want)
		})
	}
}

// isMoved checks that the result is in the user's checkout, whole, and that
// their git can go on.
func (c *checkout) isMoved(want string) {
	c.t.Helper()
	if got := c.outcome(); got != want {
		c.t.Errorf("the run ended\n%s\nundisturbed it ends\n%s", got, want)
	}
	if got := c.must("git", "status", "--porcelain"); got != "" {
		c.t.Errorf("git status says\n%s", got)
	}
	c.must("git", "commit", "-q", "--allow-empty", "-m", "on")
	found, err := exec.Command("find", c.at("repo/.git"), "-name", "*.lock", "-o", "-name", "forge-move").Output()
	if err != nil || len(found) > 0 {
		c.t.Errorf("left in the repository: %s %v", found, err)
	}
	if _, stderr, code := c.quick("audit", "verify"); code != 0 {
		c.t.Errorf("forge audit verify: exit code %d\n%s", code, stderr)
	}
}
