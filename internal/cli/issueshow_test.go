package cli

import (
	"encoding/json"
	"testing"

	"forge/internal/work"
)

// An issue that waits says for what, with the commands that answer it; in
// triage as well as in its run, and nothing once it is answered.
func TestAnIssueSaysWhatItAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, issueScript, "true")
	w.configure("[factory]\ntriage = \"off\"\n", "true")
	w.forge("issue", "add", "Write it", "--column", "ready", "--level", "guided").want(exitDone)
	asked := func() []work.Checkpoint {
		var shown struct{ Waiting []work.Checkpoint }
		text := w.forge("issue", "show", "1", "--output", "json").want(exitDone).stdout
		if err := json.Unmarshal([]byte(text), &shown); err != nil || shown.Waiting == nil {
			t.Fatalf("%v in %s", err, text)
		}
		return shown.Waiting
	}
	if open := asked(); len(open) != 0 {
		t.Errorf("before it begins it asks %+v", open)
	}
	w.forge("factory", "--once").want(exitFrozen)
	open := asked()
	if len(open) != 1 {
		t.Fatalf("it asks %+v", open)
	}
	id := open[0].ID
	w.forge("issue", "show", "1").want(exitDone).says("It waits for you:", id+"  "+open[0].Question, "forge show "+id, "forge approve "+id+" |", "forge request-changes "+id+" -m TEXT", "forge reject "+id)
	w.forge("approve", id).want(exitDone)
	if open := asked(); len(open) != 0 {
		t.Errorf("answered, it asks %+v", open)
	}

	// A question of triage: nothing else has a run yet.
	w.configure("", "true")
	w.forge("issue", "add", "Another", "--column", "ready").want(exitDone)
	w.forge("factory", "--once").want(exitFrozen)
	var shown struct {
		Run     string
		Waiting []work.Checkpoint
	}
	text := w.forge("issue", "show", "2", "--output", "json").want(exitDone).stdout
	if err := json.Unmarshal([]byte(text), &shown); err != nil || shown.Run != "" || len(shown.Waiting) != 1 {
		t.Errorf("%v; issue 2 asks %s", err, text)
	}
}
