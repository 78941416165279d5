package planrun

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// A program that nobody has is found before anything is spent; what a shell knows,
// what a project brings and what setup may install is left alone.
func TestCheckPrograms(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "pytest"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"pytst -q": "pytst", "  pytst": "pytst", "py.test-3": "py.test-3", "bin": "bin",
		"pytest -q": "", "./pytst": "", "bin/pytst": "", "test -f a": "", ". ./env": "", "A=1 pytst": "", "! pytst": "", "(pytst)": "", "[ -f a ]": "", "if true; then false; fi": "", "": "", "$TOOL": "",
	} {
		spec := orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01"}}}}
		spec.Settings.Phases = map[string]work.PhaseSettings{"01": {Verify: []string{command}, VerifyOwn: true}}
		err := CheckPrograms(spec, []string{"PATH=/nowhere", "PATH=" + filepath.Dir(bin) + string(os.PathListSeparator) + bin})
		if command == "bin" {
			err = CheckPrograms(spec, []string{"PATH=" + filepath.Dir(bin)})
		}
		var refused *refusal.Error
		if (want != "") != errors.As(err, &refused) || want != "" && !strings.Contains(refused.What, "phase 01 verifies with "+want+",") {
			t.Errorf("%q: %v, want %q missing", command, err, want)
		}
		if want == "" {
			continue
		}
		left := spec
		left.Only = []string{"02"}
		if err := CheckPrograms(left, nil); err != nil {
			t.Errorf("%q of a phase that is not run: %v", command, err)
		}
		left = spec
		left.Settings.Worktree.Setup = []string{"make tools"}
		if err := CheckPrograms(left, nil); err != nil {
			t.Errorf("%q where setup may install it: %v", command, err)
		}
	}
}
