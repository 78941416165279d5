package config

import (
	"slices"
	"strings"
	"testing"
)

// A cache is a place below the home or a variable that means nothing else: one
// that tools find programs by, or settings, would decide what a proof says.
func TestCachesOfVerifyAreChecked(t *testing.T) {
	cfg, _, err := load(t, "[verify]\ncache = [\"~/.cache/tool\", \"CARGO_TARGET_DIR\"]\ncold = true\n")
	if err != nil {
		t.Fatal(err)
	}
	if v := cfg.File.Verify; !slices.Equal(v.Cache, []string{"~/.cache/tool", "CARGO_TARGET_DIR"}) || !said(v.Cold) {
		t.Errorf("read %q, cold %v", v.Cache, said(v.Cold))
	}
	for _, bad := range []string{"~/", "~/..", "~/../x", "~/a/../..", "/abs", "rel/path", "", "PATH", "Path", "HOME", "LD_PRELOAD", "XDG_CACHE_HOME", "FORGE_X", "GIT_DIR", "A=B"} {
		if _, _, err := load(t, "[verify]\ncache = [\""+bad+"\"]\n"); err == nil || !strings.Contains(err.Error(), "verify.cache[0]") {
			t.Errorf("cache %q: error %v", bad, err)
		}
	}
}

// Where a project has no commands of its own, those of its phases fill the caches.
func TestCommandsOfPhasesFillCaches(t *testing.T) {
	for _, c := range []struct {
		settings string
		want     []string
	}{
		{"", []string{"make core", "true"}},
		{"[verify]\ncommands = [\"make test\"]\n", nil},
		{"[verify]\ncold = true\n", nil},
	} {
		files := resolveFiles(map[string]string{ProjectFile: c.settings + "[phases.overrides.\"*-core\"]\nverify = [\"make core\"]\n"})
		set, _, err := resolveIn(t, files, `{"phases": [
{"number": "01", "name": "db-core", "promise": "A"},
{"number": "02", "name": "plain", "promise": "B"},
{"number": "03", "name": "own", "promise": "C", "verify": ["true", "make core"]}]}`)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Verify.Warm, c.want) {
			t.Errorf("with %q the base runs %q for caches, want %q", c.settings, set.Verify.Warm, c.want)
		}
	}
}
