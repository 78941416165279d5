package tui

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"forge/internal/pace"
	"forge/internal/work"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func busyBoard() board {
	return board{
		began: noon.Add(-130 * time.Second),
		spent: spending{tokens: 45_200, usd: 0.12, usdUnknown: true},
		count: phaseCount{done: 3, failed: 1, skipped: 2, running: 3, asked: 1, waiting: 2},
		rows: []phaseRow{
			{number: "03", name: "parser", iteration: "2/5", began: noon.Add(-72 * time.Second), spent: spending{tokens: 12_400, usd: 0.034}, doing: "» edit src/parse.go"},
			{number: "03.1", child: true, name: "measure", iteration: "1/1", began: noon.Add(-2 * time.Second), doing: "measuring"},
			{number: "04", name: "漢字のレキサーを書くという長い名前のフェーズです", iteration: "1/8+", began: noon.Add(-time.Hour), spent: spending{usdUnknown: true, tokensUnknown: true}, doing: strings.Repeat("漢字", 100)},
			{number: "06", name: "docs", iteration: "0/3", began: noon, doing: "the provider is out", until: noon.Add(252 * time.Second), trouble: true},
		},
	}
}

func bare(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

// What a person sees of a run on an ordinary terminal.
func TestBoardShowsTheRun(t *testing.T) {
	t.Parallel()
	want := strings.Join([]string{
		"",
		"03      parser                    2/5  1m12s  12.4k tok  $0.03  » edit src/parse.go",
		"└ 03.1  measure                   1/1     2s                    measuring",
		"04      漢字のレキサーを書くと…  1/8+  1h00m      ? tok     $?  漢字漢字漢字漢字漢字漢字漢字漢字漢…",
		"06      docs                      0/3     0s                    the provider is out; again in 4m12s",
		"3/12 done · 1 failed · 2 skipped · 3 running · 1 for you · 2 waiting  2m10s  45.2k tok  ≥$0.12",
	}, "\n")
	if got := bare(busyBoard().lines(100, 20, noon)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where it is narrow, columns go before the agent's action does; where it is
// low, rows go, and their number is said.
func TestBoardFits(t *testing.T) {
	pace.Sequential(t, "it is drawn in every size, in one goroutine")
	t.Parallel()
	if got := bare(busyBoard().lines(50, 4, noon)); !strings.Contains(got, "03      parser") || !strings.Contains(got, "» edit src/parse.go") ||
		strings.Contains(got, "$0.03") || !strings.Contains(got, "+2 more") {
		t.Errorf("50 columns, 4 rows:\n%s", got)
	}
	if got := bare(busyBoard().lines(200, 6, noon)); !strings.HasSuffix(got, "██████××----▒▒▒▒▒▒▣▣····  3/12 done · 1 failed · 2 skipped · 3 running · 1 for you · 2 waiting  2m10s  45.2k tok  ≥$0.12") {
		t.Errorf("a wide terminal shows the sums:\n%s", got)
	}
	b := busyBoard()
	for len(b.rows) < 64 {
		b.rows = append(b.rows, b.rows...)
	}
	for width := 1; width <= 220; width += 3 {
		for height := 0; height <= 70; height += 5 {
			lines := b.lines(width, height, noon)
			if len(lines) > height {
				t.Fatalf("%dx%d: %d lines", width, height, len(lines))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w >= width && w > 0 {
					t.Fatalf("%dx%d: a line of %d cells: %q", width, height, w, line)
				}
			}
		}
	}
}

// Unknown usage is never shown as none.
func TestSpendingSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()
	n := int64(100)
	for _, c := range []struct {
		s           spending
		tokens, usd string
	}{
		{spending{}, "", ""},
		{spending{tokensUnknown: true, usdUnknown: true}, "? tok", "$?"},
		{spending{tokens: 999, usd: 0.004}, "999 tok", "< $0.01"},
		{spending{tokens: 1000, usd: 0.994}, "1.0k tok", "$0.99"},
		{spending{tokens: 999_949, usd: 0.995}, "999.9k tok", "$0.99"},
		{spending{tokens: 2_000_000, usd: 12.5, tokensUnknown: true, usdUnknown: true}, "≥2.0M tok", "≥$12.50"},
		{spending{tokens: 1}.with(work.Usage{InputTokens: &n}), "1 tok", ""},
		{spending{tokens: 1}.with(work.Usage{InputTokens: &n, OutputTokens: &n}), "201 tok", ""},
	} {
		if c.s.tokenText() != c.tokens || c.s.usdText() != c.usd {
			t.Errorf("%+v: %q and %q, want %q and %q", c.s, c.s.tokenText(), c.s.usdText(), c.tokens, c.usd)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 60 * time.Second: "1m00s", 3599 * time.Second: "59m59s", 3600 * time.Second: "1h00m", 26*time.Hour + 90*time.Second: "26h01m",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
}

// The bar is as wide as it was asked to be, and everything that is done fills it.
func TestBar(t *testing.T) {
	t.Parallel()
	for range 500 {
		c := phaseCount{rand.IntN(9), rand.IntN(3), rand.IntN(3), rand.IntN(2), rand.IntN(5), rand.IntN(2), rand.IntN(9)}
		width := 1 + rand.IntN(40)
		if got := ansi.StringWidth(c.bar(width)); c.total() > 0 && got != width {
			t.Fatalf("%+v: %d cells, want %d", c, got, width)
		}
	}
	if got := ansi.Strip(phaseCount{done: 7}.bar(5)); got != "█████" {
		t.Errorf("all done: %q", got)
	}
}

// What an agent says cannot move the cursor or look like something else.
func TestActionIsHarmless(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"tool": "» a\\x1b[2J b", "text": "a\\x1b[2J b", "verify": "verify: a\\x1b[2J b"} {
		if got := act(work.Activity{Kind: kind, Text: " a\x1b[2J\r\nb "}); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	b := board{rows: []phaseRow{{number: "01", name: "x\x1b[2J\ty", doing: "works"}}}
	if got := bare(b.lines(80, 5, noon)); !strings.Contains(got, "01  x\\x1b[2J y  works") {
		t.Errorf("a phase's name: %q", got)
	}
}
