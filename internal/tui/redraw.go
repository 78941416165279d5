package tui

import (
	"fmt"
	"os"
	"strings"
)

// Redraw draws a text over the one before. The terminal keeps its settings, so
// that whatever ends or stops this process leaves it as it was.
type Redraw struct {
	Out   *os.File
	drawn int // lines
}

// Draw draws whole, or what short says where the window is too low for it. The
// last text is drawn whole, for whoever scrolls back.
func (r *Redraw) Draw(whole string, short func() string, last bool) error {
	at := &TTY{Out: r.Out}
	width, height := at.Size()
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	if len(lines) >= height && !last {
		lines = strings.Split(strings.TrimSuffix(short(), "\n"), "\n")
	}
	if most := height - 1; len(lines) > most && !last {
		lines = append(lines[:max(most-1, 0)], fmt.Sprintf("… %d more lines: this window is too low for them", len(lines)-most+1))
	}
	var b strings.Builder
	b.WriteString(SyncBegin)
	if r.drawn > 0 {
		// Of a window that was made lower the top is out of reach.
		fmt.Fprintf(&b, "\r\x1b[%dA", min(r.drawn, max(height-1, 1)))
	}
	for _, line := range lines {
		if !last {
			line = Fit(line, width-1) // a wrapped line would be two
		}
		b.WriteString(line + EraseRight + "\r\n")
	}
	b.WriteString(EraseBelow + SyncEnd)
	r.drawn = len(lines)
	_, err := fmt.Fprint(r.Out, b.String())
	return err
}
