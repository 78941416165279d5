package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// That nobody takes what a run needs done is in each text and in the JSON of each, also
// when whoever watched the run is gone, and makes no letters that act on a terminal.
func TestStalledIsSaid(t *testing.T) {
	s, err := orchestrator.NewState("r-1", orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "one", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	const why = "no worker takes from queue q"
	for _, alive := range []bool{true, false} {
		row := journal.RunRow{ID: "r-1", Events: 1, Alive: alive, Stalled: why}
		if got := Standing(row, s); got != "waits: "+why {
			t.Errorf("it stands %q", got)
		}
		list := RunsOf([]journal.RunRow{row, {ID: "r-2"}})
		if got := list.Text(func(time.Time) string { return "now" }); strings.Count(got, "waits: ") != 1 || !strings.Contains(got, "run r-1 waits: "+why) {
			t.Errorf("the list says\n%s", got)
		}
		for _, value := range []any{list, StatusOf(row, s, nil)} {
			text, err := json.Marshal(value)
			if err != nil || strings.Count(string(text), `"stalled":"`+why+`"`) != 1 {
				t.Errorf("the JSON is %s, %v", text, err)
			}
		}
	}
}
