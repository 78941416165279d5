package e2e

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
[ -e $GIT_INDEX_FILE ] || cp .git/index $GIT_INDEX_FILE
parent=$(git rev-parse -q --verify refs/floor || git rev-parse HEAD)
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

// BenchmarkIteration: iterations of a phase, each of which appends a line to a
// file, in repositories of 2,000 and of 20,000 files, beside the shell loop.
func BenchmarkIteration(b *testing.B) {
	for _, size := range []struct {
		files, iterations int
		most              string
	}{{2_000, benchIterations, "1.5"}, {20_000, 200, "1.3"}} {
		b.Run(fmt.Sprintf("%d files", size.files), func(b *testing.B) {
			for range b.N {
				inBenchmark(b, "BenchmarkIteration", func(t *testing.T) {
					forge, floor := iterations(t, size.files, size.iterations)
					b.ReportMetric(float64(forge)/float64(floor), "×floor(≤"+size.most+")")
					b.ReportMetric(float64(forge.Milliseconds())/float64(size.iterations), "ms/iteration")
					b.ReportMetric(float64(floor.Milliseconds())/float64(size.iterations), "ms/floor-iteration")
					b.ReportMetric(0, "ns/op")
				})
			}
		})
	}
}

// iterations is how long n iterations take Forge, and the shell loop, half of
// which runs before and half after, since other work on the machine comes and
// goes. All begin with a folder that is checked out.
func iterations(t *testing.T, files, n int) (forge, floor time.Duration) {
	c := newCheckout(t, "off", manyFiles(plainPhase(n, appendLine), files))
	c.write("floor.sh", fmt.Sprintf(floorLoop, n/2))
	c.must("git", "clone", "-q", c.at("repo"), c.at("floor"))
	floor = c.timed(0, "floor", "sh", c.at("floor.sh"))
	forge = c.timed(1, "", os.Args[0], "run", "--autonomous", "--quiet")
	return forge, floor + c.timed(0, "floor", "sh", c.at("floor.sh"))
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
