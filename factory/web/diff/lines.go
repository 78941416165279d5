package diff

import "strings"

// Line is a line of a text that was changed.
type Line struct {
	What string // "" = as before, "ins", "del", "gap" = lines that stayed are left out
	Text string
}

// around is how many lines that stayed are shown on each side of a change.
const around = 2

// Lines compares two texts by lines: what changed, with a few lines around it.
// Nothing where they are the same.
func Lines(before, after string) []Line {
	if before == after {
		return nil
	}
	a, b := wholeLines(before), wholeLines(after)
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}

	var all []Line
	for _, l := range a[:head] {
		all = append(all, Line{"", l})
	}
	old, now := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(old) > maxBlocks || len(now) > maxBlocks {
		for _, l := range old {
			all = append(all, Line{"del", l})
		}
		for _, l := range now {
			all = append(all, Line{"ins", l})
		}
	} else {
		for _, s := range script(old, now) {
			all = append(all, Line{s.what, s.text})
		}
	}
	for _, l := range a[len(a)-tail:] {
		all = append(all, Line{"", l})
	}
	return near(all)
}

// near leaves out what stayed and is not near a change.
func near(all []Line) (out []Line) {
	shown := make([]bool, len(all))
	for n, l := range all {
		if l.What == "" {
			continue
		}
		for at := max(0, n-around); at <= min(len(all)-1, n+around); at++ {
			shown[at] = true
		}
	}
	for n, l := range all {
		switch {
		case shown[n]:
			out = append(out, l)
		case n == 0 || shown[n-1]:
			out = append(out, Line{What: "gap"})
		}
	}
	return out
}

// wholeLines keeps line ends, so that one that is missing is a difference.
func wholeLines(text string) (out []string) {
	for l := range strings.Lines(text) {
		out = append(out, l)
	}
	return out
}
