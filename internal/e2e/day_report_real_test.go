//go:build real && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// line is one thing that is drawn over the day.
type line struct {
	name, unit string
	value      func(sample) float64
}

func dayLines() []line {
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	return []line{
		{"issues done", "", func(s sample) float64 { return float64(s.done) }},
		{"memory of the server", "MB", func(s sample) float64 { return float64(s.rss) }},
		{"open files of the server", "", func(s sample) float64 { return float64(s.files) }},
		{"99 of 100 pages within", "ms", func(s sample) float64 { return ms(s.pages) }},
		{"99 of 100 answers within", "ms", func(s sample) float64 { return ms(s.answers) }},
		{"folders of runs", "", func(s sample) float64 { return float64(s.folders) }},
		{"objects that lie loose", "", func(s sample) float64 { return float64(s.loose) }},
	}
}

// report writes the figures and their plot into docs/.
func (d *day) report(issues, atOnce int) {
	d.t.Helper()
	docs := filepath.Join("..", "..", "docs")
	last := d.samples[len(d.samples)-1]
	var b strings.Builder
	fmt.Fprintf(&b, `# A day of a factory

Written by `+"`make load`, a part of `make soak`"+`. %d issues, %d at once, on %d cores, in %s: scripted agents and reviewers, of which some crash,
say nothing or write into the file that others write to as well; a fifth of the issues come from a tracker behind a
network of which one request in six fails, before or after it was heard; people open a page ten times a second and
answer all that waits; the disk is full three times, and the factory is killed three times and started anew. At its end no issue was lost, landed twice, stuck or left
anything behind: a test asks for that, and for the second half of the day to cost what the first one did.

![What the server held, and how fast it answered](pictures/load.svg)

| | first tenth | half | end | most |
|---|---|---|---|---|
`, issues, atOnce, runtime.NumCPU(), last.at.Round(time.Second))
	for _, l := range dayLines() {
		most := 0.0
		for _, s := range d.samples {
			most = max(most, l.value(s))
		}
		at := func(n int) string { return strings.TrimSpace(fmt.Sprintf("%.0f %s", l.value(d.samples[n]), l.unit)) }
		n := len(d.samples)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f |\n", l.name, at(n/10), at(n/2), at(n-1), most)
	}
	if err := os.WriteFile(filepath.Join(docs, "load.md"), []byte(b.String()), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "pictures", "load.svg"), []byte(d.plot()), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// plot draws each line in a strip of its own, over the same time.
func (d *day) plot() string {
	const width, height, left = 720, 70, 190
	lines := dayLines()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="#fff"/>`+"\n", left+width+20, len(lines)*height+30)
	whole := d.samples[len(d.samples)-1].at.Seconds()
	for n, l := range lines {
		top, most := n*height+10, 1.0
		for _, s := range d.samples {
			most = max(most, l.value(s))
		}
		var points []string
		for _, s := range d.samples {
			points = append(points, fmt.Sprintf("%.1f,%.1f", left+s.at.Seconds()/whole*width, float64(top+height-15)-l.value(s)/most*(height-20)))
		}
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text><text x="8" y="%d" fill="#666">at most %.0f %s</text><line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#ccc"/><polyline fill="none" stroke="#2a6" stroke-width="1.5" points="%s"/>`+"\n",
			top+25, l.name, top+42, most, l.unit, left, left+width, top+height-15, top+height-15, strings.Join(points, " "))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666">0</text><text x="%d" y="%d" fill="#666" text-anchor="end">%.0f min</text></svg>`+"\n", left, len(lines)*height+22, left+width, len(lines)*height+22, whole/60)
	return b.String()
}
