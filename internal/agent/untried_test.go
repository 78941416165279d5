package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

// The version that counts as tested is the one that scripts/real.sh tests.
func TestTriedIsWhatIsTested(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/tools.sh")
	if err != nil {
		t.Fatal(err)
	}
	for kind, variable := range map[string]string{"claude": "CLAUDE", "codex": "CODEX", "gemini": "GEMINI", "opencode": "OPENCODE"} {
		_, rest, _ := strings.Cut(string(script), "\n"+variable+"_VERSION=")
		pinned, _, _ := strings.Cut(rest, "\n")
		if f, _ := FactsOf(kind); f.Tried == "" || f.Tried != pinned {
			t.Errorf("%s %q is called tested, and %q is", kind, f.Tried, pinned)
		}
	}
}

// A version of another series is named, and may be used all the same.
func TestUnknownVersionIsTried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, says string
		known      bool
	}{
		{"claude", "2.1.329 (Claude Code)", true}, {"claude", "2.9.0", true}, {"claude", "3.0.0", false}, {"claude", "next", false},
		{"claude", "", false}, {"claude", "20.1.0", false},
		{"codex", "codex-cli 0.169.4", true}, {"codex", "codex-cli 0.170.0", false}, {"codex", "codex-cli 1.169.0", false},
		{"gemini", "0.61.0-nightly.1", true}, {"gemini", "0.6.1", false}, {"opencode", "v1.99.0", true}, {"opencode", "0.18.33", false},
	} {
		bin := t.TempDir()
		write(t, filepath.Join(bin, c.kind), "#!/bin/sh\necho '"+c.says+"'\n", 0o755)
		environ := []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=k", "CODEX_API_KEY=k", "GEMINI_API_KEY=k"}
		d := Detect(t.Context(), work.AgentSettings{Kind: c.kind}, environ)
		if !d.Usable() || (d.Untried == "") != c.known {
			t.Errorf("%s that says %q: %+v", c.kind, c.says, d)
		}
		if f, _ := FactsOf(c.kind); !c.known && !strings.Contains(d.Untried, f.Tried) {
			t.Errorf("%s that says %q: %q does not name the version that is tested", c.kind, c.says, d.Untried)
		}
	}
	if d := Detect(t.Context(), work.AgentSettings{Kind: "claude"}, []string{"PATH=" + t.TempDir()}); d.Untried != "" {
		t.Errorf("one that is not there: %+v", d)
	}
}
