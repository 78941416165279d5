package proof_test

import (
	"slices"
	"testing"

	"forge/internal/proof"
)

func TestPrograms(t *testing.T) {
	for shell, want := range map[string][]string{
		"pytest -q":                           {"pytest"},
		"cd web && npm test":                  {"cd", "npm"},
		"CI=1 time go vet ./... | tee out.go": {"go", "tee"},
		"sh -c 'pytst -q' || true":            {"pytst", "true"},
		"./run.sh; scripts/test":              nil,
		"sh run.sh":                           nil,
		"! grep -q 'go fix' notes.txt":        {"grep"},
		"PATH=bin:$PATH tool":                 nil,
		". ./env.sh && tool":                  nil,
		"sh -c 'export PATH=bin; tool'":       nil,
		"$TOOL run":                           nil,
	} {
		if got := proof.Programs(shell); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", shell, got, want)
		}
	}
}
