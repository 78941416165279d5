package dag

import (
	"fmt"
	"strings"

	"forge/internal/text"
)

// Dot returns the graph in the language of Graphviz, with arrows from what is
// needed to what needs it. label gives a node's text and fill color; an empty
// text or a nil label stands for the key, an empty color for none. The same
// graph and labels give the same bytes.
func (g *Graph[K]) Dot(label func(K) (text, color string)) string {
	var b strings.Builder
	b.WriteString("digraph {\n\trankdir=LR;\n\tnode [shape=box];\n")
	for v, k := range g.keys {
		var text, color string
		if label != nil {
			text, color = label(k)
		}
		if text == "" {
			text = fmt.Sprint(k)
		}
		fmt.Fprintf(&b, "\t%s [label=%s", g.dotID(v), dotQuote(text))
		if color != "" {
			fmt.Fprintf(&b, ", style=filled, fillcolor=%s", dotQuote(color))
		}
		b.WriteString("];\n")
	}
	for v := range g.keys {
		for _, d := range g.dependents[v] {
			fmt.Fprintf(&b, "\t%s -> %s;\n", g.dotID(v), g.dotID(d))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func (g *Graph[K]) dotID(v int) string { return dotQuote(fmt.Sprint(g.keys[v])) }

// dotQuote writes s as a double-quoted string. Inside one the lexer of Graphviz
// knows only \", and labels read a backslash as the start of an escape, so that
// both are escaped; a line break is the escape \n. What nobody sees and
// broken UTF-8 end the file early or are refused, and are spelled out.
func dotQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text.Harmless(s) {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
