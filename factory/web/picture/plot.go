package picture

import (
	"html/template"
	"math"

	"forge/internal/text"
)

// Bar is one bar of a plot. A nil value is unknown: said, and never drawn as
// nothing.
type Bar struct {
	Label string
	Value *float64
	Text  string // the value as a person reads it
	// Most is how long the bar could be, as a share that is full at 1; 0 = the
	// longest of all bars.
	Most float64
}

// The measures of plots, in pixels.
const (
	plotWidth  = 640
	barHeight  = 22
	barGap     = 8
	barLabel   = 190
	barText    = 110
	lineHeight = 180
)

// Bars draws one bar below the other; "" when there are none.
func Bars(name, about string, bars []Bar) template.HTML {
	if len(bars) == 0 {
		return ""
	}
	longest := 0.0
	for _, b := range bars {
		longest = math.Max(longest, b.full())
	}
	height := len(bars)*(barHeight+barGap) + barGap
	var c canvas
	c.open(name, about, height)
	for i, b := range bars {
		y := barGap + i*(barHeight+barGap)
		c.add(`<g class="bar-row"><title>%s</title>`, b.Label+": "+b.Text)
		c.add(`<text class="label" x="0" y="%d">%s</text>`, y+16, text.OneLine(b.Label, 26))
		room := float64(plotWidth - barLabel - barText)
		if v := known(b.Value); v != nil && longest > 0 {
			c.add(`<rect class="bar-room" x="%d" y="%d" width="%d" height="%d"/>`, barLabel, y, int(room), barHeight)
			c.add(`<rect class="bar" x="%d" y="%d" width="%d" height="%d"/>`, barLabel, y, int(room*math.Min(*v/longest, 1)), barHeight)
		} else {
			c.add(`<rect class="bar-unknown" x="%d" y="%d" width="%d" height="%d"/>`, barLabel, y, int(room), barHeight)
		}
		c.add(`<text class="value" x="%d" y="%d">%s</text></g>`, plotWidth-barText+8, y+16, text.OneLine(b.Text, 18))
	}
	c.WriteString(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // every text was escaped by add
}

func (b Bar) full() float64 {
	if b.Most > 0 {
		return b.Most
	}
	if v := known(b.Value); v != nil {
		return *v
	}
	return 0
}

// known is v, or nil where it is no number that can be drawn.
func known(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0 {
		return nil
	}
	return v
}

// Columns draws values in the order of time, one column each, with the first
// and the last label below; "" when there are none.
func Columns(name, about string, bars []Bar) template.HTML {
	if len(bars) == 0 {
		return ""
	}
	longest := 0.0
	for _, b := range bars {
		longest = math.Max(longest, b.full())
	}
	const top, floor = 14, lineHeight - 22
	var c canvas
	c.open(name, about, lineHeight)
	c.add(`<line class="axis" x1="0" y1="%d" x2="%d" y2="%d"/>`, floor, plotWidth, floor)
	width := float64(plotWidth) / float64(len(bars))
	for i, b := range bars {
		x := float64(i) * width
		c.add(`<g class="bar-row"><title>%s</title>`, b.Label+": "+b.Text)
		switch v := known(b.Value); {
		case v == nil:
			c.add(`<rect class="bar-unknown" x="%.1f" y="%d" width="%.1f" height="%d"/>`, x+1, top, math.Max(width-2, 1), floor-top)
		case longest > 0:
			high := (floor - top) * *v / longest
			c.add(`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x+1, floor-high, math.Max(width-2, 1), high)
		}
		c.WriteString(`</g>`)
	}
	c.add(`<text class="value" x="0" y="%d">%s</text>`, lineHeight-4, text.OneLine(bars[0].Label, 24))
	if len(bars) > 1 {
		c.add(`<text class="value end" x="%d" y="%d">%s</text>`, plotWidth, lineHeight-4, text.OneLine(bars[len(bars)-1].Label, 24))
	}
	c.WriteString(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // every text was escaped by add
}

func (c *canvas) open(name, about string, height int) {
	c.add(`<svg class="plot" xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><desc>%s</desc>`,
		plotWidth, height, plotWidth, height, name, name, about)
}
