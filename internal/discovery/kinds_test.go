package discovery

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/agent"
	"forge/internal/config"
)

// Each kind of agent that a file may name can be run, and each that can be run
// may be named.
func TestKindsOfAgentsAreThoseThatCanBeRun(t *testing.T) {
	t.Parallel()
	key, ok := config.KeyOf("agents.<name>.kind")
	if !ok || key.Rule == "" {
		t.Fatalf("agents.<name>.kind: %+v", key)
	}
	named := strings.Split(key.Rule, "|")
	slices.Sort(named)
	if run := agent.Kinds(); !slices.Equal(named, run) {
		t.Errorf("a file may name %v, and %v can be run", named, run)
	}
}
