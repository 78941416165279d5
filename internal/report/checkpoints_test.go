package report

import (
	"strings"
	"testing"
	"time"

	"forge/internal/project"
	"forge/internal/work"
)

// A checkpoint whose time is over is shown as what it is: held.
func TestExpiredIsListedAsHeld(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &project.Checkout{Env: project.Env{Now: func() time.Time { return now }}}
	later := now.Add(time.Second)
	list := []work.Checkpoint{
		{ID: "r.1", Kind: "final", Question: "Land it?", Status: work.CheckpointPending, ExpiresAt: &now, OpenedAt: now},
		{ID: "r.2", Kind: "final", Question: "Land it?", Status: work.CheckpointPending, ExpiresAt: &later, OpenedAt: now},
	}
	out := CheckpointList{Checkpoints: list}.Text(p, true)
	lines := strings.Split(out, "\n")
	if !strings.Contains(lines[1], "expired") || !strings.Contains(lines[1], "(its time is over) Land it?") || strings.Contains(lines[2], "expired") {
		t.Errorf("got\n%s", out)
	}
}
