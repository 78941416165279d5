package gates

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/work"

	"pgregory.net/rapid"
)

func TestMayStart(t *testing.T) {
	interactive, autonomous := preset(t, PresetInteractive), preset(t, PresetFull)
	always := Policy{} // asks about every phase, as presets other than interactive do
	std := work.PermissionStandard
	tests := []struct {
		name  string
		facts PhaseFacts
		want  Verdict // under interactive
		by    string
	}{
		{"without dependencies", PhaseFacts{Permission: std, Threshold: 5}, Ask, "strategy:interactive"},
		{"one file", PhaseFacts{Permission: std, Threshold: 5, DependencyFiles: []int{1}}, Go, "rule:start_small_dependencies"},
		{"at the threshold", PhaseFacts{Permission: std, Threshold: 5, DependencyFiles: []int{5, 1, 5}}, Go, "rule:start_small_dependencies"},
		{"above the threshold", PhaseFacts{Permission: std, Threshold: 5, DependencyFiles: []int{1, 6}}, Ask, "strategy:interactive"},
		{"a dependency without changes", PhaseFacts{Permission: std, Threshold: 5, DependencyFiles: []int{0, 1}}, Ask, "strategy:interactive"},
		{"an unknown dependency", PhaseFacts{Permission: std, Threshold: 5, DependencyFiles: []int{1, -1}}, Ask, "strategy:interactive"},
		{"no threshold", PhaseFacts{Permission: std, DependencyFiles: []int{1}}, Ask, "strategy:interactive"},
		{"negative threshold", PhaseFacts{Permission: std, Threshold: -1, DependencyFiles: []int{-1}}, Ask, "strategy:interactive"},
		{"readonly", PhaseFacts{Permission: work.PermissionReadonly, Threshold: 5}, Go, "rule:start_readonly"},
		{"readonly after large changes", PhaseFacts{Permission: work.PermissionReadonly, Threshold: 5, DependencyFiles: []int{99}}, Go, "rule:start_readonly"},
		{"permission autonomous", PhaseFacts{Permission: work.PermissionAutonomous, Threshold: 5}, Go, "rule:start_autonomous"},
		{"unknown permission", PhaseFacts{Permission: "strict", Threshold: 5}, Ask, "strategy:interactive"},
		{"sensitive readonly", PhaseFacts{Permission: work.PermissionReadonly, Sensitive: true, Threshold: 5}, Ask, "strategy:interactive"},
		{"sensitive autonomous", PhaseFacts{Permission: work.PermissionAutonomous, Sensitive: true, Threshold: 5}, Ask, "strategy:interactive"},
		{"sensitive after small changes", PhaseFacts{Permission: std, Sensitive: true, Threshold: 5, DependencyFiles: []int{1}}, Ask, "strategy:interactive"},
	}
	for _, tt := range tests {
		tt.facts.Phase, tt.facts.Name = "05", "api"
		for _, s := range []GateStrategy{Interactive{interactive}, For(interactive)} {
			d := s.MayStart(tt.facts)
			if d.Verdict != tt.want || d.By != tt.by {
				t.Errorf("%s: %s by %s, want %s by %s", tt.name, d.Verdict, d.By, tt.want, tt.by)
			}
			explains(t, d)
		}
		for _, s := range []GateStrategy{Autonomous{autonomous}, For(autonomous)} {
			if d := s.MayStart(tt.facts); d.Verdict != Go || d.By != "strategy:autonomous" {
				t.Errorf("%s: autonomous: %+v", tt.name, d)
			}
		}
		for _, s := range []GateStrategy{Interactive{always}, Autonomous{always}, For(always)} {
			if d := s.MayStart(tt.facts); d.Verdict != Ask {
				t.Errorf("%s: under a policy that always asks: %+v", tt.name, d)
			}
		}
	}
	d := For(interactive).MayStart(PhaseFacts{Phase: "05", Name: "api", Permission: std, Sensitive: true, DependencyFiles: []int{3, -1}, Threshold: 5})
	if want := "phase 05 api: permission standard, sensitive, files changed by its dependencies: 3, unknown (few is 1 to 5)"; d.Facts != want {
		t.Errorf("facts %q, want %q", d.Facts, want)
	}
}

// explains checks what every decision owes its reader.
func explains(t *testing.T, d Decision) {
	t.Helper()
	if d.By == "" || d.Reason == "" || strings.Contains(d.Reason, "\n") || len(d.Passed)+len(d.Failed) == 0 {
		t.Errorf("the decision does not explain itself: %+v", d)
	}
	if (d.Verdict == Go) != (len(d.Failed) == 0) {
		t.Errorf("%s with failed axes %v", d.Verdict, d.Failed)
	}
}

