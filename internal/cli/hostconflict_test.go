package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// A person pushes while the agent works, and both change the same line: the
// agent gets the conflict, nothing of the person is lost, and the same pull
// request shows what came of it. One that is rejected is closed, with the reason.
func TestPullConflict(t *testing.T) {
	t.Parallel()
	w := fakeHub(t)
	begun, pushed := filepath.Join(w.home, "begun"), filepath.Join(w.home, "pushed")
	w.write(".forge/agent.toml", fmt.Sprintf(`[[step]]
phase = "01"
iteration = 1
do = [{write = "out-01.txt", content = "one\ntwo\nthree\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
iteration = 2
do = [{run = "touch %s; n=0; while [ ! -e %s ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done"}, {write = "out-01.txt", content = "one\nTWO\nthree\n"}]
[[step]]
phase = "01"
do = [{write = "out-01.txt", content = "one\nTWO by ann\nthree\n"}, {print = "I kept both."}]
[[step]]
phase = "02"
do = [{write = "out-02.txt", content = "made by 02\n"}, {print = "<promise>PHASE 02 DONE</promise>"}]
`, begun, pushed))
	w.forge("run").want(exitFrozen)
	look, _ := w.asked(1)
	w.people.Review(t, "ann", 1, look.Head, work.PullChangesRequested, "louder", hosttest.Line{Path: "out-01.txt", Line: 2, Body: "in capitals"})
	ended := make(chan ended, 1)
	go func() { ended <- w.forge("resume") }()
	for deadline := time.Now().Add(30 * time.Second); !w.exists(begun) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	by := w.push(look.Branch, map[string]string{"out-01.txt": "one\nby ann\nthree\n"})
	if err := os.WriteFile(pushed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	(<-ended).want(exitFrozen)
	w.forge("logs", "01", "--prompt", "--iteration", "3").want(exitDone).says("Conflict with what people pushed", "out-01.txt", "pushed to your branch")
	after, id := w.asked(1)
	if after.State != work.PullOpen || after.Branch != look.Branch || !w.grew(look.Branch, by) {
		t.Fatalf("after the conflict: %+v", after.PullRequest)
	}
	url := after.URL
	w.forge("status").want(exitDone).says("Phase 01 is pull request 1: " + url)
	w.forge("status", "--output", "json").want(exitDone).says(fmt.Sprintf("%q", url))
	w.forge("show", id).want(exitDone).says(url, "what people pushed conflicted with the agent's work", "TWO by ann")
	w.people.Review(t, "ann", 1, after.Head, work.PullApproved, "fine")
	w.forge("resume").want(exitFrozen)
	if after, _ = w.asked(1); after.State != work.PullMerged {
		t.Fatalf("after the approval: %+v", after.PullRequest)
	}
	_, id = w.asked(2)
	w.forge("reject", id, "-m", "not like this", "--resume").want(exitFailed)
	closed, err := w.host.Look(t.Context(), 2)
	if err != nil || closed.State != work.PullClosed || len(closed.Comments) != 1 || !strings.Contains(closed.Comments[0].Body, "not like this") {
		t.Errorf("after the rejection: %+v, %v", closed, err)
	}
	result := w.git("for-each-ref", "--format=%(refname:short)", "refs/heads/forge")
	if got := w.git("show", result+":out-01.txt"); got != "one\nTWO by ann\nthree" {
		t.Errorf("out-01.txt is %q", got)
	}
}
