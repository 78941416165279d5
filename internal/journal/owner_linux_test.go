package journal

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 8 9"
	for stat, want := range map[string]struct {
		ticks int64
		state processState
	}{
		"1 (forge) S" + rest:      {777, processRuns},
		"1 (a) Z 1 1 1) R" + rest: {777, processRuns},
		"1 () \n (x) S" + rest:    {777, processRuns},
		"1 (forge) Z" + rest:      {0, processGone},
		"1 (forge) X" + rest:      {0, processGone},
		"1 (forge) S 1 1":         {0, processUnknown},
		"":                        {0, processUnknown},
		strings.ReplaceAll("1 (f) S"+rest, "777", "x"): {0, processUnknown},
	} {
		if ticks, state := parseStat([]byte(stat)); ticks != want.ticks || state != want.state {
			t.Errorf("%q: %d, %d, want %+v", stat, ticks, state, want)
		}
	}
}

// Whatever a process calls itself, its start is found.
func FuzzParseStat(f *testing.F) {
	f.Add("forge", int64(777))
	f.Add(") Z 1 (", int64(0))
	f.Fuzz(func(t *testing.T, name string, ticks int64) {
		stat := fmt.Sprintf("1 (%s) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %d 8 9\n", name, ticks)
		if got, state := parseStat([]byte(stat)); got != ticks || state != processRuns {
			t.Errorf("%q: %d, %d", stat, got, state)
		}
		parseStat([]byte(name)) // anything: no panic
	})
}
