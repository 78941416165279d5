package tui

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// screen is the only writer on a terminal: a block of lines at the bottom that
// is drawn anew in place, and log lines that scroll away above it.
type screen struct {
	out    io.Writer
	colour colorprofile.Profile

	drawing sync.Mutex // held while the terminal takes what is written
	drawn   []string   // the block that stands there
	full    bool       // the terminal's other screen is shown
	paused  bool       // somebody else has the terminal

	waiting sync.Mutex
	above   []string // log lines that are not drawn yet
	part    string   // a line that has no end yet
	closed  bool
}

const (
	SyncBegin  = "\x1b[?2026h" // the terminal shows what follows at once
	SyncEnd    = "\x1b[?2026l"
	cursorHide = "\x1b[?25l"
	cursorShow = "\x1b[?25h"
	pasteOn    = "\x1b[?2004h" // pasted text is told from keys
	pasteOff   = "\x1b[?2004l"
	fullOn     = "\x1b[?1049h"
	fullOff    = "\x1b[H\x1b[J\x1b[?1049l" // emptied first: tmux keeps what does not fit any more
	EraseRight = "\x1b[K"
	EraseBelow = "\x1b[J"
	plainStyle = "\x1b[m"
)

// Write takes log lines. It does not wait for the terminal: they are drawn with
// the next frame. Once the screen is closed they are written at once.
func (s *screen) Write(p []byte) (int, error) {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	if s.closed {
		return s.out.Write(p)
	}
	lines := strings.Split(s.part+string(p), "\n")
	s.part = lines[len(lines)-1]
	s.above = append(s.above, lines[:len(lines)-1]...)
	return len(p), nil
}

func (s *screen) takeAbove() []string {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	above := s.above
	s.above = nil
	return above
}

// open begins to draw, or goes on after a pause.
func (s *screen) open() error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.paused = false
	_, err := io.WriteString(s.out, cursorHide+pasteOn)
	return err
}

// draw shows block below the log lines. No line may be wider than width - 1.
func (s *screen) draw(block []string, width int) error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	return s.put(block, width)
}

func (s *screen) put(block []string, width int) error {
	if s.paused {
		return nil
	}
	text := ""
	if s.full {
		s.full, text = false, fullOff
	}
	block = s.coloured(block)
	if text += frame(s.drawn, s.takeAbove(), block, width); text == "" {
		return nil
	}
	s.drawn = block
	_, err := io.WriteString(s.out, SyncBegin+text+SyncEnd)
	return err
}

// drawFull shows lines alone, on the terminal's other screen; log lines wait.
func (s *screen) drawFull(lines []string) error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.paused {
		return nil
	}
	var b strings.Builder
	b.WriteString(SyncBegin)
	if !s.full {
		s.full = true
		b.WriteString(fullOn)
	}
	b.WriteString("\x1b[H")
	for i, line := range s.coloured(lines) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + plainStyle + EraseRight)
	}
	b.WriteString(EraseBelow + SyncEnd)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// pause removes the block and draws nothing until the screen is opened again;
// what is logged meanwhile waits.
func (s *screen) pause(width int) error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.paused {
		return nil
	}
	err := s.put(nil, width)
	s.paused = true
	if _, werr := io.WriteString(s.out, pasteOff+cursorShow); err == nil {
		err = werr
	}
	return err
}

// close is pause for good: what waits, and what is logged from now on, is
// written as it is.
func (s *screen) close(width int) error {
	err := s.pause(width)
	s.waiting.Lock()
	defer s.waiting.Unlock()
	s.closed = true
	left := strings.Join(append(s.above, s.part), "\n")
	s.above, s.part = nil, ""
	if _, werr := io.WriteString(s.out, left); err == nil {
		err = werr
	}
	return err
}

func (s *screen) coloured(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		var b bytes.Buffer
		// Into memory: cannot fail.
		_, _ = (&colorprofile.Writer{Forward: &b, Profile: s.colour}).WriteString(line)
		out = append(out, b.String())
	}
	return out
}

// frame turns a terminal that shows the lines drawn, with its cursor behind the
// last of them, into one that shows the lines above, which may be of any width,
// and then block. "" when nothing changes.
func frame(drawn, above, block []string, width int) string {
	var b strings.Builder
	same := len(above) == 0 && len(drawn) == len(block)
	rows := 0
	for i, line := range drawn {
		// A terminal that has become narrower wraps what stands there.
		n := rowsOf(line, width)
		rows += n
		same = same && n == 1 && i < len(block)
	}
	if same {
		first := 0
		for first < len(block) && drawn[first] == block[first] {
			first++
		}
		if first == len(block) {
			return ""
		}
	}
	if rows > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", rows-1)
	}
	b.WriteString("\r")
	if !same {
		b.WriteString(EraseBelow)
	}
	for _, line := range above {
		b.WriteString(line + plainStyle + "\r\n")
	}
	for i, line := range block {
		if i > 0 {
			b.WriteString("\r\n")
		}
		// The cursor ends behind the last line, where a wrap would take it along.
		if !same || drawn[i] != line || i == len(block)-1 {
			b.WriteString(line + plainStyle + EraseRight)
		}
	}
	return b.String()
}

// rowsOf is how many rows line takes on a terminal of that width.
func rowsOf(line string, width int) int {
	if w := ansi.StringWidth(line); width > 0 && w > width {
		return (w + width - 1) / width
	}
	return 1
}
