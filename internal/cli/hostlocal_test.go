package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/report"
	"forge/internal/work"
	"forge/orchestrator"
)

// localPull is the record of a pull request of a project without a host.
func (w *world) localPull(number string) work.PullRequest {
	w.t.Helper()
	var found []string
	_ = filepath.WalkDir(w.state, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, filepath.Join("pulls", number+".json")) {
			found = append(found, path)
		}
		return nil
	})
	if len(found) != 1 {
		w.t.Fatalf("records of pull request %s: %v", number, found)
	}
	raw, err := os.ReadFile(found[0])
	var pr work.PullRequest
	if err == nil {
		err = json.Unmarshal(raw, &pr)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return pr
}

// waits is the one question that is open.
func (w *world) waits() orchestrator.CheckpointStanding {
	w.t.Helper()
	var list report.RunStatus
	if err := json.Unmarshal([]byte(w.forge("status", "--output", "json").want(exitDone).stdout), &list); err != nil {
		w.t.Fatal(err)
	}
	var open []orchestrator.CheckpointStanding
	for _, cp := range list.Checkpoints {
		if cp.Status == work.CheckpointPending {
			open = append(open, cp)
		}
	}
	if len(open) != 1 {
		w.t.Fatalf("open questions: %+v", list)
	}
	return open[0]
}

// With [host] kind = "local" a phase freezes on a branch of Forge's own
// repository, is sent back, worked on again on the same branch, approved and
// merged; no other host is named, and nothing is pushed anywhere.
func TestHostLocal(t *testing.T) {
	w := newWorld(t, pullScript)
	w.configure("[autonomy]\nlevel = \"autonomous\"\n[autonomy.policy]\ngates.\"ckpt.phase_transition\" = \"human\"\n[host]\nkind = \"local\"\n", "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
	// A remote that nobody may speak with.
	w.git("remote", "add", "origin", filepath.Join(w.home, "nowhere.git"))

	w.forge("run").want(exitFrozen)
	first, asked := w.localPull("1"), w.waits()
	if first.State != work.PullOpen || !strings.HasSuffix(first.Branch, "/phase-1-tactical") || !strings.Contains(first.Body, "out-01.txt") {
		t.Fatalf("the first pull request: %+v", first)
	}
	w.forge("host", "watch", "--once").want(exitUsage).warns("has no code host")
	w.forge("resume").want(exitFrozen)
	w.forge("request-changes", asked.ID, "-m", "louder, please", "--resume").want(exitFrozen)
	w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone).says("louder, please")
	again := w.waits()
	if pr := w.localPull("1"); pr.State != work.PullOpen || pr.Branch != first.Branch || again.ID == asked.ID {
		t.Fatalf("after the rework: %+v, asked at %s", pr, again.ID)
	}
	w.forge("approve", again.ID, "--resume").want(exitFrozen)
	if pr := w.localPull("1"); pr.State != work.PullMerged || pr.MergeCommit == "" {
		t.Fatalf("after the approval: %+v", pr)
	}
	second := w.waits()
	if pr := w.localPull("2"); pr.State != work.PullOpen || pr.Base != first.Base {
		t.Fatalf("the second pull request: %+v", pr)
	}
	w.forge("reject", second.ID, "-m", "not this", "--resume").want(exitFailed)
	if pr := w.localPull("2"); pr.State != work.PullClosed {
		t.Errorf("after the rejection: %+v", pr)
	}
	if refs := w.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"); strings.Contains(refs, "phases/") || strings.Contains(refs, "remotes") {
		t.Errorf("the user's repository has %s", refs)
	}
	result := w.git("for-each-ref", "--format=%(refname:short)", "refs/heads/forge")
	if got := w.git("show", result+":out-01.txt"); got != "one\nTWO\nthree" {
		t.Errorf("out-01.txt on %s is %q", result, got)
	}
}

// A verdict on a file stands as long as the file does: it is shown with the next
// question, on the pull request and here, and the whole is not approved against it.
func TestFileVerdictsKept(t *testing.T) {
	w := newWorld(t, `[[step]]
phase = "01"
iteration = 1
do = [{write = "a.txt", content = "a\n"}, {write = "b.txt", content = "b\n"}, {write = "c.txt", content = "c\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
do = [{write = "b.txt", content = "B\n"}, {print = "b is louder now; c I left as it is."}]
`)
	w.configure("[autonomy]\nlevel = \"autonomous\"\n[autonomy.policy]\ngates.\"ckpt.phase_transition\" = \"human\"\n[host]\nkind = \"local\"\n", "test -f README.md")
	w.plan(phase("01", "first", 2))
	w.forge("run").want(exitFrozen)
	first := w.waits().ID
	w.forge("approve", first, "--file", "a.txt").want(exitDone)
	w.forge("request-changes", first, "--file", "b.txt", "--file", "c.txt", "-m", "louder").want(exitDone)
	w.forge("request-changes", first, "-m", "as said of the files", "--resume").want(exitFrozen)
	second := w.waits().ID
	var shown struct{ Verdicts []work.FileVerdict }
	if err := json.Unmarshal([]byte(w.forge("show", second, "--output", "json").want(exitDone).stdout), &shown); err != nil {
		t.Fatal(err)
	}
	got := map[string]work.CheckpointStatus{}
	for _, v := range shown.Verdicts {
		got[v.Path] = v.Status
	}
	if len(got) != 2 || got["a.txt"] != work.CheckpointApproved || got["c.txt"] != work.CheckpointChangesRequested {
		t.Errorf("verdicts after the rework: %v", got)
	}
	if body := w.localPull("1").Body; !strings.Contains(body, "a.txt: approved") || strings.Contains(body, "b.txt: ") {
		t.Errorf("the pull request says\n%s", body)
	}
	w.forge("approve", second).want(exitUsage).warns("not all of it is approved", "c.txt")
	w.forge("approve", second, "--file", "c.txt").want(exitDone)
	w.forge("approve", second, "--resume").want(exitDone)
	if got := w.git("show", "HEAD:b.txt"); got != "B" {
		t.Errorf("b.txt is %q", got)
	}
}