func TestMayIterate(t *testing.T) {
	eachTime := preset(t, PresetInteractive)
	eachTime.Gates[PointIteration] = Human
	unattended := preset(t, PresetFull)
	mixed := preset(t, PresetFull)
	mixed.Gates[PointPhaseStart] = Human
	tests := []struct {
		name         string
		p            Policy
		plain, asked Verdict // without and with AskIteration
	}{
		{"interactive", preset(t, PresetInteractive), Go, Ask},
		{"human gate", eachTime, Ask, Ask},
		{"autonomous", unattended, Go, Go},
		{"autonomous but for the start", mixed, Go, Ask},
		{"zero", Policy{}, Ask, Ask},
	}
	for _, tt := range tests {
		for asked, want := range map[bool]Verdict{false: tt.plain, true: tt.asked} {
			d := For(tt.p).MayIterate(IterationFacts{Phase: "05", Iteration: 2, Budget: 8, AskIteration: asked})
			if d.Verdict != want {
				t.Errorf("%s, asked per iteration %v: %s, want %s", tt.name, asked, d.Verdict, want)
			}
			explains(t, d)
			if d.Verdict == Ask && d.Facts != "phase 05: iteration 2 of 8" {
				t.Errorf("%s: facts %q", tt.name, d.Facts)
			}
		}
	}
	if d := (Interactive{preset(t, PresetInteractive)}).MayIterate(IterationFacts{}); d.Verdict != Go || d.By != "strategy:interactive" {
		t.Errorf("the interactive strategy by itself: %+v", d)
	}
}

func TestOnNoProgress(t *testing.T) {
	interactive, autonomous := preset(t, PresetInteractive), preset(t, PresetFull)
	contradicting := preset(t, PresetFull)
	contradicting.OnStale = AskOnStale
	tests := []struct {
		name                    string
		facts                   StaleFacts
		interactive, autonomous Verdict
	}{
		{"first time", StaleFacts{Threshold: 3, Count: 3}, Ask, Pivot},
		{"second time", StaleFacts{Threshold: 3, Count: 3, Pivoted: true}, Ask, Stop},
		{"not yet", StaleFacts{Threshold: 3, Count: 2, Pivoted: true}, Go, Go},
		{"off", StaleFacts{Threshold: 0, Count: 9, Pivoted: true}, Go, Go},
	}
	for _, tt := range tests {
		tt.facts.Phase = "05"
		for _, s := range []GateStrategy{Interactive{interactive}, For(interactive), Autonomous{interactive}, For(contradicting)} {
			if d := s.OnNoProgress(tt.facts); d.Verdict != tt.interactive {
				t.Errorf("%s: %T: %s, want %s", tt.name, s, d.Verdict, tt.interactive)
			}
		}
		for _, s := range []GateStrategy{Autonomous{autonomous}, For(autonomous)} {
			d := s.OnNoProgress(tt.facts)
			if d.Verdict != tt.autonomous || d.By != "strategy:autonomous" {
				t.Errorf("%s: %T: %s by %s, want %s", tt.name, s, d.Verdict, d.By, tt.autonomous)
			}
			explains(t, d)
		}
	}
}

func TestSubPhases(t *testing.T) {
	tests := []struct {
		name                    string
		facts                   SubPhaseFacts
		interactive, autonomous Verdict // of MaySpawn
	}{
		{"fits", SubPhaseFacts{Requested: 2, Remaining: 5}, Ask, Go},
		{"just fits", SubPhaseFacts{Requested: 5, Remaining: 5}, Ask, Go},
		{"too large", SubPhaseFacts{Requested: 6, Remaining: 5}, Ask, Reject},
		{"nothing remains", SubPhaseFacts{Requested: 1, Remaining: 0}, Ask, Reject},
		{"budget of nothing", SubPhaseFacts{Requested: 0, Remaining: 5}, Reject, Reject},
		{"negative budget", SubPhaseFacts{Requested: -3, Remaining: -3}, Reject, Reject},
		{"the tenth", SubPhaseFacts{Requested: 1, Remaining: 5, Spawned: 9}, Ask, Go},
		{"the eleventh", SubPhaseFacts{Requested: 1, Remaining: 5, Spawned: 10}, Reject, Reject},
	}
	for _, tt := range tests {
		tt.facts.Parent, tt.facts.Name = "05", "migration"
		for p, want := range map[string]Verdict{PresetInteractive: tt.interactive, PresetFull: tt.autonomous} {
			d := For(preset(t, p)).MaySpawn(tt.facts)
			if d.Verdict != want {
				t.Errorf("%s: %s: %s, want %s", tt.name, p, d.Verdict, want)
			}
			explains(t, d)
			budget := fmt.Sprintf("budget %d of %d iterations", tt.facts.Requested, tt.facts.Remaining)
			if !strings.Contains(d.Facts, budget) {
				t.Errorf("%s: %s: facts %q do not show %q", tt.name, p, d.Facts, budget)
			}
		}
		for p, want := range map[string]Verdict{PresetInteractive: Ask, PresetFull: Go} {
			if d := For(preset(t, p)).MayRunSubPhase(tt.facts); d.Verdict != want {
				t.Errorf("%s: run under %s: %s, want %s", tt.name, p, d.Verdict, want)
			}
		}
	}
	if d := (Autonomous{}).MaySpawn(SubPhaseFacts{Requested: 1, Remaining: 1}); d.Verdict != Ask {
		t.Errorf("autonomous with a human gate spawned: %+v", d)
	}
	if d := (Autonomous{}).MayRunSubPhase(SubPhaseFacts{}); d.Verdict != Ask {
		t.Errorf("autonomous with a human gate ran a sub-phase: %+v", d)
	}
}

