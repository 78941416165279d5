package gates

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// staleOracle looks at the whole history for each iteration anew.
func staleOracle(threshold int, response OnStale, history []bool) []StaleVerdict {
	var out []StaleVerdict
	for i := range history {
		without := 0
		for j := i; j >= 0 && !history[j]; j-- {
			if j < i && out[j] != StaleContinue {
				break // counted already
			}
			without++
		}
		v := StaleContinue
		switch {
		case threshold < 1 || without < threshold:
		case response == AskOnStale:
			v = StaleAsk
		case slices.Contains(out, StalePivot):
			v = StaleStop
		default:
			v = StalePivot
		}
		out = append(out, v)
		if v == StaleStop {
			break
		}
	}
	return out
}

func TestStaleHandlerAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.IntRange(-1, 5).Draw(t, "threshold")
		response := rapid.SampledFrom([]OnStale{PivotThenFail, AskOnStale}).Draw(t, "response")
		history := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, false, true}), 0, 40).Draw(t, "progress")
		h := StaleHandler{Threshold: threshold, OnStale: response}
		var got []StaleVerdict
		for _, progress := range history {
			var v StaleVerdict
			h, v = h.Observe(progress)
			got = append(got, v)
			if v == StaleStop {
				break
			}
		}
		if want := staleOracle(threshold, response, history); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestStaleHandlerStory(t *testing.T) {
	observe := func(h StaleHandler, history string) string {
		var out []string
		for _, c := range history {
			var v StaleVerdict
			h, v = h.Observe(c == '+')
			out = append(out, string(v)[:1])
		}
		return strings.Join(out, "")
	}
	autonomous := NewStaleHandler(preset(t, PresetFull), 3)
	interactive := NewStaleHandler(preset(t, PresetInteractive), 3)
	for _, tt := range []struct {
		name          string
		h             StaleHandler
		history, want string // + progress, - none; c continue, p pivot, s stop, a ask
	}{
		{"pivot, then stop", autonomous, "------", "ccpccs"},
		{"progress restarts the count", autonomous, "--+--+---", "cccccccc" + "p"},
		{"progress does not take the pivot back", autonomous, "---+++---", "ccpccc" + "ccs"},
		{"ask each time", interactive, "---------", "ccaccacca"},
		{"threshold of one", StaleHandler{Threshold: 1, OnStale: PivotThenFail}, "-+-", "pcs"},
		{"off", StaleHandler{OnStale: PivotThenFail}, "-----", "ccccc"},
		{"negative is off", StaleHandler{Threshold: -3, OnStale: PivotThenFail}, "---", "ccc"},
		{"unknown response asks", StaleHandler{Threshold: 1, OnStale: "pivot"}, "--", "aa"},
	} {
		if got := observe(tt.h, tt.history); got != tt.want {
			t.Errorf("%s: %s gives %s, want %s", tt.name, tt.history, got, tt.want)
		}
	}
}

// A level may change while a phase runs; a pivot that was given stays given.
func TestStaleHandlerKeepsThePivotOverALevelChange(t *testing.T) {
	h, first := StaleHandler{Threshold: 1, OnStale: PivotThenFail}.Observe(false)
	h.OnStale = AskOnStale
	h, second := h.Observe(false)
	h.OnStale = PivotThenFail
	_, third := h.Observe(false)
	if first != StalePivot || second != StaleAsk || third != StaleStop {
		t.Errorf("%s, %s, %s, want pivot, ask, stop", first, second, third)
	}
}

// The strategy and the handler say the same at the same moment.
func TestStrategyAgreesWithStaleHandler(t *testing.T) {
	verdict := map[StaleVerdict]Verdict{StaleContinue: Go, StalePivot: Pivot, StaleStop: Stop, StaleAsk: Ask}
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy().Draw(t, "policy")
		h := NewStaleHandler(p, rapid.IntRange(0, 3).Draw(t, "threshold"))
		for _, progress := range rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(t, "progress") {
			f := StaleFacts{Phase: "05", Threshold: h.Threshold, Count: h.Count + 1, Pivoted: h.Pivoted}
			if progress {
				f.Count = 0
			}
			var v StaleVerdict
			h, v = h.Observe(progress)
			if got := For(p).OnNoProgress(f).Verdict; got != verdict[v] {
				t.Fatalf("the strategy says %s, the handler %s, of %+v", got, v, f)
			}
		}
	})
}

func TestProgressTracker(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name     string
		best     float64
		changed  bool
		progress []float64
		want     bool
		wantBest float64
	}{
		{"nothing", 10, false, nil, false, 10},
		{"a change", 10, true, nil, true, 10},
		{"above the best", 10, false, []float64{11}, true, 11},
		{"equal to the best", 10, false, []float64{10}, false, 10},
		{"below the best", 10, false, []float64{9}, false, 10},
		{"a change with a lower report", 10, true, []float64{9}, true, 10},
		{"a first report of zero", 0, false, []float64{0}, false, 0},
		{"the highest of several", 10, false, []float64{20, 60, 5}, true, 60},
		{"all of it", 99, false, []float64{100}, true, 100},
		{"more than all of it", 10, false, []float64{101, math.Inf(1)}, false, 10},
		{"not numbers", 10, false, []float64{nan, -5, math.Inf(-1)}, false, 10},
		{"a number among others", 10, false, []float64{nan, 12, 500}, true, 12},
	} {
		next, got := (ProgressTracker{Best: tt.best}).Observe(tt.changed, tt.progress)
		if got != tt.want || next.Best != tt.wantBest {
			t.Errorf("%s: %v with best %v, want %v with %v", tt.name, got, next.Best, tt.want, tt.wantBest)
		}
	}
}

func TestProgressTrackerAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		iterations := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 0, 5, 10, 50, 100, 101}), 0, 3), 0, 12).Draw(t, "reports")
		var tracker ProgressTracker
		for i, reports := range iterations {
			best := 0.0 // of all earlier iterations
			for _, earlier := range slices.Concat(iterations[:i]...) {
				if earlier <= 100 {
					best = max(best, earlier)
				}
			}
			want := slices.ContainsFunc(reports, func(r float64) bool { return r <= 100 && r > best })
			var got bool
			if tracker, got = tracker.Observe(false, reports); got != want {
				t.Fatalf("iteration %d: %v, want %v", i, got, want)
			}
		}
	})
}

func TestDefaultPivotPrompt(t *testing.T) {
	text := strings.ToLower(DefaultPivotPrompt)
	for _, says := range []string{"iterations", "stop", "root blocker", "fundamentally different approach", "do not repeat"} {
		if !strings.Contains(text, says) {
			t.Errorf("the pivot prompt does not say %q", says)
		}
	}
	if strings.ContainsAny(text, "<>") {
		t.Error("the pivot prompt contains what could be a tag")
	}
}
