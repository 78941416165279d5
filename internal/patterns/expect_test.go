package patterns

import (
	"slices"
	"testing"
	"time"
)

func TestExpect(t *testing.T) {
	parser := past("a", "add a flag to the command line parser", 9, 9)
	engine := past("a", "rewrite the storage engine on pages", 9, 9)
	for i := range engine {
		engine[i].Time *= 60
	}
	both := slices.Concat(parser, engine)
	for name, tt := range map[string]struct {
		p    Planned
		past []Phase
		want time.Duration
	}{
		"like the quick ones":         {Planned{About: "add a flag to the parser of the command line", Budget: 20}, both, 5 * time.Second},
		"like the slow ones":          {Planned{About: "rewrite the storage engine", Budget: 20}, both, 5 * time.Minute},
		"like none, of twice as much": {Planned{About: "something else", Budget: 40}, parser, 10 * time.Second},
		"of too few":                  {Planned{About: "something else", Budget: 40}, parser[:Few-1], 0},
		"of those that failed":        {Planned{About: "something else", Budget: 40}, past("a", "x", 9, 0), 0},
		"of less than a second":       {Planned{About: "something else", Budget: 1}, parser, time.Second},
	} {
		if got := Expect(tt.p, tt.past); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