// A mixed policy is answered question by question.
func TestForMixedPolicies(t *testing.T) {
	for _, point := range []Point{PointPhaseStart, PointIteration, PointStale, PointSubPhase} {
		p := preset(t, PresetFull)
		p.Gates[point] = Human
		got := verdicts(For(p), someFacts)
		want := map[string]Verdict{"start": Go, "iterate": Go, "stale": Pivot, "spawn": Go, "run": Go}
		switch point {
		case PointPhaseStart:
			want["start"] = Ask
		case PointIteration:
			want["iterate"] = Ask
		case PointStale:
			want["stale"] = Ask
		case PointSubPhase:
			want["spawn"], want["run"] = Ask, Ask
		}
		for question, verdict := range want {
			if got[question] != verdict {
				t.Errorf("autonomous with %s human: %s is answered %s, want %s", point, question, got[question], verdict)
			}
		}
	}
}

type facts struct {
	phase     PhaseFacts
	iteration IterationFacts
	stale     StaleFacts
	sub       SubPhaseFacts
}

var someFacts = facts{
	phase:     PhaseFacts{Phase: "05", Permission: work.PermissionStandard, Threshold: 5},
	iteration: IterationFacts{Phase: "05", Iteration: 1, Budget: 8},
	stale:     StaleFacts{Phase: "05", Threshold: 3, Count: 3},
	sub:       SubPhaseFacts{Parent: "05", Requested: 1, Remaining: 4},
}

func verdicts(s GateStrategy, f facts) map[string]Verdict {
	return map[string]Verdict{
		"start": s.MayStart(f.phase).Verdict, "iterate": s.MayIterate(f.iteration).Verdict,
		"stale": s.OnNoProgress(f.stale).Verdict, "spawn": s.MaySpawn(f.sub).Verdict,
		"run": s.MayRunSubPhase(f.sub).Verdict,
	}
}

// A policy that is more conservative on any axis asks wherever the freer one
// asks, and never goes where the freer one does not.
func TestMoreConservativeNeverTurnsAskIntoGo(t *testing.T) {
	n := rapid.IntRange(-1, 12)
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy().Draw(t, "policy")
		stricter := Meet(p, anyPolicy().Draw(t, "bound"))
		f := facts{
			phase: PhaseFacts{
				Permission:      rapid.SampledFrom(append(work.PermissionModes(), "strict")).Draw(t, "permission"),
				Sensitive:       rapid.Bool().Draw(t, "sensitive"),
				DependencyFiles: rapid.SliceOfN(n, 0, 3).Draw(t, "files"),
				Threshold:       n.Draw(t, "threshold"),
			},
			iteration: IterationFacts{Iteration: n.Draw(t, "iteration"), AskIteration: rapid.Bool().Draw(t, "asked")},
			stale:     StaleFacts{Threshold: n.Draw(t, "stale threshold"), Count: n.Draw(t, "count"), Pivoted: rapid.Bool().Draw(t, "pivoted")},
			sub:       SubPhaseFacts{Requested: n.Draw(t, "requested"), Remaining: n.Draw(t, "remaining"), Spawned: n.Draw(t, "spawned")},
		}
		free, bound := verdicts(For(p), f), verdicts(For(stricter), f)
		for question, was := range free {
			is := bound[question]
			if was == Ask && is != Ask {
				t.Fatalf("%s: ask became %s", question, is)
			}
			if is == Go && was != Go {
				t.Fatalf("%s: %s became go", question, was)
			}
		}
	})
}

func TestRecord(t *testing.T) {
	d := For(preset(t, PresetInteractive)).MayStart(someFacts.phase)
	got := d.Record(PointPhaseStart, "abc")
	if got.Gate != "phase.start" || got.Decision != "ask" || got.By != d.By || got.Policy != "abc" ||
		got.Facts != d.Facts || got.Reason != d.Reason || len(got.Failed) != 1 || got.Failed[0] != "phase.start" {
		t.Errorf("Record of %+v: %+v", d, got)
	}
}

// The loop asks before every iteration and after every one: nothing of that
// may allocate while the answer is to go on.
func TestGoingOnAllocatesNothing(t *testing.T) {
	for _, info := range Presets() {
		p := preset(t, info.Name)
		s := For(p)
		h := NewStaleHandler(p, 3)
		var tracker ProgressTracker
		n := testing.AllocsPerRun(100, func() {
			p.At(PointIteration)
			p.At("ckpt.design")
			if p.At(PointIteration) == Auto && s.MayIterate(someFacts.iteration).Verdict != Go {
				t.Error("did not go")
			}
			var progress bool
			tracker, progress = tracker.Observe(true, nil)
			h, _ = h.Observe(progress)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", info.Name, n)
		}
	}
}

func BenchmarkMayIterate(b *testing.B) {
	s := For(preset(b, PresetFull))
	b.ReportAllocs()
	for b.Loop() {
		s.MayIterate(someFacts.iteration)
	}
}
