//go:build real

package verify

import (
	"testing"

	"forge/internal/proc"
	"forge/internal/proc/containertest"
	"forge/internal/work"
)

// Setup and verify see in a container what they see in any sandbox, and no record of
// another image stands for them.
func TestRealVerifyInAContainer(t *testing.T) {
	containertest.Use(t, "test")
	in := work.ContainerSettings{Runtime: "podman", Image: containertest.Image}
	verifyInASandbox(t, proc.LevelContainer, in)

	b := newBench(t, files{"src": "src"})
	req := b.req("true")
	req.Sandbox.Container = in
	if _, err := b.Identity(t.Context(), work.ProofQuestion{Verify: req}); err == nil {
		t.Error("what a container proved can be told apart from what another image would")
	}
	req.Sandbox.Container.Image = "localhost/none:1"
	if rep, err := b.Bench.Verify(t.Context(), req, nil); err == nil {
		t.Errorf("an image that is not there: %+v", rep)
	}
}
