package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// timed is how long a command takes that has to end with the given exit code.
func (c *checkout) timed(code int, dir, name string, args ...string) time.Duration {
	c.t.Helper()
	cmd := c.command(name, args...)
	if dir != "" {
		cmd.Dir = c.at(dir)
	}
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		c.t.Fatalf("%s %s: %v, want exit code %d\n%s", name, strings.Join(args, " "), err, code, out)
	}
	return took
}

const (
	planPhases = 200
	planLayer  = 10
)

// noOps is a plan of 200 phases in layers of 10, each of which needs three of
// the layer before, and a Taskfile of the same shape. All of them do nothing,
// by a shell that says so.
func noOps() (files map[string]string, taskfile string) {
	var phases, tasks []string
	for i := range planPhases {
		var needs, deps []string
		if layer := i / planLayer; layer > 0 {
			for k := range 3 {
				need := (layer-1)*planLayer + (i+3*k)%planLayer
				needs = append(needs, fmt.Sprintf("%q", fmt.Sprintf("%03d", need)))
				deps = append(deps, fmt.Sprintf("t%03d", need))
			}
		}
		phases = append(phases, fmt.Sprintf(`{"number":"%03d","name":"p","promise":"P%03d","budget":1,"depends_on":[%s]}`, i, i, strings.Join(needs, ",")))
		tasks = append(tasks, fmt.Sprintf("  t%03d: {run: once, deps: [%s], cmds: [\"./agent.sh\"]}", i, strings.Join(deps, ", ")))
	}
	var last []string
	for i := planPhases - planLayer; i < planPhases; i++ {
		last = append(last, fmt.Sprintf("t%03d", i))
	}
	files = plainPhase(1, "echo \"<promise>P$FORGE_PHASE</promise>\"\n")
	files[".forge/phases.json"] = `{"phases":[` + strings.Join(phases, ",") + `]}`
	files[".forge/forge.toml"] = strings.Replace(files[".forge/forge.toml"], "none = true", `commands = ["true"]`, 1)
	return files, "version: '3'\nsilent: true\ntasks:\n  all: {deps: [" + strings.Join(last, ", ") + "]}\n" + strings.Join(tasks, "\n") + "\n"
}

// BenchmarkPlan: a plan of 200 phases that do nothing, beside go-task with the
// same graph. Forge makes a folder, a snapshot, a verify and a merge for each;
// go-task makes none. scripts/bench.sh installs it.
func BenchmarkPlan(b *testing.B) {
	task := os.Getenv("FORGE_BENCH_TASK")
	if task == "" {
		b.Skip("FORGE_BENCH_TASK does not name go-task; make bench does")
	}
	for range b.N {
		inBenchmark(b, "BenchmarkPlan", func(t *testing.T) {
			files, taskfile := noOps()
			c := newCheckout(t, "off", files)
			c.write("tasks/Taskfile.yml", taskfile)
			c.write("tasks/agent.sh", files["agent.sh"])
			c.must("chmod", "755", c.at("tasks/agent.sh"))
			var floor time.Duration
			const rounds = 5
			for range rounds {
				floor += c.timed(0, "tasks", task, "--concurrency", "4", "all")
			}
			floor /= rounds
			forge := c.timed(0, "", os.Args[0], "run", "--autonomous", "--quiet", "--max-parallel", "4")
			b.ReportMetric(float64(forge)/float64(floor), "×go-task(≤10)")
			b.ReportMetric(float64(forge.Microseconds())/1000/planPhases, "ms/phase")
			b.ReportMetric(float64(floor.Microseconds())/1000/planPhases, "ms/task")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkVersion: how long forge takes to say its version, beside git.
func BenchmarkVersion(b *testing.B) {
	inBenchmark(b, "BenchmarkVersion", func(t *testing.T) {
		c := newCheckout(t, "off", map[string]string{"a.txt": "a\n"})
		// The program itself: the test binary holds the tests as well.
		c.root = t.TempDir()
		build := exec.Command("go", "build", "-o", c.at("forge"), "forge")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		c.write("repo/.keep", "")
		var forge, git time.Duration
		n := 0
		for b.Loop() {
			git += c.timed(0, "", "git", "version")
			forge += c.timed(0, "", c.at("forge"), "version")
			n++
		}
		b.ReportMetric(float64(forge)/float64(git), "×git(≤5)")
		b.ReportMetric(float64(forge.Microseconds())/1000/float64(n), "ms/forge")
		b.ReportMetric(float64(git.Microseconds())/1000/float64(n), "ms/git")
		b.ReportMetric(0, "ns/op")
	})
}
