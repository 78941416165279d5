package review

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

func TestRule(t *testing.T) {
	c := func(f float64) *float64 { return &f }
	const critical, major, minor = work.SeverityCritical, work.SeverityMajor, work.SeverityMinor
	sev := func(s ...work.Severity) []work.Severity { return s }
	tests := []struct {
		name   string
		in     Case
		ruling Ruling
		reason RulingReason
	}{
		{"unknown comes first", Case{Unknown: true, FixPath: true, Most: 2}, FailPhase, ReasonUnknown},
		{"unknown is never waved on", Case{Unknown: true, KeepMajor: true, Severities: sev(major)}, FailPhase, ReasonUnknown},
		{"unknown with a person", Case{Unknown: true, Ask: true}, AskHuman, ReasonUnknown},
		{"none", Case{}, Proceed, ReasonNoFindings},
		{"minor, sure", Case{Severities: sev(minor, minor), Confidence: c(0.7), Threshold: 0.7}, Proceed, ReasonMinor},
		{"minor, not sure", Case{Severities: sev(minor), Confidence: c(0.69), Threshold: 0.7, FixPath: true, Most: 1}, Fix, ReasonFixBudget},
		{"minor, unknown confidence", Case{Severities: sev(minor), Threshold: 0, FixPath: true, Most: 1}, Fix, ReasonFixBudget},
		{"minor, impossible confidence", Case{Severities: sev(minor), Confidence: c(1.5), FixPath: true, Most: 1}, Fix, ReasonFixBudget},
		{"no way to fix it comes before attempts", Case{Severities: sev(major), Confidence: c(1), Most: 2}, FailPhase, ReasonNoFixPath},
		{"attempts left", Case{Severities: sev(critical), FixPath: true, Attempts: 1, Most: 2}, Fix, ReasonFixBudget},
		{"attempts spent", Case{Severities: sev(major), FixPath: true, Attempts: 2, Most: 2}, FailPhase, ReasonExhausted},
		{"attempts spent, a person", Case{Severities: sev(minor), FixPath: true, Attempts: 2, Most: 2, Ask: true}, AskHuman, ReasonExhausted},
		{"major may stand", Case{Severities: sev(major), FixPath: true, Attempts: 2, Most: 2, KeepMajor: true}, Proceed, ReasonMajorStands},
		{"critical may not", Case{Severities: sev(major, critical), FixPath: true, Attempts: 2, Most: 2, KeepMajor: true}, FailPhase, ReasonExhausted},
		{"an unknown word counts as critical", Case{Severities: sev("blocker"), Confidence: c(1), KeepMajor: true}, FailPhase, ReasonNoFixPath},
	}
	for _, tt := range tests {
		if ruling, reason := Rule(tt.in); ruling != tt.ruling || reason != tt.reason {
			t.Errorf("%s: %s, %s, want %s, %s", tt.name, ruling, reason, tt.ruling, tt.reason)
		}
	}
}

// Only a Proceed of the model says that findings may stand; its confidence in
// another word does not.
func TestHear(t *testing.T) {
	sure, no := 1.0, false
	c := Case{Severities: []work.Severity{work.SeverityMinor}, Threshold: 0.7, FixPath: true, Most: 1, Confidence: &sure}
	for word, want := range map[string]Ruling{"Proceed": Proceed, "Fix": Fix, "FailPhase": Fix, "": Fix, "proceed": Fix, "AskHuman": Fix} {
		if got, _ := Rule(c.Hear(work.ArbiterAnswer{Verdict: word, Confidence: &sure})); got != want {
			t.Errorf("sure of %q: %s, want %s", word, got, want)
		}
	}
	if got, why := Rule(c.Hear(work.ArbiterAnswer{Verdict: "Fix", Confidence: &sure, FixPath: &no})); got != FailPhase || why != ReasonNoFixPath {
		t.Errorf("%s, %s", got, why)
	}
	c.FixPath = false
	if got := c.Hear(work.ArbiterAnswer{}); got.FixPath || got.Confidence != nil {
		t.Errorf("silence says %+v", got)
	}
}

func TestMostFixes(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, tt := range []struct {
		base      int
		sensitive bool
		extra     *int
		want      int
	}{{2, false, nil, 2}, {2, false, n(5), 2}, {2, true, nil, 4}, {2, true, n(2), 4}, {3, true, nil, 6}, {3, true, n(2), 5}, {3, true, n(0), 3}, {0, true, nil, 0}, {0, true, n(2), 2}, {-1, true, nil, 0}, {2, true, n(-3), 2}} {
		if got := MostFixes(tt.base, tt.sensitive, tt.extra); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// anyCase draws what could stand before the arbiter, also what should not be.
func anyCase(t *rapid.T) Case {
	confidence := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 2, 0, 1}))
	c := Case{
		Unknown:    rapid.Bool().Draw(t, "unknown"),
		Severities: rapid.SliceOfN(rapid.SampledFrom(append(work.Severities(), "blocker", "")), 0, 5).Draw(t, "severities"),
		Threshold:  confidence.Draw(t, "threshold"), FixPath: rapid.Bool().Draw(t, "path"),
		Attempts: rapid.IntRange(-1, 6).Draw(t, "attempts"), Most: rapid.IntRange(-1, 6).Draw(t, "most"),
		Ask: rapid.Bool().Draw(t, "ask"), KeepMajor: rapid.Bool().Draw(t, "keep"),
	}
	if rapid.Bool().Draw(t, "confident") {
		f := confidence.Draw(t, "confidence")
		c.Confidence = &f
	}
	return c
}

