package config

import (
	"path/filepath"
	"slices"
	"testing"

	"forge/internal/work"
)

// What an outsider wrote is worked on in a sandbox, whatever the user, the
// environment and flags say of it; only External itself lets go of that.
func TestExternalIsHardenedWhateverIsSaid(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"off", "auto", "required"} {
		dir := project(t, map[string]string{ProjectFile: "[verify]\nprotected = [\"own.txt\"]\n", "user.toml": "[sandbox]\nmode = \"" + mode + "\"\n"})
		src := Sources{
			ProjectDir: dir, UserFile: filepath.Join(dir, "user.toml"), Environ: []string{"FORGE_SANDBOX=" + mode},
			Flags: []Setting{{Key: "sandbox.mode", Value: mode, Flag: "--sandbox"}},
		}

		for _, as := range []bool{false, true} {
			src.External = &External{Evidence: []string{"AGENTS.md"}, AsConfigured: as}
			cfg, _, err := Load(src)
			if err != nil {
				t.Fatal(err)
			}
			set, err := Resolve(cfg, NewPlan(work.Plan{Phases: []work.Phase{{Number: "01", Name: "only", Promise: "DONE"}}}), kindFacts())
			if err != nil {
				t.Fatal(err)
			}
			want := "required"
			if as {
				want = mode
			}
			if got := cfg.SandboxSettings().Mode; got != want || set.Sandbox.Mode != want {
				t.Errorf("mode %s, as configured %v: the sandbox is %s and %s, want %s", mode, as, got, set.Sandbox.Mode, want)
			}
			for _, name := range []string{"own.txt", "AGENTS.md"} {
				if !slices.Contains(set.Verify.Protected, name) {
					t.Errorf("%s is not among the evidence %q", name, set.Verify.Protected)
				}
			}
			if cfg.External() != src.External {
				t.Error("the configuration does not say that it is for an outsider's work")
			}
		}
	}
}
