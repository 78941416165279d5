package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inBenchmark lets a benchmark use what is made for tests.
func inBenchmark(b *testing.B, name string, do func(t *testing.T)) {
	b.Helper()
	if !testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: name, F: do}}) {
		b.Fatal(name + " failed")
	}
}

const benchIterations = 1000

// floor is the shell loop that starts the same agent and takes the same
// snapshot by git plumbing, with as many waits for the disk.
const floorLoop = `
export GIT_INDEX_FILE=$PWD/../floor.index
batch="-c core.fsync=loose-object -c core.fsyncMethod=batch"
git read-tree HEAD
parent=$(git rev-parse HEAD)
i=0
while [ $i -lt %d ]; do
	./agent.sh </dev/null
	git $batch add -A
	tree=$(git $batch write-tree)
	git diff-tree -r -z --raw --no-renames $parent $tree >/dev/null
	parent=$(git -c core.fsync=loose-object commit-tree $tree -p $parent -m x </dev/null)
	git update-ref refs/floor $parent
	echo "iteration $i" >> ../floor.journal; sync -d ../floor.journal
	i=$((i+1))
done
`

// manyFiles adds n files to a plan.
func manyFiles(files map[string]string, n int) map[string]string {
	for i := range n {
		files[fmt.Sprintf("src/d%02d/f%04d.txt", i%40, i)] = fmt.Sprintf("file %d\n", i)
	}
	return files
}

// BenchmarkIteration: 1,000 iterations of a phase, each of which appends a line
// to a file, in a repository of 2,000 files, beside the shell loop.
func BenchmarkIteration(b *testing.B) {
	for range b.N {
		inBenchmark(b, "BenchmarkIteration", func(t *testing.T) {
			c := newCheckout(t, "off", manyFiles(plainPhase(benchIterations, appendLine), 2000))
			c.write("floor.sh", fmt.Sprintf(floorLoop, benchIterations))
			c.must("git", "clone", "-q", c.at("repo"), c.at("floor"))
			begin := time.Now()
			if _, stderr, code := c.forge("run", "--autonomous", "--quiet"); code != 1 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			forge := time.Since(begin)
			begin = time.Now()
			loop := c.command("sh", c.at("floor.sh"))
			loop.Dir = c.at("floor")
			if out, err := loop.CombinedOutput(); err != nil {
				t.Fatalf("the floor: %v\n%s", err, out)
			}
			floor := time.Since(begin)
			b.ReportMetric(float64(forge)/float64(floor), "×floor(≤1.5)")
			b.ReportMetric(float64(forge.Milliseconds())/benchIterations, "ms/iteration")
			b.ReportMetric(float64(floor.Milliseconds())/benchIterations, "ms/floor-iteration")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkTurnaround: from the agent's exit to its next start.
func BenchmarkTurnaround(b *testing.B) {
	for range b.N {
		inBenchmark(b, "BenchmarkTurnaround", func(t *testing.T) {
			c := newCheckout(t, "off", manyFiles(plainPhase(200, "date +%s%N >> \"$HOME/times\"\n"+appendLine+"date +%s%N >> \"$HOME/times\"\n"), 2000))
			if _, stderr, code := c.forge("run", "--autonomous", "--quiet"); code != 1 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			text, err := os.ReadFile(c.at("home/times"))
			if err != nil {
				t.Fatal(err)
			}
			var gaps []float64
			lines := strings.Fields(string(text))
			for i := 1; i+1 < len(lines); i += 2 {
				end, err1 := strconv.ParseInt(lines[i], 10, 64)
				start, err2 := strconv.ParseInt(lines[i+1], 10, 64)
				if err1 != nil || err2 != nil {
					t.Fatalf("the agent wrote %q", lines[i:i+2])
				}
				gaps = append(gaps, float64(start-end)/1e6)
			}
			slices.Sort(gaps)
			b.ReportMetric(gaps[len(gaps)/2], "ms-median")
			b.ReportMetric(gaps[len(gaps)*95/100], "ms-p95(≤100)")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMemory: what forge itself holds while agents flood it.
func BenchmarkMemory(b *testing.B) {
	b.Run("64 phases of 10 MB", func(b *testing.B) {
		for range b.N {
			inBenchmark(b, "BenchmarkMemory", func(t *testing.T) {
				files := plainPhase(1, "yes 'a line of text that an agent prints' | head -c 10000000\necho '<promise>'$FORGE_PHASE'</promise>'\n")
				var phases []string
				for i := range 64 {
					phases = append(phases, fmt.Sprintf(`{"number":"%02d","name":"p%02d","promise":"%02d","budget":1}`, i+1, i+1, i+1))
				}
				files[".forge/phases.json"] = `{"phases":[` + strings.Join(phases, ",") + `]}`
				c := newCheckout(t, "off", files)
				mb, stderr, code := peak(c, "run", "--autonomous", "--quiet", "--max-parallel", "64")
				if code != 0 {
					t.Fatalf("exit code %d\n%s", code, stderr)
				}
				b.ReportMetric(mb, "MB(≤200)")
			})
		}
	})
	b.Run("1 GB", func(b *testing.B) {
		for range b.N {
			inBenchmark(b, "BenchmarkMemory", func(t *testing.T) {
				c := newCheckout(t, "off", plainPhase(1, "yes 'a line of text that an agent prints' | head -c 1000000000\necho '<promise>ALL DONE</promise>'\n"))
				mb, stderr, code := peak(c, "run", "--autonomous", "--quiet")
				if code != 0 {
					t.Fatalf("exit code %d\n%s", code, stderr)
				}
				b.ReportMetric(mb, "MB(≤80)")
			})
		}
	})
}
