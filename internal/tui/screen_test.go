package tui

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// paper is a terminal that keeps everything that scrolled away. It knows what
// a frame uses and fails on anything else.
type paper struct {
	t             *testing.T
	width, height int
	rows          []string // everything, the last height rows are on the screen
	x, y          int      // y counts from the first row ever
	hidden        bool     // the cursor
	other         *paper   // the other screen, while it is shown
}

func newPaper(t *testing.T, width, height int) *paper {
	return &paper{t: t, width: width, height: height, rows: []string{""}}
}

func (p *paper) Write(b []byte) (int, error) {
	s := string(b)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0x1b:
			n = p.escape(s)
		case p.other != nil:
			p.other.put(r)
		default:
			p.put(r)
		}
		s = s[n:]
	}
	return len(b), nil
}

func (p *paper) put(r rune) {
	switch r {
	case '\r':
		p.x = 0
	case '\n':
		p.down()
	default:
		// A wide line goes on in the next row only when its next cell comes.
		if p.x == p.width {
			p.x = 0
			p.down()
		}
		row := []rune(p.rows[p.y])
		for len(row) <= p.x {
			row = append(row, ' ')
		}
		row[p.x] = r
		p.rows[p.y] = string(row)
		p.x++
	}
}

func (p *paper) down() {
	p.y++
	if p.y == len(p.rows) {
		p.rows = append(p.rows, "")
	}
}

func (p *paper) top() int { return max(len(p.rows)-p.height, 0) }

func (p *paper) escape(s string) int {
	end := 2 + strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	seq, q := s[1:end+1], p
	if p.other != nil && !strings.HasPrefix(seq, "[?") {
		q = p.other
	}
	switch {
	case strings.HasSuffix(seq, "m"), strings.HasPrefix(seq, "[?2026"), strings.HasPrefix(seq, "[?2004"):
	case seq == "[?25l":
		p.hidden = true
	case seq == "[?25h":
		p.hidden = false
	case seq == "[?1049h":
		p.other = newPaper(p.t, p.width, p.height)
	case seq == "[?1049l":
		p.other = nil
	case seq == "[H":
		q.x, q.y = 0, q.top()
	case seq == "[K":
		q.cut()
	case seq == "[J":
		q.cut()
		q.rows = q.rows[:q.y+1]
	case strings.HasSuffix(seq, "A"):
		n, err := strconv.Atoi(seq[1 : len(seq)-1])
		if err != nil || n < 1 {
			p.t.Fatalf("not an upward move: %q", seq)
		}
		q.y = max(q.y-n, q.top())
	default:
		p.t.Fatalf("unknown to this terminal: %q", seq)
	}
	return end + 1
}

func (p *paper) cut() {
	if row := []rune(p.rows[p.y]); len(row) > p.x {
		p.rows[p.y] = string(row[:p.x])
	}
}

// text is everything on the paper without what is blank at line ends.
func (p *paper) text() []string {
	out := slices.Clone(p.rows)
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

// wrapped is how a terminal breaks lines.
func wrapped(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		r := []rune(line)
		for len(r) > width {
			out, r = append(out, string(r[:width])), r[width:]
		}
		out = append(out, string(r))
	}
	return out
}

