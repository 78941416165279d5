//go:build real && linux

package temporal

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
)

// scaled is what so many runs at once take.
type scaled struct {
	runs           int
	took, bare     time.Duration
	worker, server int // MB afterwards
}

func (s scaled) ratio() float64 { return s.bare.Seconds() / s.took.Seconds() }

// A thousand runs of agents that do nothing, all at once on two workers, are as fast as
// 0.7 of bare workflows with the same activities on the same server; how it grows to that
// is drawn with FORGE_SCALE_WRITE=1.
func TestRealTemporalScale(t *testing.T) {
	pace.Slow(t, "some thousand workflows")
	s := server(t)
	_, port, _ := strings.Cut(s.FrontendHostPort(), ":")
	m := measure(t, s, "one", "two")
	_, activities, events := m.run()
	m.bare(activities)
	sizes := []int{10, 30, 100, 300, 1000}
	sizes = sizes[:pace.Few(2, len(sizes))]
	var all []scaled
	for _, n := range sizes {
		one := scaled{runs: n}
		one.took = atOnce(n, m.drive)
		one.bare = atOnce(n, func() { m.bare(activities) })
		one.worker, one.server = residentMB(t, "self"), residentMB(t, pidOf(t, port))
		all = append(all, one)
		t.Logf("%d runs: %.1f a second, bare %.1f (%.2f ×), %d and %d MB", n, float64(n)/one.took.Seconds(), float64(n)/one.bare.Seconds(), one.ratio(), one.worker, one.server)
	}
	if last := all[len(all)-1]; last.runs == 1000 && last.ratio() < 0.7 {
		t.Errorf("%d runs at once are %.2f × as fast as bare workflows, want 0.7", last.runs, last.ratio())
	}
	if os.Getenv("FORGE_SCALE_WRITE") != "" && !t.Failed() {
		writeScale(t, all, activities, events)
	}
}

// residentMB is the memory of a process.
func residentMB(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1024
}

// pidOf is the process of the server at that port.
func pidOf(t *testing.T, port string) string {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		if said, _ := os.ReadFile(file); bytes.Contains(said, []byte("start-dev")) && bytes.Contains(said, []byte("\x00"+port+"\x00")) {
			return filepath.Base(filepath.Dir(file))
		}
	}
	t.Fatal("the server is not found")
	return ""
}

// writeScale writes table and plot into docs/.
func writeScale(t *testing.T, all []scaled, activities, events int) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# Many runs on Temporal

Written by `+"`make scale`, a part of `make soak`"+`, on %d cores. Runs of two phases whose agents do nothing (%d activities, %d events of
history: %d for each iteration), all begun at once on two workers, beside bare workflows of as many activities on the same server, which is
Temporal's development server with nothing but its memory. Server and workers share the machine, so that it is the
work of all of them that bounds it.

![Runs in a second, from 10 to 1,000 at once](pictures/scale.svg)

| runs at once | runs in a second | bare workflows in a second | Forge / bare | memory of both workers, with what drives the runs | memory of the server |
|---|---|---|---|---|---|
`, runtime.NumCPU(), activities, events, events/2)
	for _, s := range all {
		fmt.Fprintf(&b, "| %d | %.1f | %.1f | %.2f | %d MB | %d MB |\n", s.runs, float64(s.runs)/s.took.Seconds(), float64(s.runs)/s.bare.Seconds(), s.ratio(), s.worker, s.server)
	}
	docs := filepath.Join("..", "..", "..", "..", "docs")
	if err := os.WriteFile(filepath.Join(docs, "scale.md"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "pictures", "scale.svg"), []byte(plotScale(all)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plotScale draws runs in a second over runs at once, which grow by factors.
func plotScale(all []scaled) string {
	const width, height, left, top = 640, 260, 60, 20
	most := 1.0
	for _, s := range all {
		most = max(most, float64(s.runs)/s.took.Seconds(), float64(s.runs)/s.bare.Seconds())
	}
	first, last := float64(all[0].runs), float64(all[len(all)-1].runs)
	x := func(n int) float64 { return left + math.Log(float64(n)/first)/math.Log(last/first)*width }
	y := func(n int, took time.Duration) float64 { return top + height - float64(n)/took.Seconds()/most*height }
	var forge, bare, marks strings.Builder
	for _, s := range all {
		fmt.Fprintf(&forge, "%.1f,%.1f ", x(s.runs), y(s.runs, s.took))
		fmt.Fprintf(&bare, "%.1f,%.1f ", x(s.runs), y(s.runs, s.bare))
		fmt.Fprintf(&marks, `<text x="%.1f" y="%d" text-anchor="middle" fill="#666">%d</text>`+"\n", x(s.runs), top+height+18, s.runs)
	}
	end := all[len(all)-1]
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="#fff"/>
<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#ccc"/><text x="8" y="%d" fill="#666">%.0f/s</text><text x="8" y="%d" fill="#666">0</text>
%s<polyline fill="none" stroke="#888" stroke-width="1.5" stroke-dasharray="4 3" points="%s"/><polyline fill="none" stroke="#2a6" stroke-width="2" points="%s"/>
<text x="%.1f" y="%.1f">bare</text><text x="%.1f" y="%.1f" fill="#2a6">Forge</text></svg>
`, left+width+60, top+height+30, left, left+width, top+height, top+height, top+10, most, top+height, marks.String(), bare.String(), forge.String(),
		x(end.runs)+6, y(end.runs, end.bare), x(end.runs)+6, y(end.runs, end.took))
}
