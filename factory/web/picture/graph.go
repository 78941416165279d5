package picture

import (
	"fmt"
	"html/template"
	"strings"

	"forge/internal/text"
)

// Node is one box of a graph.
type Node struct {
	ID    string
	Label string
	Note  string // a second line, as "3 of 8 iterations"
	State State
	Word  string // of the state, as a person reads it
	Href  string // "" = the box is no link; the caller says where it leads
	Needs []string
	Sub   bool // a part of what it needs, drawn with a broken line
	Long  bool // on the longest chain that is left
}

// State is how a box looks. A word beside it says the same.
type State string

// The states of a box. One that is not among them looks like waiting.
const (
	Waiting State = "waiting"
	Running State = "running"
	Asked   State = "asked" // a person is asked
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// sign is what tells the state beside its colour.
func (s State) sign() string {
	switch s {
	case Running:
		return "▶"
	case Asked:
		return "?"
	case Done:
		return "✓"
	case Failed:
		return "✗"
	case Skipped:
		return "»"
	}
	return "○"
}

func (s State) class() string {
	switch s {
	case Running, Asked, Done, Failed, Skipped:
		return string(s)
	}
	return string(Waiting)
}

// MaxNodes is how many boxes a graph may have to be drawn; a table says more
// about a larger one.
const MaxNodes = 400

// Graph draws the nodes and what each needs, from left to right; "" when there
// are none or more than MaxNodes. name and about are what a screen reader says.
func Graph(name, about string, nodes []Node) template.HTML {
	if len(nodes) == 0 || len(nodes) > MaxNodes {
		return ""
	}
	d := layout(nodes)
	var c canvas
	c.add(`<svg class="graph" xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><desc>%s</desc>`,
		d.width, d.height, d.width, d.height, name, name, about+sentence(nodes))
	c.WriteString(`<g class="edges">`)
	for _, a := range d.arrows {
		class := "edge"
		if a.sub {
			class = "edge edge-sub"
		}
		from, to := nodes[a.from], nodes[a.to]
		if from.Long && to.Long {
			class += " edge-long"
		}
		c.add(`<path class="%s" data-from="%s" data-to="%s" d="%s"/>`, class, from.ID, to.ID, d.path(a))
	}
	c.WriteString(`</g>`)
	for i, n := range nodes {
		c.box(n, &d.places[d.at[i]])
	}
	c.WriteString(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // every text was escaped by add
}

// sentence says the graph in words.
func sentence(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, " %s %s: %s.", n.ID, n.Label, n.Word)
		if len(n.Needs) > 0 {
			fmt.Fprintf(&b, " After %s.", strings.Join(n.Needs, ", "))
		}
		if n.Long {
			b.WriteString(" On the longest chain that is left.")
		}
	}
	return b.String()
}

func (c *canvas) box(n Node, p *place) {
	class := n.State.class()
	if n.Long {
		class += " node-long"
	}
	c.add(`<g class="node node-%s" data-node="%s">`, class, n.ID)
	if n.Href != "" {
		c.add(`<a href="%s" aria-label="%s">`, n.Href, n.ID+" "+n.Label+": "+n.Word)
	}
	c.add(`<title>%s</title>`, n.ID+" "+n.Label+": "+n.Word+" "+n.Note)
	c.add(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, p.x, p.y, boxWidth, boxHeight)
	c.add(`<text class="sign" x="%d" y="%d">%s</text>`, p.x+10, p.y+24, n.State.sign())
	c.add(`<text class="label" x="%d" y="%d">%s</text>`, p.x+30, p.y+24, text.OneLine(n.ID+" "+n.Label, 22))
	c.add(`<text class="note" x="%d" y="%d">%s</text>`, p.x+10, p.y+46, text.OneLine(strings.TrimSpace(n.Word+"  "+n.Note), 30))
	if n.Href != "" {
		c.WriteString(`</a>`)
	}
	c.WriteString(`</g>`)
}

// path is an arrow's way: out of a box on the right, into one on the left,
// straight where it passes a column.
func (d *drawing) path(a arrow) string {
	var b strings.Builder
	for i, at := range a.through {
		p := &d.places[at]
		y := p.y + p.height()/2
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%d %d", p.x+boxWidth, y)
			continue
		case i == len(a.through)-1:
			fmt.Fprintf(&b, " C%d %d %d %d %d %d", p.x-columnGap/2, d.leave(a, i), p.x-columnGap/2, y, p.x, y)
			fmt.Fprintf(&b, " M%d %d L%d %d L%d %d", p.x-7, y-4, p.x, y, p.x-7, y+4)
			continue
		}
		fmt.Fprintf(&b, " C%d %d %d %d %d %d L%d %d", p.x-columnGap/2, d.leave(a, i), p.x-columnGap/2, y, p.x, y, p.x+boxWidth, y)
	}
	return b.String()
}

// leave is the height at which an arrow leaves the place before i.
func (d *drawing) leave(a arrow, i int) int {
	p := &d.places[a.through[i-1]]
	return p.y + p.height()/2
}
