package temporal

import (
	"slices"
	"testing"
)

// Whatever of its capabilities an effect needs, in whatever order, a worker takes
// from its queue; a worker that lacks one does not.
func TestQueuesOfCapabilities(t *testing.T) {
	q := Queues{Prefix: "f"}
	has := []string{"gpu", "docker", "agent:codex"}
	served := q.Served("h1", has)
	for _, needs := range [][]string{nil, {"docker"}, {"gpu", "docker"}, {"docker", "gpu", "docker"}, {"agent:codex", "docker", "gpu"}} {
		if !slices.Contains(served, q.Able(needs)) {
			t.Errorf("needs %v: queue %s is not among %v", needs, q.Able(needs), served)
		}
	}
	if slices.Contains(q.Served("h1", []string{"docker"}), q.Able([]string{"docker", "gpu"})) {
		t.Error("a worker without a gpu serves what needs one")
	}
	if !slices.Contains(served, q.Host("h1")) || slices.Contains(served, q.Host("h2")) {
		t.Errorf("queues of hosts: %v", served)
	}
	if n := len(served); n != 2+7 {
		t.Errorf("%d queues are served, want 9: %v", n, served)
	}
}
