package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"forge/internal/text"
)

// page shows everything that a question is judged on, on the whole terminal.
type page struct {
	id    string
	text  string // what the checkpoint says
	patch string // the change; coloured
	wait  bool   // for the change
	rows  []string
	top   int
}

func newPage(q question, width int) *page {
	p := &page{id: q.Checkpoint.ID, wait: q.changed()}
	p.text = styled(styleStrong, text.OneLine(q.Checkpoint.Question, 1000)) + "\n"
	if facts := strings.TrimRight(text.Harmless(q.Checkpoint.Facts), "\n"); facts != "" {
		p.text += "\n" + facts + "\n"
	}
	if !q.changed() {
		p.text += "\n" + styled(styleFaint, "Nothing has changed yet.") + "\n"
	}
	p.wrap(width)
	return p
}

func (p *page) loaded(msg pageMsg, width int) {
	p.wait = false
	switch {
	case msg.err != nil:
		p.patch = styled(styleBad, "The change cannot be shown: "+text.OneLine(msg.err.Error(), 1000))
	case strings.TrimSpace(msg.text) == "":
		p.patch = styled(styleFaint, "No file differs.")
	default:
		p.patch = strings.TrimRight(PatchStat(text.Harmless(msg.text)), "\n") + "\n\n" + ColourPatch(text.Harmless(msg.text))
	}
	p.wrap(width)
}

// wrap lays the text out for a terminal of that width.
func (p *page) wrap(width int) {
	text := p.text + "\n" + p.patch
	if p.wait {
		text += styled(styleFaint, "reading the change …")
	}
	p.rows = p.rows[:0]
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		p.rows = append(p.rows, strings.Split(ansi.Hardwrap(line, max(width-1, 1), true), "\n")...)
	}
}

// pressed moves about; true = the person has seen enough.
func (p *page) pressed(key string, height int) bool {
	step := max(height-2, 1)
	switch key {
	case "q", "esc", "d":
		return true
	case "down", "j", "enter":
		p.top++
	case "up", "k":
		p.top--
	case "pgdown", "space", "f", "ctrl+f":
		p.top += step
	case "pgup", "b", "ctrl+b":
		p.top -= step
	case "ctrl+d":
		p.top += step / 2
	case "ctrl+u":
		p.top -= step / 2
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = len(p.rows)
	}
	return false
}

func (p *page) lines(width, height int) []string {
	shown := max(height-1, 1)
	p.top = max(min(p.top, len(p.rows)-shown), 0)
	end := min(p.top+shown, len(p.rows))
	out := append([]string(nil), p.rows[p.top:end]...)
	for len(out) < shown {
		out = append(out, "")
	}
	where := "all"
	if len(p.rows) > shown {
		where = fmt.Sprintf("%d%%", end*100/len(p.rows))
	}
	return append(out, Fit(styled(styleFaint, where+"  space/b: page · ↑/↓ · g/G: begin/end · q: back to the question"), width-1))
}
