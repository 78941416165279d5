package report

import (
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// What could not be shown says why, and what to do.
func TestPullsText(t *testing.T) {
	t.Parallel()
	s := &orchestrator.State{Order: []string{"01", "02", "03", "04"}, Phases: map[string]*orchestrator.Phase{
		"01": {View: orchestrator.View{Number: "01", Publishing: orchestrator.Publishing{Pull: &orchestrator.Pull{Trouble: &work.PullTrouble{Kind: work.HostMissingScope, What: "the token lacks write:issue", Fix: "make a new token"}}}}},
		"02": {View: orchestrator.View{Number: "02", Publishing: orchestrator.Publishing{Pull: &orchestrator.Pull{Number: 2, URL: "https://git.test/2", Lost: "pull request 2 was closed on the host"}}}},
		"03": {View: orchestrator.View{Number: "03", Publishing: orchestrator.Publishing{Pull: &orchestrator.Pull{Number: 3, Branch: "forge/phases/r/phase-3-tactical"}}}},
		"04": {View: orchestrator.View{Number: "04", Stage: orchestrator.StageFinished, Publishing: orchestrator.Publishing{Pull: &orchestrator.Pull{Number: 4, URL: "https://git.test/4"}}}},
	}, Leaving: []orchestrator.Leaving{{Phase: "05", Branch: "forge/phases/r/phase-5-tactical"}}}
	got := Pulls(s)
	for _, want := range []string{"the token lacks write:issue; make a new token, then forge resume", "do not see this on https://git.test/2: pull request 2 was closed on the host", "Phase 03 is pull request 3: branch forge/phases/r/phase-3-tactical", "still to be closed: branch forge/phases/r/phase-5-tactical"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "git.test/4") {
		t.Errorf("a phase that is over is shown:\n%s", got)
	}
}
