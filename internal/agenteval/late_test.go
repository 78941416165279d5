package agenteval

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A try whose time was up is neither solved nor unsolved: it has a column, and the
// worst and the best case hold it.
func TestATryWithoutTimeIsUnknown(t *testing.T) {
	trial := New("t", time.Unix(0, 0))
	trial.Agents, trial.Tries = []string{"a"}, 1
	for i, d := range []Try{{Status: Solved}, {Status: Unsolved}, {Status: Unknown, Late: true, Why: TimeUp}, {Status: Unknown}} {
		commit := string(rune('0' + i))
		d.Task, d.Agent, d.Nth = commit, "a", 1
		trial.Tasks = append(trial.Tasks, Task{Commit: commit})
		trial.Done = append(trial.Done, d)
	}
	s := Scores(trial)[0]
	if s.Solved.Hits != 1 || s.Solved.Of != 2 || s.Unknown != 2 || s.Late != 1 || s.Worst.Hits != 1 || s.Worst.Of != 4 || s.Best.Hits != 3 || s.Best.Of != 4 {
		t.Errorf("the score is %+v", s)
	}
	if said := Text(trial, false); !strings.Contains(said, "TIME UP") || !strings.Contains(said, "IF SOLVED") {
		t.Errorf("the table is\n%s", said)
	}
	var page bytes.Buffer
	if err := WriteHTML(&page, trial); err != nil || !strings.Contains(page.String(), "of them time up<th>If they failed<th>If they were solved") {
		t.Errorf("%v: the page is\n%s", err, page.String())
	}
}

// Trials that an earlier version stored took such a try for unsolved.
func TestAStoredTryWithoutTimeIsUnknown(t *testing.T) {
	trial := New("t", time.Unix(0, 0))
	trial.Done = []Try{{Task: "1", Agent: "a", Nth: 1, Status: Unsolved, Why: TimeUp}, {Task: "2", Agent: "a", Nth: 1, Status: Unsolved, Why: "stale"}}
	stored, err := json.Marshal(trial)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(stored)
	if err != nil || got.Done[0].Status != Unknown || !got.Done[0].Late || got.Done[1].Status != Unsolved || got.Done[1].Late {
		t.Errorf("%v: read is %+v", err, got)
	}
}
