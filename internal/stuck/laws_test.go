package stuck

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyIteration draws from few values, so that much comes again.
func anyIteration() *rapid.Generator[Iteration] {
	few := func(words ...string) *rapid.Generator[string] { return rapid.SampledFrom(words) }
	return rapid.Custom(func(t *rapid.T) Iteration {
		it := Iteration{
			Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0, Changed: rapid.Bool().Draw(t, "changed"),
			Tree: few("A", "B", "C", "").Draw(t, "tree"), Shape: few("x", "y", "").Draw(t, "shape"), Bare: rapid.Bool().Draw(t, "bare"),
			Files: rapid.SliceOfN(few("a", "b"), 0, 2).Draw(t, "files"), Said: few("", "Hm.", "Shall I?", "It is still running.").Draw(t, "said"),
			Progress: rapid.SampledFrom([]float64{0, 0, 0, 10, 50, -1, 200}).Draw(t, "progress"),
			Tested:   rapid.Bool().Draw(t, "tested"), Failing: rapid.SliceOfN(few("T1", "T2"), 0, 2).Draw(t, "failing"),
			Red: few("", "", "r1", "r2").Draw(t, "red"), Steered: rapid.IntRange(0, 9).Draw(t, "steered") == 0,
		}
		if rapid.IntRange(0, 4).Draw(t, "waits") == 0 {
			it.Wait = &Wait{Kind: rapid.SampledFrom(WaitKinds()).Draw(t, "kind"), Alive: rapid.Bool().Draw(t, "alive")}
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			it.Calls = append(it.Calls, Call{Name: few("sh", "edit").Draw(t, "name"), Subject: few("s1", "s2").Draw(t, "subject"), Args: few("1", "2").Draw(t, "args"), Result: few("", "r1", "r2").Draw(t, "result")})
		}
		return it
	})
}

func number(all []Iteration) []Iteration {
	for i := range all {
		all[i].N = i + 1
	}
	return all
}

// lawful says what is wrong with a verdict on a history, "" = nothing.
func lawful(all []Iteration, r Rules) string {
	v, again := Judge(all, r), Judge(slices.Clone(all), r)
	var last Iteration
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	switch {
	case v != again:
		return fmt.Sprintf("judged twice: %+v, %+v", v, again)
	case r.Idle < 1 && v != Verdict{State: Working}:
		return fmt.Sprintf("switched off: %+v", v)
	case v.State == Stuck && (v.Since < 1 || v.Since > last.N || v.Evidence == "" || !slices.Contains(Patterns(), v.Pattern)):
		return fmt.Sprintf("stuck without since, pattern or evidence: %+v", v)
	case v.State != Stuck && (v.Pattern != "" || v.Evidence != ""):
		return fmt.Sprintf("evidence of nothing: %+v", v)
	case last.Wait != nil && last.Wait.Alive && v.State == Stuck:
		return fmt.Sprintf("what is waited for lives: %+v", v)
	case v.State == Waiting && !slices.Contains(WaitKinds(), v.Wait):
		return fmt.Sprintf("waits for nothing: %+v", v)
	case last.Failed && v.State != Working:
		return fmt.Sprintf("judged by a failure: %+v", v)
	}
	return ""
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := number(rapid.SliceOfN(anyIteration(), 0, 25).Draw(t, "history"))
		if wrong := lawful(all, RulesFor(rapid.IntRange(-1, 5).Draw(t, "threshold"))); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// An iteration that brought the phase further is never stuck, and nothing is
// seen as stuck earlier for it.
func TestProgressDelaysTheAlarm(t *testing.T) {
	r := RulesFor(DefaultThreshold)
	rapid.Check(t, func(t *rapid.T) {
		all := number(rapid.SliceOfN(anyIteration(), 1, 20).Draw(t, "history"))
		i := rapid.IntRange(0, len(all)).Draw(t, "place")
		better := Iteration{Changed: true, Tree: "new", Shape: "new", Files: []string{"new"}, Tested: true, Calls: []Call{{Name: "sh", Subject: "new", Args: "new", Result: "new"}}}
		more := number(slices.Insert(slices.Clone(all), i, better))

		if v := Judge(more[:i+1], r); v.State != Working {
			t.Fatalf("progress is %+v", v)
		}
		before, _ := alarm(all, r)
		after, v := alarm(more, r)
		if after != 0 && (before == 0 || after < before) {
			t.Fatalf("stuck at %d, without the progress at %d: %+v", after, before, v)
		}
	})
}

// Waits that are known to live change nothing of what is seen beside them.
func TestWaitsAreTransparent(t *testing.T) {
	r := RulesFor(DefaultThreshold)
	rapid.Check(t, func(t *rapid.T) {
		all := number(rapid.SliceOfN(anyIteration(), 1, 15).Draw(t, "history"))
		i := rapid.IntRange(0, len(all)-1).Draw(t, "place")
		more := number(slices.Insert(slices.Clone(all), i, Iteration{Wait: &Wait{Kind: WaitCI, Alive: true}, Tree: "A"}))
		if slices.ContainsFunc(all, func(it Iteration) bool {
			return it.Wait == nil && (it.Said == "Shall I?" || it.Said == "It is still running.")
		}) {
			return // a known wait ends a row of words
		}
		a, b := Judge(all, r), Judge(more, r)
		if a.State != b.State || a.Pattern != b.Pattern {
			t.Fatalf("%+v, with a wait in between %+v", a, b)
		}
	})
}

// Where nothing but changed and unchanged is known, the rule is the old one:
// so many iterations in a row without a change.
func TestOldFactsOldRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.IntRange(1, 5).Draw(t, "threshold")
		row, tree := 0, 0
		var all []Iteration
		for i, changed := range rapid.SliceOfN(rapid.Bool(), 1, 30).Draw(t, "changed") {
			row++
			if changed {
				row, tree = 0, tree+1
			}
			all = append(all, Iteration{N: i + 1, Changed: changed, Tree: fmt.Sprint(tree)})
			if got, want := Judge(all, RulesFor(threshold)).State == Stuck, row >= threshold; got != want {
				t.Fatalf("iteration %d of %+v: stuck %v, want %v", i+1, all, got, want)
			}
		}
	})
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte("0123456789"), 3)
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255}, 1)
	f.Fuzz(func(t *testing.T, data []byte, threshold int) {
		if len(data) > 200 {
			return
		}
		var all []Iteration
		for i, b := range data {
			it := Iteration{
				N: i + 1, Failed: b == 7, Changed: b&1 > 0, Tree: fmt.Sprint(b & 6), Shape: fmt.Sprint(b & 24), Bare: b&32 > 0,
				Tested: b&64 > 0, Failing: []string{fmt.Sprint(b & 3)}, Said: []string{"", "?", "pending", "x"}[b>>6], Steered: b == 9,
			}
			if b&128 > 0 {
				it.Wait = &Wait{Kind: WaitProcess, Alive: b&16 > 0}
			}
			all = append(all, it)
		}
		if wrong := lawful(all, RulesFor(threshold%20)); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

func FuzzSubject(f *testing.F) {
	f.Add("sed -n 1,50p a.go | head; ls")
	f.Fuzz(func(t *testing.T, args string) {
		if again := Subject(Subject(args)); again != Subject(again) {
			t.Errorf("Subject is not steady: %q, %q", again, Subject(again))
		}
		Steady(args)
	})
}
