package orchestrator

import (
	"strconv"
	"testing"
	"time"

	"forge/internal/work"
)

// The version of who opens a run stands in its first event, and not the version of who
// replays it; one that was opened before versions were noted has none.
func TestVersionIsNotedOnce(t *testing.T) {
	if _, err := strconv.Atoi(Version); err != nil {
		t.Errorf("Version is no number, so nobody knows which of two is newer: %v", err)
	}
	for _, core := range []string{"", "41"} {
		spec := Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "one", Promise: "ONE", Budget: 1}}}}
		spec.Settings.Phases = map[string]work.PhaseSettings{"01": {}}
		s, err := NewState("r", spec)
		if err != nil {
			t.Fatal(err)
		}
		evs, err := Feed(s, Input{Now: time.Unix(1, 0), Fact: Opened{Inline: &spec, Core: core}})
		if err != nil || len(evs) == 0 {
			t.Fatalf("%d events: %v", len(evs), err)
		}
		var d RunStartedData
		if err := work.Decode(evs[0], &d); err != nil || d.Core != core {
			t.Errorf("opened by core %q the run says %q: %v", core, d.Core, err)
		}
	}
}
