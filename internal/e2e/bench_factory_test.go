package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkFiftyRuns prints what a server holds at most while it drives fifty
// runs at once, and how often it wakes up, and uses the processor, when idle.
func BenchmarkFiftyRuns(b *testing.B) {
	const runs = 50
	for b.Loop() {
		c := benchHall(b, runs)
		cmd := c.command(os.Args[0], "factory", "--listen", "off", "--max-runs", strconv.Itoa(runs))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		most := 0
		for patience := time.Now().Add(3 * time.Minute); c.counted("done") < runs; time.Sleep(200 * time.Millisecond) {
			most = max(most, c.counted("running"))
			if time.Now().After(patience) {
				b.Fatalf("%d of %d are done\n%s", c.counted("done"), runs, &stderr)
			}
		}
		held := procStatus(b, cmd.Process.Pid, "VmHWM") / 1024
		wakes, ticks := wakeUps(b, cmd.Process.Pid), cpuTicks(b, cmd.Process.Pid)
		const idle = 5 * time.Second
		time.Sleep(idle)
		wakes, ticks = wakeUps(b, cmd.Process.Pid)-wakes, cpuTicks(b, cmd.Process.Pid)-ticks
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		b.ReportMetric(float64(held), "MB")
		b.ReportMetric(float64(most), "at-once")
		b.ReportMetric(float64(wakes)/idle.Seconds(), "wakes/s-idle")
		b.ReportMetric(float64(ticks)*10/idle.Seconds(), "ms-cpu/s-idle")
		if held > 400 {
			b.Errorf("the server held %d MB, more than 400", held)
		}
		if most < runs {
			b.Logf("at most %d were seen under way at once", most)
		}
	}
}

// benchHall is a project with as many ready issues as may run at once, whose
// scripted agents all work for a while together.
func benchHall(b *testing.B, runs int) *checkout {
	b.Helper()
	var script strings.Builder
	for n := range runs {
		fmt.Fprintf(&script, "[[step]]\nphase = \"thing%d\"\ndo = [{ sleep = \"25s\" }, { write = \"%d.txt\", content = \"1\\n\" }, { print = \"<promise>ISSUE %d DONE</promise>\" }]\n", n+1, n+1, n+1)
	}
	config := fmt.Sprintf("[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \"script.toml\"\n[factory]\ndefault_policy = \"end_to_end\"\nmax_running = %d\ntriage = \"off\"\n[verify]\ncommands = [\"test -f start.txt\"]\n", runs)
	c := newCheckout(b, "off", map[string]string{"start.txt": "here\n", "script.toml": script.String(), ".forge/forge.toml": config})
	for n := range runs {
		if _, stderr, code := c.forge("issue", "add", fmt.Sprintf("thing%d", n+1), "--column", "ready"); code != 0 {
			b.Fatal(stderr)
		}
	}
	return c
}

// counted is how many issues are done, or running.
func (c *checkout) counted(what string) int {
	if what == "running" {
		out, _, _ := c.forge("factory", "status", "--output", "json")
		_, list, _ := strings.Cut(out, `"running": [`)
		list, _, _ = strings.Cut(list, "]")
		return len(strings.FieldsFunc(list, func(r rune) bool { return r < '0' || r > '9' }))
	}
	out, _, _ := c.forge("issue", "list", "--column", "done", "--limit", "1", "--output", "json")
	_, n, _ := strings.Cut(out, `"count": `)
	n, _, _ = strings.Cut(n, ",")
	done, _ := strconv.Atoi(n)
	return done
}

func procStatus(b *testing.B, pid int, field string) int {
	b.Helper()
	return statusField(b, fmt.Sprintf("/proc/%d/status", pid), field)
}

// wakeUps is how often the threads of a process went to sleep so far.
func wakeUps(b *testing.B, pid int) (n int) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range threads {
		n += statusField(b, path, "voluntary_ctxt_switches")
	}
	return n
}

func statusField(b *testing.B, path, field string) int {
	b.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.Skip("the system does not tell what a process holds: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == field {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("no %s in %s", field, path)
	return 0
}

// cpuTicks are the hundredths of a second that a process has used.
func cpuTicks(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}
