package gates

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckSpawn(t *testing.T) {
	with := func(name string, axes map[string]any) Policy {
		p, problems := preset(t, name).With(axes)
		if problems != nil {
			t.Fatal(problems)
		}
		return p
	}
	everything := map[string]any{
		"auto_advance": []any{"intent"}, "consent": []any{}, "confidence_floor": 0.0, "irreversibility_max": "high", "regret_max": "high",
		"pause_on_risk_amplifier": false, "contexts": []any{"user_invocation"}, "tier_floor": "local_fast", "tier_ceiling": "user",
		"budget_usd": 9.0, "combined_inference": true,
		"gates": map[string]any{"final": "auto", "ckpt.report": "auto", "subphase": "auto", "promote": "auto"}, "on_stale": "pivot_then_fail",
	}
	tests := []struct {
		name               string
		child, parent      Policy
		violations, others string
	}{
		{"the same", preset(t, "guided"), preset(t, "guided"), "", ""},
		{"down", preset(t, "hands_off"), preset(t, "end_to_end"), "", ""},
		{"up", preset(t, "end_to_end"), preset(t, "plan_then_review"), "auto_advance consent", "final blocker ckpt.question promote"},
		{"down on one axis, up on another", with("dependent", map[string]any{"budget_usd": 0.6}), preset(t, "full"), "budget_usd", ""},
		{"combined inference is free", with("full", map[string]any{"combined_inference": true}), preset(t, "full"), "", ""},
		{
			"everything", with("hands_off", everything), with("hands_off", map[string]any{"action_kinds": []any{}}),
			"auto_advance consent confidence_floor irreversibility_max regret_max pause_on_risk_amplifier action_kinds contexts tier_floor tier_ceiling budget_usd",
			"final stale subphase ckpt.report promote on_stale",
		},
		{"an unused level above", preset(t, "interactive"), preset(t, "manual"), "consent budget_usd", ""},
	}
	for _, tt := range tests {
		s := CheckSpawn(tt.child, tt.parent)
		others := strings.Join(s.Others, " ")
		if tt.name == "an unused level above" {
			others = "" // the gates are another row's business
			if !slices.Contains(s.Others, "phase.start") {
				t.Errorf("what starts unasked is not named: %v", s.Others)
			}
			tt.violations = "auto_advance consent budget_usd"
		}
		if got := strings.Join(s.Violations, " "); got != tt.violations || others != tt.others {
			t.Errorf("%s: %s | %s, want %s | %s", tt.name, got, others, tt.violations, tt.others)
		}
		if s.Allowed() != (len(s.Violations)+len(s.Others) == 0) || s.Violations == nil || s.Others == nil {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
	d := CheckSpawn(preset(t, "full"), preset(t, "plan_then_review")).Decision("full", "plan_then_review")
	if d.Verdict != Reject || d.Facts != "full below plan_then_review" || d.Reason != "the child is freer on auto_advance, consent, final, blocker, ckpt.question, promote" || len(d.Failed) != 6 {
		t.Errorf("%+v", d)
	}
	explains(t, d)
	d = CheckSpawn(preset(t, "manual"), preset(t, "full")).Decision("manual", "full")
	explains(t, d)
	if d.Verdict != Go {
		t.Errorf("%+v", d)
	}
	if s := CheckSpawn(preset(t, "full")); s.Allowed() {
		t.Error("spawned below nothing")
	}
	// Every parent binds, not only the nearest.
	if s := CheckSpawn(preset(t, "full"), preset(t, "hands_off"), preset(t, "full")); s.Allowed() {
		t.Error("spawned past its grandparent")
	}
}

// A spawn is allowed exactly when the child is freer on no axis, and what is
// refused is still bound when it is stored all the same.
func TestCheckSpawnAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		child := anyPolicy().Draw(t, "child")
		parents := rapid.SliceOfN(anyPolicy(), 1, 5).Draw(t, "parents")
		var want []string
		bound := parents[0]
		for _, p := range parents[1:] {
			bound = Meet(bound, p)
		}
		want = freer(child, bound)
		s := CheckSpawn(child, parents...)
		if s.Allowed() != (len(want) == 0) {
			t.Fatalf("allowed %v, freer on %v", s.Allowed(), want)
		}
		stored := MeetAll(append(slices.Clone(parents), child)...)
		for _, p := range parents {
			if axes := freer(stored, p); len(axes) > 0 {
				t.Fatalf("the stored child is freer than a parent on %v", axes)
			}
		}
		target, pr := rapid.SampledFrom(Targets()).Draw(t, "target"), anyProposal().Draw(t, "proposal")
		if stored.Confirm(target, pr).Verdict == Advance {
			for _, p := range append(parents, child) {
				if p.Confirm(target, pr).Verdict != Advance {
					t.Fatal("the chain advances what one of it surfaces")
				}
			}
		}
	})
}

func TestMeetAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain := rapid.SliceOfN(anyPolicy(), 1, 6).Draw(t, "chain")
		got := MeetAll(chain...)
		shuffled := rapid.Permutation(chain).Draw(t, "order")
		if other := MeetAll(shuffled...); !reflect.DeepEqual(got, other) {
			t.Fatalf("the order of a chain counts: %+v and %+v", got, other)
		}
		if again := MeetAll(append(slices.Clone(chain), chain...)...); !reflect.DeepEqual(got, again) {
			t.Fatalf("repeating a chain counts: %+v and %+v", got, again)
		}
	})
	for _, axis := range MeetAll().Values() {
		if axis.Gate && axis.Value != "human" {
			t.Errorf("the meet of nothing is free at %s", axis.Name)
		}
	}
}

// The work of bounding a chain grows with its length, not faster: the memory
// that it asks for is counted, since time cannot be held honestly here.
func TestMeetOfAChainIsLinear(t *testing.T) {
	chain, names := make([]Policy, 320), Catalogue{}.Names()
	for i := range chain {
		chain[i], _ = Preset(names[i%len(names)])
	}
	allocs := func(n int) float64 { return testing.AllocsPerRun(20, func() { MeetAll(chain[:n]...) }) }
	for _, n := range []int{40, 320} {
		if per, first := allocs(n)/float64(n), allocs(10)/10; per > 1.5*first {
			t.Errorf("a chain of %d takes %.1f allocations for each, one of 10 %.1f", n, per, first)
		}
	}
}

func BenchmarkMeetOfAChain(b *testing.B) {
	for _, n := range []int{1, 40, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names, chain := Catalogue{}.Names(), make([]Policy, n)
			for i := range chain {
				chain[i], _ = Preset(names[i%len(names)])
			}
			b.ReportAllocs()
			for b.Loop() {
				MeetAll(chain...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/link")
		})
	}
}

func TestLineage(t *testing.T) {
	parents := map[string]string{"phase": "run", "sub": "phase", "a": "b", "b": "c", "c": "b", "self": "self"}
	if got, err := Lineage("sub", parents); err != nil || !slices.Equal(got, []string{"run", "phase", "sub"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Lineage("alone", parents); err != nil || !slices.Equal(got, []string{"alone"}) {
		t.Errorf("%v, %v", got, err)
	}
	for work, says := range map[string]string{"a": "b → c → b", "b": "b → c → b", "self": "self → self"} {
		if got, err := Lineage(work, parents); !errors.Is(err, ErrCycle) || !strings.Contains(err.Error(), says) || got != nil {
			t.Errorf("%s: %v, %v", work, got, err)
		}
	}
	long := map[string]string{}
	for i := range 10000 {
		long[fmt.Sprint(i)] = fmt.Sprint(i + 1)
	}
	if got, err := Lineage("0", long); err != nil || len(got) != 10001 || got[0] != "10000" {
		t.Errorf("a long chain: %d, %v", len(got), err)
	}
	long["10000"] = "0"
	if _, err := Lineage("77", long); !errors.Is(err, ErrCycle) || len(err.Error()) > 300 {
		t.Errorf("a long cycle: %v", err)
	}
}
