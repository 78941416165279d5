package api_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wellFormed is a page of Prometheus' text format, of what is used of it, as its
// description has it: https://prometheus.io/docs/instrumenting/exposition_formats/
func wellFormed(t *testing.T, page string) (names []string) {
	t.Helper()
	line := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:, ?[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*")*\})? (?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|NaN|[-+]?Inf)$`)
	for at, l := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if strings.HasPrefix(l, "# HELP ") || strings.HasPrefix(l, "# TYPE ") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("line %d is no figure: %q", at+1, l)
			continue
		}
		if len(names) == 0 || names[len(names)-1] != m[1] {
			if slices.Contains(names, m[1]) && strings.HasPrefix(m[1], "forge_") {
				t.Errorf("line %d: %s stands in two places", at+1, m[1])
			}
			names = append(names, m[1])
		}
	}
	return names
}

// The names are a promise to whoever draws them.
func TestMetricsAreWellFormed(t *testing.T) {
	w := newWorld(t)
	w.site.ports["p"].addRun("r1", false)
	w.api.Webhooks = func() map[string]int { return map[string]int{"taken": 3} }
	w.api.Calls = func() map[string]int { return map[string]int{"done": 1} }
	got := w.ask("everywhere", "GET", "/metrics", "")
	got.is(200, "")
	names := wellFormed(t, got.body)
	for _, want := range []string{
		"forge_issues", "forge_issues_running", "forge_floor_serving", "forge_floor_paused", "forge_checkpoints_pending", "forge_runs", "forge_cost_usd",
		"forge_runs_cost_unknown", "forge_event_streams", "forge_host_webhooks_total", "forge_calls_total", "forge_project_up",
		"go_goroutines", "go_memstats_alloc_bytes", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
