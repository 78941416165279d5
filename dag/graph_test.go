package dag

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"forge/internal/pace"
)

var _ = pace.OnlyBeside("the core begins nothing")

// nodes reads "03: 01 02", one node per argument, each of weight 1.
func nodes(lines ...string) []Node[string] {
	var out []Node[string]
	for _, line := range lines {
		key, needs, _ := strings.Cut(line, ":")
		out = append(out, Node[string]{Key: key, Needs: strings.Fields(needs), Weight: 1})
	}
	return out
}

func build(t *testing.T, nodes []Node[string]) *Graph[string] {
	t.Helper()
	g, err := New(nodes)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return g
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		in   []Node[string]
		want Problems[string]
		text string
	}{
		{"cycle of two", nodes("02: 01", "01: 02"),
			Problems[string]{Cycles: [][]string{{"01", "02"}}}, "cycle: 01 → 02 → 01"},
		{"cycle of three, whatever the order of the input", nodes("03: 01", "01: 02", "02: 03"),
			Problems[string]{Cycles: [][]string{{"01", "02", "03"}}}, "cycle: 01 → 02 → 03 → 01"},
		{"the way into and out of a cycle is not part of it", nodes("1", "2: 1 3", "3: 2", "4: 3"),
			Problems[string]{Cycles: [][]string{{"2", "3"}}}, "cycle: 2 → 3 → 2"},
		{"the shortest of entangled cycles", nodes("1: 2", "2: 3", "3: 4 1", "4: 1"),
			Problems[string]{Cycles: [][]string{{"1", "2", "3"}}}, "cycle: 1 → 2 → 3 → 1"},
		{"two cycles, sorted", nodes("7: 8", "8: 7", "1: 2", "2: 1"),
			Problems[string]{Cycles: [][]string{{"1", "2"}, {"7", "8"}}}, "cycle: 1 → 2 → 1\ncycle: 7 → 8 → 7"},
		{"self", nodes("1: 1 1"),
			Problems[string]{Self: []string{"1"}}, "self dependency: 1 → 1"},
		{"duplicate", nodes("1", "1", "1"),
			Problems[string]{Duplicates: []string{"1"}}, "duplicate: 1"},
		{"a duplicate makes no cycle", nodes("1", "2: 1", "1: 2"),
			Problems[string]{Duplicates: []string{"1"}}, "duplicate: 1"},
		{"everything at once", nodes("1: 2 9 9", "2: 1", "3: 3 8", "3: 7"),
			Problems[string]{
				Duplicates: []string{"3"},
				Self:       []string{"3"},
				Unknown:    []Missing[string]{{"1", "9"}, {"3", "8"}, {"3", "7"}},
				Cycles:     [][]string{{"1", "2"}},
			},
			"duplicate: 3\nself dependency: 3 → 3\nunknown dependency: 1 → 9\nunknown dependency: 3 → 8\nunknown dependency: 3 → 7\ncycle: 1 → 2 → 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := New(tt.in)
			var got *Problems[string]
			if !errors.As(err, &got) || g != nil {
				t.Fatalf("New = %v, %v, want no graph and problems", g, err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v\nwant %+v", *got, tt.want)
			}
			if err.Error() != tt.text {
				t.Errorf("text\n%s\nwant\n%s", err, tt.text)
			}
		})
	}
}

func TestNoNodesAreAGraph(t *testing.T) {
	g := build(t, nil)
	if g.Len() != 0 || len(g.Order()) != 0 || len(g.Levels()) != 0 || !g.Frontier().Finished() {
		t.Errorf("Order %v, Levels %v, want nothing and a finished frontier", g.Order(), g.Levels())
	}
}

func TestReadingAGraph(t *testing.T) {
	g := build(t, nodes("4: 2 3 2", "1", "3: 1", "2: 1"))
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("Len", g.Len(), 4)
	check("Keys", g.Keys(), []string{"4", "1", "3", "2"})
	check("Needs with a repetition", g.Needs("4"), []string{"2", "3"})
	check("Dependents", g.Dependents("1"), []string{"3", "2"})
	check("Levels", g.Levels(), [][]string{{"1"}, {"3", "2"}, {"4"}})
	check("Critical", g.Critical("1"), int64(3))
	check("Critical of an unknown key", g.Critical("9"), int64(0))
	check("Needs of an unknown key", g.Needs("9"), []string(nil))
	check("Dependents of an unknown key", g.Dependents("9"), []string(nil))

	g.Keys()[0], g.Needs("4")[0], g.Order()[0] = "x", "x", "x"
	check("Keys after a caller changed a result", g.Keys(), []string{"4", "1", "3", "2"})
	check("Needs after a caller changed a result", g.Needs("4"), []string{"2", "3"})
	check("Order after a caller changed a result", g.Order(), []string{"1", "3", "2", "4"})
}

func TestOrderFollowsTheCriticalPath(t *testing.T) {
	tests := []struct {
		name string
		in   []Node[string]
		want string
	}{
		{"ties keep the input's order", nodes("3", "1", "2"), "3 1 2"},
		{"the longer chain first", nodes("a", "x", "y: x", "z: y"), "x y a z"},
		{"a heavy node far down pulls its chain", []Node[string]{
			{Key: "a", Weight: 5}, {Key: "b", Weight: 1}, {Key: "c", Needs: []string{"b"}, Weight: 9}}, "b c a"},
		{"a negative weight is none", []Node[string]{
			{Key: "a", Weight: -100}, {Key: "b", Weight: -1}, {Key: "c", Needs: []string{"a"}, Weight: 1}}, "a c b"},
		{"weights that overflow stay at the top", []Node[string]{
			{Key: "a", Weight: 2}, {Key: "b", Weight: math.MaxInt64}, {Key: "c", Needs: []string{"b"}, Weight: math.MaxInt64}}, "b c a"},
	}
	for _, tt := range tests {
		if got := strings.Join(build(t, tt.in).Order(), " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestDot(t *testing.T) {
	g := build(t, nodes("02: 01", "01"))
	const plain = "digraph {\n\trankdir=LR;\n\tnode [shape=box];\n" +
		"\t\"02\" [label=\"02\"];\n\t\"01\" [label=\"01\"];\n\t\"01\" -> \"02\";\n}\n"
	if got := g.Dot(nil); got != plain {
		t.Errorf("without labels\n%s\nwant\n%s", got, plain)
	}
	got := g.Dot(func(k string) (string, string) {
		if k == "01" {
			return "", ""
		}
		return `a "b" \n c\` + "\nd\x00\xff", "red"
	})
	want := `"02" [label="a \"b\" \\n c\\\nd\x00\xff", style=filled, fillcolor="red"];`
	want = strings.NewReplacer(`\x00`, `\\x00`, `\xff`, `\\xff`).Replace(want)
	if !strings.Contains(got, want) || !strings.Contains(got, `"01" [label="01"];`) {
		t.Errorf("with labels\n%s\nwant a line\n%s", got, want)
	}
}
