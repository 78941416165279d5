package config

import (
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

// [decomposition] means what the Rust Forge made of it, where nothing is said too.
func TestDecomposition(t *testing.T) {
	words := []string{"complex", "multiple", "several", "needs decomposition", "too large", "split", "parallel"}
	tests := []struct {
		name, text string
		want       work.DecompositionSettings
	}{
		{"nothing said", "", work.DecompositionSettings{
			Enabled: true, Requests: true, Blockers: true, Keywords: words, BudgetPercent: 50, ProgressPercent: 30, MinTasks: 2, MaxTasks: 10, KeptPercent: 10,
		}},
		{"every key", `[decomposition]
enabled = false
budget_threshold = 70
progress_threshold = 25
allow_explicit_request = false
detect_complexity_signals = false
complexity_keywords = ["huge"]
size_threshold = 20
min_tasks = 3
max_tasks = 8
require_integration_task = true
budget_buffer = 15
`, work.DecompositionSettings{Keywords: []string{"huge"}, BudgetPercent: 70, ProgressPercent: 25, Size: 20, MinTasks: 3, MaxTasks: 8, Integration: true, KeptPercent: 15}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _, err := load(t, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.File.Decomposition.settings(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	_, _, err := load(t, "[decomposition]\nmin_tasks = 5\nmax_tasks = 3\nbudget_threshold = 101\n")
	if err == nil || !strings.Contains(err.Error(), "forge.toml:4") || !strings.Contains(err.Error(), "use 100 or less") {
		t.Errorf("a threshold of 101: %v", err)
	}
	_, _, err = load(t, "[decomposition]\nmin_tasks = 5\nmax_tasks = 3\n")
	if err == nil || !strings.Contains(err.Error(), "forge.toml:2") || !strings.Contains(err.Error(), "min_tasks is 5, and max_tasks is 3") {
		t.Errorf("bounds that are crossed: %v", err)
	}
}

// What stays with a phase is rounded up, and never nothing: somebody has to look
// at the whole.
func TestKeptIterations(t *testing.T) {
	for left, want := range map[int]int{0: 1, 1: 1, 9: 1, 10: 1, 11: 2, 20: 2, 21: 3, 100: 10} {
		if got := (work.DecompositionSettings{KeptPercent: 10}).Kept(left); got != want {
			t.Errorf("of %d iterations %d are kept, want %d", left, got, want)
		}
	}
}
