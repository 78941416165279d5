package config

import (
	"testing"

	"forge/internal/work"
)

// The switches of auto_promote reach the run: on unless somebody says no.
func TestResolvePromote(t *testing.T) {
	for text, want := range map[string]work.PromoteSettings{
		"": {Enabled: true, OnClean: true},
		"[autonomy.auto_promote]\nenabled = false\n":          {OnClean: true},
		"[autonomy.auto_promote]\npromote_on_clean = false\n": {Enabled: true},
	} {
		cfg, _, err := load(t, "[agents.claude]\nkind = \"claude\"\n"+text)
		must(t, err)
		p, _, err := parsePlan(goodPlan, PlanFile, nil)
		must(t, err)
		s, err := Resolve(cfg, p, kindFacts())
		must(t, err)
		if s.Promote != want {
			t.Errorf("%q resolves to %+v, want %+v", text, s.Promote, want)
		}
	}
}
