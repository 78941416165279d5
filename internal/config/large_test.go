package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forge/internal/pace"
)

var _ = pace.OnlyBeside("files are read, one after the other")

// Files just below the limits must not take time that grows with the square of
// their size; the test would not end within its time if they did.
func TestLargeFilesStayLinear(t *testing.T) {
	pace.Sequential(t, "files are read, one after the other")
	var toml, plan strings.Builder
	for i := range 300 {
		fmt.Fprintf(&toml, "[phases.overrides.\"p%d-*\"]\nbudget = %d\n", i, i+1)
	}
	plan.WriteString("{\"phases\": [\n")
	for i := range 20_000 {
		fmt.Fprintf(&plan, "{\"number\": \"%d\", \"name\": \"p%d-x\", \"promise\": \"P%d\", \"agent\": \"no-such\"},\n", i+1, i%5000, i)
	}
	text := strings.TrimSuffix(plan.String(), ",\n") + "\n]}"
	_, _, err := resolveIn(t, map[string]string{ProjectFile: toml.String()}, text)
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.List) != 20_000 || problems.List[19_999].Line != 20_001 {
		t.Fatalf("got %T, want 20000 problems with their lines", err)
	}
	if _, _, err := parsePlan(strings.ReplaceAll(text, `"promise"`, `"promis"`), PlanFile, nil); err == nil {
		t.Error("accepted")
	}
}
