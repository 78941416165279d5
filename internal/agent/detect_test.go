package agent

import (
	"os"
	"path/filepath"
	"testing"

	"forge/internal/work"
)

func TestClaudeDetected(t *testing.T) {
	status := func(answer string) string {
		return "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.1.329 (Claude Code)'; exit; fi\n" + answer + "\n"
	}
	for name, c := range map[string]struct {
		program string
		environ []string
		login   Login
		usable  bool
	}{
		"logged in":                  {status(`echo '{"loggedIn":true}'`), nil, LoginYes, true},
		"not logged in":              {status(`echo '{"loggedIn":false}'; exit 1`), nil, LoginNo, false},
		"cannot be asked":            {status(`echo 'error: unknown command' >&2; exit 1`), nil, LoginUnknown, true},
		"cannot be asked, has a key": {status(`exit 1`), []string{"ANTHROPIC_API_KEY=k"}, LoginYes, true},
		"its key reaches it":         {status(`[ "$ANTHROPIC_API_KEY" = k ] && echo '{"loggedIn":true}' || echo '{"loggedIn":false}'`), []string{"ANTHROPIC_API_KEY=k"}, LoginYes, true},
		"does not work":              {"#!/bin/sh\nexit 3\n", nil, LoginUnknown, false},
		"is no program":              {"", nil, LoginUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			mode := os.FileMode(0o755)
			if c.program == "" {
				mode = 0o644
			}
			write(t, filepath.Join(bin, "claude"), c.program, mode)
			environ := append([]string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir()}, c.environ...)
			d := Detect(t.Context(), work.AgentSettings{Kind: "claude"}, environ)
			if d.LoggedIn != c.login || d.Usable() != c.usable || !c.usable && d.Why == "" {
				t.Errorf("%+v", d)
			}
			if c.usable && (d.Version != "2.1.329" || d.Path != filepath.Join(bin, "claude")) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// An agent is not taken from a folder that PATH names relatively: that would
// be the one it works in.
func TestRelativePathEntriesDoNotCount(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "claude"), "#!/bin/sh\n", 0o755)
	t.Chdir(dir)
	for _, path := range []string{".", "", ":", "./"} {
		if p, ok := newEnviron([]string{"PATH=" + path}, "").look("claude", dir); ok {
			t.Errorf("PATH=%q: %s", path, p)
		}
	}
}