// TestRuleLaws: a critical finding, an unknown word or a gating unknown never
// goes on; a fix needs a way and an attempt; who is asked is not failed.
func TestRuleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCase(t)
		ruling, reason := Rule(c)
		critical := false
		for _, s := range c.Severities {
			critical = critical || s != work.SeverityMinor && s != work.SeverityMajor
		}
		switch ruling {
		case Proceed:
			if c.Unknown || critical {
				t.Fatalf("%+v goes on", c)
			}
			if reason == ReasonMajorStands && !c.KeepMajor {
				t.Fatalf("%+v stands", c)
			}
		case Fix:
			if c.Unknown || !c.FixPath || c.Attempts >= c.Most || len(c.Severities) == 0 {
				t.Fatalf("%+v is fixed", c)
			}
		case FailPhase, AskHuman:
			if c.Ask != (ruling == AskHuman) {
				t.Fatalf("%+v: %s", c, ruling)
			}
		default:
			t.Fatalf("%+v: %q", c, ruling)
		}
		// The same reports at another confidence or with another model never
		// get better by saying less.
		less := c
		less.Confidence = nil
		if r, _ := Rule(less); r == Proceed && ruling != Proceed {
			t.Fatalf("%+v goes on without confidence alone", c)
		}
	})
}

// TestFixLoopEnds plays the loop of review and fix against reviewers and an
// arbiter's model that say anything: it ends, within its attempts, and what
// goes on has no critical finding and no gating unknown.
func TestFixLoopEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, sensitive := rapid.IntRange(0, 4).Draw(t, "base"), rapid.Bool().Draw(t, "sensitive")
		var extra *int
		if rapid.Bool().Draw(t, "extra set") {
			n := rapid.IntRange(0, 3).Draw(t, "extra")
			extra = &n
		}
		most := MostFixes(base, sensitive, extra)
		fixes, critical, unknown := 0, false, false
		for round := 0; ; round++ {
			if round > most {
				t.Fatalf("round %d, at most %d fixes", round, most)
			}
			c := Case{Threshold: 0.7, Attempts: fixes, Most: most, KeepMajor: rapid.Bool().Draw(t, "keep"), Ask: rapid.Bool().Draw(t, "ask")}
			critical, unknown = false, false
			var found []work.Finding
			for range 2 {
				in := input(added("a", "1", "2", "3"))
				r := Review(t.Context(), saying(anyAnswer(t)), in)
				unknown = unknown || r.Verdict == work.VerdictUnknown
				if r.Verdict == work.VerdictFail {
					found = append(found, r.Findings...)
				}
			}
			c.Unknown = unknown
			for _, f := range Merge(found) {
				critical = critical || f.Severity == work.SeverityCritical
				c.Severities = append(c.Severities, f.Severity)
			}
			a := Judge(t.Context(), saying(anyRuling(t)), JudgeInput{})
			c.FixPath = true
			ruling, reason := Rule(c.Hear(a))
			if reason == ReasonMinor && a.Verdict != string(Proceed) {
				t.Fatalf("minor findings stand, and the model says %q", a.Verdict)
			}
			if ruling == Fix {
				fixes++
				continue
			}
			if fixes > most {
				t.Fatalf("%d fixes of %d", fixes, most)
			}
			if ruling == Proceed && (critical || unknown) {
				t.Fatalf("goes on with critical %v, unknown %v", critical, unknown)
			}
			return
		}
	})
}

func anyAnswer(t *rapid.T) string {
	if rapid.IntRange(0, 5).Draw(t, "rubbish") == 0 {
		return rapid.SampledFrom([]string{"", "{}", "pass", `{"verdict":"pass"}`}).Draw(t, "text")
	}
	var found []string
	for range rapid.IntRange(0, 3).Draw(t, "findings") {
		found = append(found, at(rapid.SampledFrom([]string{"critical", "major", "minor", "odd"}).Draw(t, "severity"), "a", rapid.IntRange(0, 4).Draw(t, "line"), rapid.SampledFrom([]string{"one two", "one two three", "four five"}).Draw(t, "issue")))
	}
	return says(rapid.SampledFrom([]string{"pass", "warn", "fail", "odd"}).Draw(t, "verdict"), found...)
}

func anyRuling(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", "{}", `{"verdict":"Proceed","confidence":1,"fix_path":true}`, `{"verdict":"Proceed","confidence":0.1,"fix_path":false}`,
		`{"verdict":"Fix","fix_path":null}`, `{"verdict":"FailPhase","confidence":9}`,
		`{"verdict":"Fix","confidence":1,"fix_path":true}`, `{"verdict":"FailPhase","confidence":1,"fix_path":true}`,
	}).Draw(t, "ruling")
}
