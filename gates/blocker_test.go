package gates

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlockerTracker(t *testing.T) {
	type told struct {
		progress bool
		blockers []string
	}
	says := func(blockers ...string) told { return told{blockers: blockers} }
	moves := func(blockers ...string) told { return told{true, blockers} }
	for name, tt := range map[string]struct {
		told []told
		same string
	}{
		"nothing":                             {nil, ""},
		"once":                                {[]told{says("no key")}, ""},
		"twice":                               {[]told{says("no key"), says("no key")}, "no key"},
		"in other case, space, numbers, dots": {[]told{says("Attempt 1: no\tAPI key!"), says(" attempt 2 - No API  key ")}, "attempt 2 - No API  key"},
		"another one":                         {[]told{says("no key"), says("no network")}, ""},
		"one of several":                      {[]told{says("no key", "no network"), says("no disk", "no network", "no key")}, "no network"},
		"not in a row":                        {[]told{says("no key"), says(), says("no key")}, ""},
		"progress in the second":              {[]told{says("no key"), moves("no key")}, ""},
		"progress in the first":               {[]told{moves("no key"), says("no key")}, ""},
		"progress before both":                {[]told{moves("no key"), says("no key"), says("no key")}, "no key"},
		"without a letter":                    {[]told{says("404"), says(" 404 ")}, "404"},
		"other numbers alone":                 {[]told{says("404"), says("500")}, ""},
		"empty words":                         {[]told{says("", "  "), says("", "  ")}, ""},
		"not Latin":                           {[]told{says("Нет ключа."), says("нет КЛЮЧА")}, "нет КЛЮЧА"},
	} {
		var got BlockerTracker
		for _, x := range tt.told {
			got = got.Observe(x.progress, x.blockers)
		}
		if got.Same != tt.same {
			t.Errorf("%s: %q, want %q", name, got.Same, tt.same)
		}
	}
}

// TestBlockerTrackerLaws holds the tracker against the last two iterations.
func TestBlockerTrackerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "iterations")
		word := rapid.SampledFrom([]string{"no key", "No  key.", "no net 7", "no net", "", "7"})
		var tracker, before BlockerTracker
		var last []string // of the iteration before; nil after progress
		for range n {
			progress, blockers := rapid.Bool().Draw(t, "progress"), rapid.SliceOfN(word, 0, 3).Draw(t, "blockers")
			before, tracker = tracker, tracker.Observe(progress, blockers)
			again := slices.ContainsFunc(blockers, func(b string) bool {
				return plainBlocker(b) != "" && slices.ContainsFunc(last, func(l string) bool { return plainBlocker(l) == plainBlocker(b) })
			})
			if want := again && !progress; (tracker.Same != "") != want {
				t.Fatalf("%v of %v after %v: %q", blockers, progress, before, tracker.Same)
			}
			if last = blockers; progress {
				last = nil
			}
		}
	})
}

// Who answers for a blocker that is named again is the policy's to say, at the
// point of the stale check.
func TestBlockedByPolicy(t *testing.T) {
	for _, info := range Presets() {
		name := info.Name
		p := preset(t, name)
		for _, f := range []StaleFacts{
			{Phase: "05", Threshold: 0, Blocker: "no key"}, {Phase: "05", Threshold: 3, Count: 2, Blocker: "no key"}, {Phase: "05", Threshold: 3, Count: 3, Blocker: "no key"},
		} {
			want := Stop
			if p.StaleResponse() == AskOnStale {
				want = Ask
			}
			d := For(p).OnNoProgress(f)
			if d.Verdict != want || !strings.Contains(d.Facts, "no key") {
				t.Errorf("%s, %+v: %+v, want %s", name, f, d, want)
			}
		}
	}
}
