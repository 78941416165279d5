package picture

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGraphIsAsItWas(t *testing.T) {
	got := string(Graph("Plan", "Five phases.", []Node{
		{ID: "01", Label: "scaffold", State: Done, Word: "done", Href: "#p-01"},
		{ID: "02", Label: "parser", State: Running, Word: "iterate", Note: "2 of 8", Needs: []string{"01"}, Long: true},
		{ID: "03", Label: "printer with a very long name indeed", State: Failed, Word: "failed", Needs: []string{"01"}},
		{ID: "03.1", Label: "part", State: Asked, Word: "asked", Needs: []string{"03"}, Sub: true},
		{ID: "04", Label: "<end>", State: Skipped, Word: "skipped", Needs: []string{"02", "03", "01"}, Long: true},
	}))
	const golden = "testdata/graph.svg.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the graph changed; look at it and run with -update\n got %s\nwant %s", got, want)
	}
}

// TestGraphHoldsItsNodes is the law of the layout: no two boxes share a place,
// no arrow crosses a box, every box and arrow is drawn, everything points to
// the right, and the same nodes give the same bytes.
func TestGraphHoldsItsNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := anyNodes(t)
		d := layout(nodes)
		type box struct{ x, y, w, h int }
		var boxes []box
		for i := range nodes {
			p := d.places[d.at[i]]
			boxes = append(boxes, box{p.x, p.y, boxWidth, boxHeight})
			if p.x < 0 || p.y < 0 || p.x+boxWidth > d.width || p.y+boxHeight > d.height {
				t.Fatalf("node %d stands outside of the picture", i)
			}
		}
		for i, a := range boxes {
			for j, b := range boxes[:i] {
				if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
					t.Fatalf("boxes %d and %d overlap", i, j)
				}
			}
		}
		var drawn, wanted []string
		for _, a := range d.arrows {
			drawn = append(drawn, fmt.Sprint(a.from, ">", a.to))
			for i := 1; i < len(a.through); i++ {
				if d.places[a.through[i]].column != d.places[a.through[i-1]].column+1 {
					t.Fatalf("an arrow leaves out a column")
				}
			}
			for _, at := range a.through[1 : len(a.through)-1] {
				y := d.places[at].y + passHeight/2
				for i, b := range boxes {
					if b.x == d.places[at].x && y >= b.y && y <= b.y+b.h {
						t.Fatalf("an arrow crosses box %d", i)
					}
				}
			}
		}
		for i, list := range edges(nodes) {
			for _, j := range list {
				wanted = append(wanted, fmt.Sprint(j, ">", i))
			}
		}
		slices.Sort(drawn)
		slices.Sort(wanted)
		if !slices.Equal(drawn, wanted) {
			t.Fatalf("drawn %v, wanted %v", drawn, wanted)
		}
		one, two := Graph("g", "", nodes), Graph("g", "", nodes)
		if one != two {
			t.Fatal("the same nodes give two pictures")
		}
		if n := strings.Count(string(one), `class="box"`); n != len(nodes) {
			t.Fatalf("%d boxes of %d", n, len(nodes))
		}
		if n := strings.Count(string(one), `<path class="edge`); n != len(wanted) {
			t.Fatalf("%d arrows of %d", n, len(wanted))
		}
		wellFormed(t, one)
	})
}

// anyNodes makes plans, and now and then what no plan is.
func anyNodes(t *rapid.T) []Node {
	n := rapid.IntRange(1, 25).Draw(t, "n")
	wild := rapid.Bool().Draw(t, "wild")
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{ID: fmt.Sprint(i), Label: rapid.String().Draw(t, "label"), Word: "w"}
		most := i
		if wild {
			most = n + 1
		}
		for range rapid.IntRange(0, 4).Draw(t, "needs") {
			if most > 0 {
				nodes[i].Needs = append(nodes[i].Needs, fmt.Sprint(rapid.IntRange(0, most-1).Draw(t, "need")))
			}
		}
	}
	return nodes
}

func TestACircleIsDrawnAllTheSame(t *testing.T) {
	got := Graph("g", "", []Node{{ID: "a", Needs: []string{"b", "a", "gone"}}, {ID: "b", Needs: []string{"a", "a"}}})
	if n := strings.Count(string(got), `class="edge"`); n != 1 {
		t.Errorf("%d arrows, want the one that closes no circle:\n%s", n, got)
	}
}

func TestNothingAndTooMuchAreNoPicture(t *testing.T) {
	if got := Graph("g", "", nil) + Bars("b", "", nil) + Columns("c", "", nil); got != "" {
		t.Errorf("nothing is drawn as %q", got)
	}
	if got := Graph("g", "", make([]Node, MaxNodes+1)); got != "" {
		t.Error("a graph beyond the limit is drawn")
	}
}

func TestHostileTextStaysText(t *testing.T) {
	bad := "\"><script>alert(1)</script>\u202e\x01' onload='x"
	v := 1.0
	for name, got := range map[string]template.HTML{
		"graph": Graph(bad, bad, []Node{{ID: bad, Label: bad, Note: bad, State: State(bad), Word: bad, Href: "#" + bad}, {ID: "b", Needs: []string{bad}}}),
		"bars":  Bars(bad, bad, []Bar{{Label: bad, Value: &v, Text: bad}}),
		"cols":  Columns(bad, bad, []Bar{{Label: bad, Value: &v, Text: bad}, {Label: bad, Text: bad}}),
	} {
		wellFormed(t, got)
		if strings.Contains(string(got), "<script") || strings.Contains(string(got), "\u202e") {
			t.Errorf("%s holds what was to be text: %s", name, got)
		}
	}
}

// fataler is what the two kinds of tests have in common.
type fataler interface {
	Fatalf(format string, args ...any)
}

// wellFormed reads the picture as XML, which knows no mercy.
func wellFormed(t fataler, svg template.HTML) {
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
			return
		}
		if e, ok := tok.(xml.StartElement); ok {
			if e.Name.Local == "script" {
				t.Fatalf("a script: %s", svg)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" {
					t.Fatalf("attribute %s: %s", a.Name.Local, svg)
				}
			}
		}
	}
}

func TestUnknownIsNotNought(t *testing.T) {
	nought, some := 0.0, 4.0
	for name, draw := range map[string]func(string, string, []Bar) template.HTML{"bars": Bars, "columns": Columns} {
		got := string(draw("n", "", []Bar{{Label: "a", Value: &nought, Text: "0"}, {Label: "b", Text: "unknown"}, {Label: "c", Value: &some, Text: "4"}}))
		if strings.Count(got, "bar-unknown") != 1 || strings.Count(got, `class="bar"`) != 2 {
			t.Errorf("%s: %s", name, got)
		}
		wellFormed(t, template.HTML(got))
	}
}
