package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A frame is what stood on a terminal for some time: lines of text with SGR
// sequences, which are all that tmux leaves of a terminal's language.
type frame struct {
	Lines []string
	For   time.Duration
}

// Size of a cell and of the border, in units of the picture.
const (
	cellWidth  = 8.4
	cellHeight = 18
	border     = 14
)

// colours of the sixteen names, as most terminals show them on a dark ground.
var colours = [16]string{
	"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
}

const (
	ground = "#0d1117"
	ink    = "#e6edf3"
)

// style is how a run of letters looks.
type style struct {
	Ink     string
	Ground  string
	Bold    bool
	Faint   bool
	Reverse bool
}

// picture draws frames as one SVG that plays them for ever, in a terminal of
// width by height cells. A line that stands in several frames is drawn once.
// Who has asked for less motion sees the last frame.
func picture(frames []frame, width, height int, title string) string {
	var whole time.Duration
	for _, f := range frames {
		whole += f.For
	}
	w, h := float64(width)*cellWidth+2*border, float64(height)*cellHeight+2*border
	var lines []string // drawn once each
	known := map[string]int{}
	var steps, strip strings.Builder
	var at time.Duration
	for i, f := range frames {
		fmt.Fprintf(&steps, "%s{transform:translateX(-%spx)}", percent(at, whole), number(w*float64(i)))
		at += f.For
		fmt.Fprintf(&strip, `<g transform="translate(%s)">`, number(w*float64(i)))
		for row, line := range f.Lines[:min(len(f.Lines), height)] {
			if strings.TrimSpace(ansi.Strip(line)) == "" {
				continue
			}
			n, ok := known[line]
			if !ok {
				n = len(lines)
				known[line], lines = n, append(lines, drawn(line))
			}
			fmt.Fprintf(&strip, `<use href="#l%d" y="%d"/>`, n, row*cellHeight)
		}
		strip.WriteString("</g>\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img">`+"\n", number(w), number(h), number(w), number(h))
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(title))
	fmt.Fprintf(&b, "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:%s}"+
		"#s{animation:s %ss steps(1,end) infinite}@keyframes s{%s}"+
		"@media (prefers-reduced-motion:reduce){#s{animation:none;transform:translateX(-%spx)}}</style>\n",
		ink, number(whole.Seconds()), steps.String(), number(w*float64(max(len(frames)-1, 0))))
	fmt.Fprintf(&b, `<rect width="%s" height="%s" rx="8" fill="%s"/>`+"\n<defs>\n", number(w), number(h), ground)
	for n, line := range lines {
		fmt.Fprintf(&b, `<g id="l%d">%s</g>`+"\n", n, line)
	}
	fmt.Fprintf(&b, `</defs>`+"\n"+`<svg x="%d" y="%d" width="%s" height="%d"><g id="s">`+"\n%s</g></svg>\n</svg>\n",
		border, border, number(float64(width)*cellWidth), height*cellHeight, strip.String())
	return b.String()
}

// drawn is a line as elements of an SVG, at the top of the picture.
func drawn(line string) string {
	var b strings.Builder
	column := 0
	for _, r := range runs(line) {
		cells := ansi.StringWidth(r.text)
		x := number(float64(column) * cellWidth)
		front, back := r.style.Ink, r.style.Ground
		if r.style.Reverse {
			front, back = or(back, ground), or(front, ink)
		}
		if back != "" {
			fmt.Fprintf(&b, `<rect x="%s" width="%s" height="%d" fill="%s"/>`, x, number(float64(cells)*cellWidth), cellHeight, back)
		}
		if strings.TrimSpace(r.text) != "" {
			// With its length said, it stands in its cells whatever the font.
			fmt.Fprintf(&b, `<text x="%s" y="13" textLength="%s"`, x, number(float64(cells)*cellWidth))
			if front != "" {
				fmt.Fprintf(&b, ` fill="%s"`, front)
			}
			if r.style.Bold {
				b.WriteString(` font-weight="bold"`)
			}
			if r.style.Faint {
				b.WriteString(` opacity=".6"`)
			}
			fmt.Fprintf(&b, `>%s</text>`, escaped(r.text))
		}
		column += cells
	}
	return b.String()
}

type run struct {
	text  string
	style style
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;:]*)m`)

// runs splits a line where its looks change. Whatever else a terminal would act
// on is left out.
func runs(line string) []run {
	var found []run
	var now style
	add := func(text string) {
		if text = strings.Map(visible, ansi.Strip(text)); text != "" {
			found = append(found, run{text, now})
		}
	}
	from := 0
	for _, at := range sgr.FindAllStringSubmatchIndex(line, -1) {
		add(line[from:at[0]])
		now = now.after(line[at[2]:at[3]])
		from = at[1]
	}
	add(line[from:])
	return found
}

func visible(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// after is the style once the numbers of an SGR sequence have acted on it.
func (s style) after(numbers string) style {
	fields := strings.FieldsFunc(numbers, func(r rune) bool { return r == ';' || r == ':' })
	if len(fields) == 0 {
		return style{}
	}
	for i := 0; i < len(fields); i++ {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.Bold = true
		case n == 2:
			s.Faint = true
		case n == 7:
			s.Reverse = true
		case n == 22:
			s.Bold, s.Faint = false, false
		case n == 27:
			s.Reverse = false
		case n >= 30 && n <= 37:
			s.Ink = colours[n-30]
		case n >= 90 && n <= 97:
			s.Ink = colours[n-90+8]
		case n == 39:
			s.Ink = ""
		case n >= 40 && n <= 47:
			s.Ground = colours[n-40]
		case n >= 100 && n <= 107:
			s.Ground = colours[n-100+8]
		case n == 49:
			s.Ground = ""
		case n == 38 || n == 48:
			colour, used := extended(fields[i+1:])
			i += used
			if n == 38 {
				s.Ink = colour
			} else {
				s.Ground = colour
			}
		}
	}
	return s
}

// extended is the colour of "5;N" or "2;R;G;B", and how many fields say it.
func extended(fields []string) (colour string, used int) {
	var values []int
	for _, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			break
		}
		values = append(values, n)
	}
	switch {
	case len(values) >= 2 && values[0] == 5:
		return indexed(values[1]), 2
	case len(values) >= 4 && values[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", values[1]&255, values[2]&255, values[3]&255), 4
	}
	return "", len(values)
}

// indexed is a colour of the 256: the names, a cube of six by six by six, greys.
func indexed(n int) string {
	levels := []int{0, 95, 135, 175, 215, 255}
	switch {
	case n >= 0 && n < 16:
		return colours[n]
	case n >= 16 && n < 232:
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", levels[n/36], levels[n/6%6], levels[n%6])
	case n >= 232 && n < 256:
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	return ""
}

// shortened are frames without those that show the same, none longer than most.
func shortened(frames []frame, most time.Duration) []frame {
	var kept []frame
	for _, f := range frames {
		if n := len(kept); n > 0 && slices.Equal(kept[n-1].Lines, f.Lines) {
			kept[n-1].For += f.For
			continue
		}
		kept = append(kept, f)
	}
	for i := range kept {
		kept[i].For = min(kept[i].For, most)
	}
	return kept
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return "0%"
	}
	return number(100*float64(part)/float64(whole)) + "%"
}

func number(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 3, 64), "0"), ".")
}

func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a builder takes everything
	}
	return b.String()
}
