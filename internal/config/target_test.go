package config

import "testing"

// The branch that an issue itself names comes before its labels and the project.
func TestTargetOfAnIssue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target string
		labels []string
		want   string
	}{
		"none":         {want: "next"},
		"label":        {labels: []string{"old"}, want: "v1"},
		"its own":      {target: "feature", want: "feature"},
		"both":         {target: "feature", labels: []string{"old"}, want: "feature"},
		"unknown word": {labels: []string{"x"}, want: "next"},
	} {
		text := "[factory]\ntarget = \"next\"\n[factory.labels.old]\ntarget = \"v1\"\n"
		cfg, _, err := Load(Sources{ProjectDir: t.TempDir(), ProjectText: &text, Labels: c.labels, Target: c.target})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := cfg.PullTarget(); got != c.want || ValueOf(cfg.File.Factory.Target) != c.want || cfg.Target() != c.target {
			t.Errorf("%s: %q, %q", name, got, cfg.Target())
		}
	}
}
