package stuckeval

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/stuck"
)

// TestForgeRuleHolds is the promise about the rule that runs are watched by.
func TestForgeRuleHolds(t *testing.T) {
	for seed := range uint64(3) {
		cases := Made(seed+1, 6)
		forge, ten := Measure(Forge(stuck.DefaultThreshold), cases), Measure(Rules(stuck.DefaultThreshold)[2], cases)
		if ten.Rule != "ten iterations" {
			t.Fatal(ten.Rule)
		}
		if *forge.Precision.Rate < 0.95 || *forge.Recall.Rate < 0.85 || forge.Waiting.Hits > 0 || *forge.Delay > 4 {
			t.Errorf("seed %d: precision %.3f, recall %.3f, %d of those that wait, delay %.1f\nmissed %v\nwrong %v",
				seed+1, *forge.Precision.Rate, *forge.Recall.Rate, forge.Waiting.Hits, *forge.Delay, forge.Missed, forge.Wrong)
		}
		if !Apart(forge.Precision, ten.Precision) || !Apart(forge.Recall, ten.Recall) {
			t.Errorf("seed %d: the intervals of precision or recall overlap with those of ten iterations: %+v, %+v", seed+1, forge, ten)
		}
	}
}

// The rules are not tuned to one threshold: its neighbours hold as well.
func TestNeighbourThresholds(t *testing.T) {
	cases := Made(9, 4)
	for _, threshold := range []int{4, 5} {
		s := Measure(Forge(threshold), cases)
		if s.Waiting.Hits > 0 || *s.Precision.Rate < 0.95 || *s.Recall.Rate < 0.85 {
			t.Errorf("threshold %d: precision %.3f, recall %.3f, waiting %d, wrong %v", threshold, *s.Precision.Rate, *s.Recall.Rate, s.Waiting.Hits, s.Wrong)
		}
	}
}

func TestMadeCasesAreCases(t *testing.T) {
	cases := Made(1, 2)
	if !reflect.DeepEqual(cases, Made(1, 2)) || reflect.DeepEqual(cases, Made(2, 2)) {
		t.Error("the seed does not decide")
	}
	dir := t.TempDir()
	var lines strings.Builder
	families := map[string]bool{}
	for _, c := range cases {
		families[c.Family] = true
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if len(families) != len(Families()) {
		t.Errorf("%d families, want %d", len(families), len(Families()))
	}
	name := filepath.Join(dir, "made.jsonl")
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := Measure(Forge(3), cases), Measure(Forge(3), again); !reflect.DeepEqual(a, b) {
		t.Errorf("read again they measure otherwise: %+v, %+v", a, b)
	}
}

// TestMeasure counts by hand: one hit, one that is missed, one early alarm, one
// wrong alarm each on what works and what waits.
func TestMeasure(t *testing.T) {
	sequence := func(id string, label stuck.State, onset, n int) Case {
		c := Case{ID: id, Label: label, Onset: &onset}
		for i := range n {
			c.Iterations = append(c.Iterations, Written{N: i + 1, Outcome: "ok"})
		}
		return c
	}
	rule := Rule{"five", func(h []stuck.Iteration) bool { return len(h) >= 5 }}
	s := Measure(rule, []Case{
		sequence("hit", stuck.Stuck, 3, 8), sequence("missed", stuck.Stuck, 1, 4), sequence("early", stuck.Stuck, 6, 8),
		sequence("works", stuck.Working, 1, 6), sequence("works too", stuck.Working, 1, 3), sequence("waits", stuck.Waiting, 1, 9),
	})
	got := fmt.Sprintf("%d/%d %d/%d early %d working %d/%d waiting %d/%d delay %v %v %v", s.Precision.Hits, s.Precision.Of, s.Recall.Hits, s.Recall.Of,
		s.Early, s.Working.Hits, s.Working.Of, s.Waiting.Hits, s.Waiting.Of, *s.Delay, s.Missed, s.Wrong)
	if want := "1/4 1/3 early 1 working 1/2 waiting 1/1 delay 3 [missed] [early works waits]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestBounds(t *testing.T) {
	table := Compare(Made(1, 2), stuck.DefaultThreshold)
	one, none, half := 1.0, 0, 0.5
	if failed := table.Broken(Bounds{MinPrecision: &one, MinRecall: &half, MaxWaiting: &none}); len(failed) > 0 {
		t.Error(failed)
	}
	if failed := table.Broken(Bounds{MaxDelay: &one}); len(failed) != 1 || !strings.Contains(failed[0], "median delay") {
		t.Error(failed)
	}
	nothing := Compare([]Case{{ID: "a", Label: stuck.Working, Iterations: []Written{{N: 1, Outcome: "ok"}}}}, 3)
	if failed := nothing.Broken(Bounds{MinPrecision: &half, MinRecall: &half, MaxDelay: &one}); len(failed) != 3 {
		t.Errorf("what is not known does not break its bound: %v", failed)
	}
	for _, want := range []string{"RULE", "\nforge ", "\nten iterations ", "42 stuck, 28 working, 18 waiting", "1.00 (0.92 to 1.00)"} {
		if text := table.Text(); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestReadSaysAllThatIsWrong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bad.jsonl")
	lines := `{"id":"a","label":"stuck","iterations":[{"n":1,"outcome":"ok"}]}
nonsense

{"id":"a","label":"idle","onset":9,"iterations":[{"n":2,"outcome":"maybe","wait":{"kind":"rain"}}]}
{"label":"working","iterations":[]}
`
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(name)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{
		":1: onset is missing", ":2: is no case: invalid character", `:4: label "idle" is none of`, ":4: iteration 1 has n = 2", ":4: onset 9 is no iteration",
		`:4: iteration 2 waits for "rain"`, `outcome "maybe"`, "bad.jsonl:1 too", ":5: id is missing", ":5: iterations is empty",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "gone"), t.TempDir()} {
		if _, err := Read(path); err == nil {
			t.Errorf("%s holds cases", path)
		}
	}
}
