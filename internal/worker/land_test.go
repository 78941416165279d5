package worker

import (
	"strings"
	"testing"

	"forge/factory/landing"
	"forge/internal/work"
	"forge/orchestrator"
)

// Nothing but commands that ran and passed lets a result land.
func TestUnprovenHolds(t *testing.T) {
	t.Parallel()
	ran := make([]work.CommandReport, 1)
	for name, c := range map[string]struct {
		rep    work.CommandsReport
		proven bool
	}{
		"passed":           {work.CommandsReport{OK: true, Ran: ran}, true},
		"nothing ran":      {work.CommandsReport{OK: true}, false},
		"nothing said":     {work.CommandsReport{}, false},
		"failed":           {work.CommandsReport{Ran: ran, Problem: "exit 1"}, false},
		"failed, silently": {work.CommandsReport{Ran: ran}, false},
	} {
		if why := unproven(c.rep); (why == "") != c.proven {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A project whose pages are a part of the proof and that has no commands for what
// would land, since its phases have their own: nothing lands without its pages.
func TestPagesWithoutCommandsDoNotLand(t *testing.T) {
	var run orchestrator.State
	got, err := (&Worker{}).verified(t.Context(), nil, &run, "m", toLand{commit: "c", onto: "o"})
	if err != nil || got.verdict != landing.NoCommands {
		t.Errorf("without pages: %v, %v", got.verdict, err)
	}
	run.Spec.Settings.Proof.Pages = []work.PageSettings{{URL: "http://localhost:1/"}}
	got, err = (&Worker{}).verified(t.Context(), nil, &run, "m", toLand{commit: "c", onto: "o"})
	if err != nil || got.verdict != landing.Red || !strings.Contains(got.problem, "verify.commands") {
		t.Errorf("with pages: %v, %q, %v", got.verdict, got.problem, err)
	}
}
