package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

// TestProjectOfTheRustForge loads a project folder as the Rust Forge wrote it:
// no error, and what is not used is named once.
func TestProjectOfTheRustForge(t *testing.T) {
	pace.Sequential(t, processesAlone)
	t.Parallel()
	k := newCheckout(t, "off", map[string]string{"start.txt": "here\n"})
	if err := os.CopyFS(k.at("repo"), os.DirFS(filepath.Join("testdata", "rustforge"))); err != nil {
		t.Fatal(err)
	}
	k.must("git", "add", "-A")
	k.must("git", "commit", "-qm", "project")
	k.write("bin/claude", "#!/bin/sh\necho '2.1.0 (Claude Code)'\n")
	if err := os.Chmod(k.at("bin/claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	k.path = k.at("bin")

	for _, args := range [][]string{{"config", "validate"}, {"list"}, {"config", "show"}} {
		stdout, stderr, code := k.quick(args...)
		if code != 0 {
			t.Errorf("forge %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	_, stderr, _ := k.quick("config", "validate")
	for _, want := range []string{
		`forge.toml: not used: claude, factory.enabled, factory.max_concurrent_runs, factory.port, phases.overrides."auth-*".swarm (`,
		"forge.toml:95: the hook after_iteration is not run",
		"phases.json: not used: phases[1].sub_phases, phases[2].swarm (",
		"a council has at least 2 workers, and [council.workers] names 1: phases without tries of their own are done once",
		`forge.toml:9: permission_mode "strict" is deprecated`,
		`forge.toml:15: permission_mode "strict" is deprecated`,
		`phases.json:26: phases[1].permission_mode "strict" is deprecated`,
		`reviews.mode "arbiter" is deprecated`, "reviews.escalate_on is deprecated", "reviews.auto_proceed_on is deprecated",
	} {
		if strings.Count(stderr, want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, stderr)
		}
	}
	stdout, _, _ := k.quick("list")
	var rows []string
	for _, line := range strings.Split(stdout, "\n") {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"01 project scaffold 8 claude standard, sensitive (*)",
		"02 database-schema 01 12 claude standard, sensitive (database-*)",
		"03 auth-middleware 02 10 claude autonomous, sensitive (auth-*)",
		"04 user-docs 01 3 claude readonly, sensitive (*)",
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %q in\n%s", want, stdout)
		}
	}
}
