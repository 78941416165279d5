package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/project"
	"forge/internal/tracker/trackertest"
)

// The doctor says of each tracker whether it answers, and what mends that it does not.
func TestTrackersAreLookedAt(t *testing.T) {
	g := trackertest.StartGitLab(t)
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "forge"), 0o755); err != nil {
		t.Fatal(err)
	}
	look := func(repo, token string) (said string, bad int) {
		t.Helper()
		file := "[trackers.work]\nkind = \"gitlab\"\nurl = \"" + g.URL + "\"\nrepo = \"" + repo + "\"\n"
		if err := os.WriteFile(filepath.Join(home, "forge", "config.toml"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		d := &Doctor{Env: project.Env{Dir: t.TempDir(), Environ: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "GITLAB_TOKEN=" + token}, Now: time.Now}, Out: &out}
		d.trackers(t.Context())
		return out.String(), d.Bad
	}
	for _, c := range []struct {
		repo, token, want string
		bad               int
	}{
		{trackertest.GitLabProject, g.Token, "✓ tracker work answers (gitlab:", 0},
		{trackertest.GitLabProject, "another", "→ put a token that is not expired into GITLAB_TOKEN: one with the scope api", 1},
		{"group/none", g.Token, "→ check repo = \"group/none\" in [trackers.work] of your own configuration", 1},
		{trackertest.GitLabProject, "", "trackers.work takes its token from GITLAB_TOKEN, which is not set", 1},
	} {
		if said, bad := look(c.repo, c.token); !strings.Contains(said, c.want) || bad != c.bad || c.token != "" && strings.Contains(said, c.token+" ") {
			t.Errorf("%s as %q: %d bad, %s; want %q", c.repo, c.token, bad, said, c.want)
		}
	}
}