// Whatever is logged, drawn and drawn again: what was logged stands there once
// and in order, with the last block below it, and nothing else.
func TestScreenKeepsWhatWasLogged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		width, height := 10+rng.IntN(30), 6+rng.IntN(10)
		p := newPaper(t, width, height)
		s := &screen{out: p, colour: colorprofile.ANSI}
		if err := s.open(); err != nil {
			t.Fatal(err)
		}
		var logged, block []string
		for range 60 {
			switch rng.IntN(5) {
			case 0, 1:
				line := strings.Repeat("log", rng.IntN(30)) + fmt.Sprint(len(logged))
				logged = append(logged, line)
				half := rng.IntN(len(line))
				fmt.Fprint(s, line[:half])
				fmt.Fprint(s, line[half:]+"\n")
			case 2:
				block = nil
				for range rng.IntN(height) {
					block = append(block, strings.Repeat("b", rng.IntN(width-2))+"|")
				}
			case 3:
				if len(block) > 0 {
					block = slices.Clone(block)
					block[rng.IntN(len(block))] = "changed"
				}
			}
			if err := s.draw(block, width); err != nil {
				t.Fatal(err)
			}
			want := append(wrapped(logged, width), block...)
			if len(block) == 0 {
				want = append(want, "")
			}
			if got := p.text(); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %dx%d: got\n%s\nwant\n%s", seed, width, height, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		fmt.Fprint(s, "the end")
		logged = append(logged, "the end")
		if err := s.close(width); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(s, "!")
		want := wrapped(append(logged[:len(logged)-1], "the end!"), width)
		if got := p.text(); !slices.Equal(got, want) || p.hidden {
			t.Fatalf("seed %d: after the end, got\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A block that a narrower terminal has wrapped is removed as a whole.
func TestFrameAfterTheTerminalShrank(t *testing.T) {
	t.Parallel()
	drawn := []string{strings.Repeat("a", 30), "b", strings.Repeat("c", 15)}
	p := newPaper(t, 10, 20)
	fmt.Fprint(p, "before\r\n"+strings.Join(drawn, "\r\n"))
	fmt.Fprint(p, frame(drawn, []string{"logged"}, []string{"new"}, 10))
	if got, want := p.text(), []string{"before", "logged", "new"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Nothing is written when nothing changed, and little when little did.
func TestFrameWritesTheChange(t *testing.T) {
	t.Parallel()
	block := []string{"first", "second", "third"}
	if got := frame(block, nil, block, 80); got != "" {
		t.Errorf("unchanged: %q", got)
	}
	got := frame(block, nil, []string{"first", "2nd", "third"}, 80)
	if strings.Contains(got, "first") || !strings.Contains(got, "2nd") || strings.Contains(got, EraseBelow) {
		t.Errorf("one line changed: %q", got)
	}
	// Wherever the change is, the cursor ends behind the last line: a terminal
	// that wraps that line takes the cursor along.
	p := newPaper(t, 80, 24)
	fmt.Fprint(p, strings.Join(block, "\r\n")+got)
	if p.x != len("third") || p.y != 2 {
		t.Errorf("the cursor stands at %d, %d", p.x, p.y)
	}
}

// While a page is shown and while the screen rests, what is logged waits; it is
// not lost.
func TestScreenHoldsLogLines(t *testing.T) {
	t.Parallel()
	p := newPaper(t, 40, 10)
	s := &screen{out: p, colour: colorprofile.ANSI}
	steps := []struct {
		do   func() error
		want []string // behind the page, if there is one
		page []string
	}{
		{func() error { return s.draw([]string{"block"}, 40) }, []string{"block"}, nil},
		{func() error { fmt.Fprintln(s, "one"); return s.drawFull([]string{"page", "two"}) }, []string{"block"}, []string{"page", "two"}},
		{func() error { fmt.Fprintln(s, "two"); return s.drawFull([]string{"p"}) }, []string{"block"}, []string{"p"}},
		{func() error { return s.draw([]string{"block"}, 40) }, []string{"one", "two", "block"}, nil},
		{func() error { return s.pause(40) }, []string{"one", "two", ""}, nil},
		{func() error { fmt.Fprintln(s, "three"); return s.draw([]string{"block"}, 40) }, []string{"one", "two", ""}, nil},
		{func() error { return s.drawFull([]string{"page"}) }, []string{"one", "two", ""}, nil},
		{func() error { return s.open() }, []string{"one", "two", ""}, nil},
		{func() error { return s.draw([]string{"block"}, 40) }, []string{"one", "two", "three", "block"}, nil},
		{func() error { fmt.Fprintln(s, "four"); return s.drawFull([]string{"page"}) }, []string{"one", "two", "three", "block"}, []string{"page"}},
		{func() error { return s.close(40) }, []string{"one", "two", "three", "four", ""}, nil},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		var page []string
		if p.other != nil {
			page = p.other.text()
		}
		if got := p.text(); !slices.Equal(got, step.want) || !slices.Equal(page, step.page) {
			t.Fatalf("step %d: %q and page %q, want %q and %q", i, got, page, step.want, step.page)
		}
	}
}

// Without colours, what is drawn has none.
func TestScreenWithoutColours(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, colour: colorprofile.ASCII}
	if err := s.draw([]string{styled(styleBad, "red") + styled(styleStrong, "strong")}, 40); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "\x1b[31m") || !strings.Contains(got, "\x1b[1m") || !strings.Contains(ansi.Strip(got), "redstrong") {
		t.Errorf("got %q", got)
	}
}
