package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"forge/internal/text"
)

// Styles are the terminal's own sixteen colours, which its owner chose to be
// read on its background.
const (
	styleStrong = "1"
	styleFaint  = "2"
	styleBad    = "31"
	styleGood   = "32"
	styleWarn   = "33"
	styleBusy   = "36"
)

func styled(style, text string) string {
	if style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[m"
}

// Fit cuts text to a width in cells; what may be styled stays so.
func Fit(text string, width int) string {
	return ansi.Truncate(text, max(width, 0), "…")
}

// pad fills text with spaces up to a width in cells.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}

// lines is the block for a terminal of that width: at most height lines, each
// narrower than width. The last one is the run's progress. Where there is room
// an empty line parts it from what was logged.
func (b board) lines(width, height int, now time.Time) []string {
	if height < 1 {
		return nil
	}
	var out []string
	rows := b.rows
	if len(rows)+2 <= height {
		out = append(out, "")
	}
	hidden := 0
	if room := height - 1; len(rows) > room {
		// One line says how many are not shown.
		shown := max(room-1, 0)
		hidden = len(rows) - shown
		rows = rows[:shown]
	}
	out = append(out, rowLines(rows, width-1, now)...)
	if hidden > 0 && height > 1 {
		out = append(out, Fit(styled(styleFaint, fmt.Sprintf("+%d more", hidden)), width-1))
	}
	return append(out, b.progress(width-1, now))
}

// rowLayout is what of a row there is room for.
type rowLayout struct {
	name                 int // its most cells
	elapsed, tokens, usd bool
}

// rowLines lays rows out in columns; where the width does not suffice, columns
// are left out before the agent's action is.
func rowLines(rows []phaseRow, width int, now time.Time) []string {
	layouts := []rowLayout{
		{24, true, true, true}, {14, true, true, true}, {14, true, false, true}, {12, true, false, false}, {10, false, false, false}, {},
	}
	for i, c := range layouts {
		cells, action := layOut(rows, c, now), width
		for j := range cells {
			action = min(action, width-ansi.StringWidth(cells[j]))
		}
		if action < 24 && i < len(layouts)-1 {
			continue
		}
		for j, r := range rows {
			style := ""
			if r.trouble {
				style = styleWarn
			}
			cells[j] = strings.TrimRight(Fit(cells[j]+styled(style, Fit(r.action(now), action)), width), " ")
		}
		return cells
	}
	return nil
}

// layOut is everything of the rows but the action, padded to one width.
func layOut(rows []phaseRow, c rowLayout, now time.Time) []string {
	out := make([]string, len(rows))
	column := func(style string, left bool, most int, text func(phaseRow) string) {
		width := 0
		texts := make([]string, len(rows))
		for i, r := range rows {
			texts[i] = Fit(text(r), most)
			width = max(width, ansi.StringWidth(texts[i]))
		}
		for i, t := range texts {
			if left {
				t = pad(t, width)
			} else {
				t = padLeft(t, width)
			}
			if width > 0 {
				out[i] += styled(style, t) + "  "
			}
		}
	}
	column(styleStrong, true, 12, func(r phaseRow) string {
		if r.child {
			return "└ " + r.number
		}
		return r.number
	})
	column("", true, c.name, func(r phaseRow) string { return text.OneLine(r.name, 200) })
	column(styleBusy, false, 12, func(r phaseRow) string { return r.iteration })
	if c.elapsed {
		column(styleFaint, false, 12, func(r phaseRow) string { return elapsed(r.began, now) })
	}
	if c.tokens {
		column(styleFaint, false, 12, func(r phaseRow) string { return r.spent.tokenText() })
	}
	if c.usd {
		column(styleFaint, false, 14, func(r phaseRow) string { return r.spent.usdText() })
	}
	return out
}

func (r phaseRow) action(now time.Time) string {
	if r.until.IsZero() {
		return r.doing
	}
	return fmt.Sprintf("%s; again in %s", r.doing, clock(max(r.until.Sub(now), 0)))
}

// progress is the line that says how far the graph has come.
func (b board) progress(width int, now time.Time) string {
	c := b.count
	var parts []string
	add := func(n int, style, word string) {
		if n > 0 {
			parts = append(parts, styled(style, fmt.Sprintf("%d %s", n, word)))
		}
	}
	parts = append(parts, fmt.Sprintf("%d/%d done", c.done, c.total()))
	add(c.failed, styleBad, "failed")
	add(c.skipped, styleWarn, "skipped")
	add(c.cancelled, styleWarn, "cancelled")
	add(c.running, styleBusy, "running")
	add(c.asked, styleWarn, "for you")
	add(c.waiting, styleFaint, "waiting")
	if b.stopping != "" {
		parts = append([]string{styled(styleWarn, "stopping: "+text.OneLine(b.stopping, 80))}, parts...)
	}
	text := strings.Join(parts, styled(styleFaint, " · "))
	for _, more := range []string{elapsed(b.began, now), b.spent.tokenText(), b.spent.usdText()} {
		if longer := text + "  " + styled(styleFaint, more); more != "" && ansi.StringWidth(longer) <= width {
			text = longer
		}
	}
	if room := width - ansi.StringWidth(text) - 2; room >= 6 {
		text = c.bar(min(room, 24)) + "  " + text
	}
	return Fit(text, width)
}

// bar draws the counts in width cells. The marks differ without colours too.
func (c phaseCount) bar(width int) string {
	total := max(c.total(), 1)
	var b strings.Builder
	sum, at := 0, 0
	for _, part := range []struct {
		n           int
		style, mark string
	}{
		{c.done, styleGood, "█"}, {c.failed, styleBad, "×"}, {c.skipped + c.cancelled, styleWarn, "-"},
		{c.running, styleBusy, "▒"}, {c.asked, styleWarn, "▣"}, {c.waiting, styleFaint, "·"},
	} {
		sum += part.n
		end := sum * width / total
		b.WriteString(styled(part.style, strings.Repeat(part.mark, end-at)))
		at = end
	}
	return b.String()
}

func elapsed(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return clock(max(now.Sub(since), 0))
}

// clock is a duration to the second, in at most two units.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// tokenText and usdText say what is known, and a "?" where some of it is not:
// unknown is never shown as nothing.
func (s spending) tokenText() string {
	text := ""
	switch {
	case s.tokens >= 999_950:
		text = fmt.Sprintf("%.1fM tok", float64(s.tokens)/1e6)
	case s.tokens >= 1000:
		text = fmt.Sprintf("%.1fk tok", float64(s.tokens)/1e3)
	case s.tokens > 0:
		text = fmt.Sprintf("%d tok", s.tokens)
	}
	return unsure(text, s.tokensUnknown, "? tok")
}

func (s spending) usdText() string {
	said := ""
	if s.usd > 0 {
		said = text.USD(s.usd)
	}
	return unsure(said, s.usdUnknown, "$?")
}

func unsure(text string, unknown bool, nothing string) string {
	switch {
	case !unknown:
		return text
	case text == "":
		return nothing
	}
	return "≥" + text
}
