package cli

import (
	"strings"
	"testing"

	"forge/internal/approval"
	"forge/internal/work"
)

// frozen is a world whose run waits at the start of its only phase.
func frozen(t *testing.T, script string) *world {
	t.Helper()
	w := newWorld(t, script, "test -f out-01.txt || test -z \"$(ls | grep out)\"")
	w.plan(phase("01", "first", 3))
	w.forge("run").want(exitFrozen)
	return w
}

// The whole way: a run freezes, another process answers, resume goes on.
func TestFreezeAnswerResume(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.forge("run").want(exitUsage).warns("unfinished (frozen)")
	w.forge("checkpoints").want(exitDone).says(".1", "phase.start", `Start phase 01 "first"?`)
	w.forge("approve", ".1", "-m", "go ahead").want(exitDone).says("approved by tester", "forge resume")
	w.forge("checkpoints").want(exitDone).says("Nothing waits")
	w.forge("checkpoints", "--all").want(exitDone).says("approved", "tester")
	w.forge("status").want(exitDone).says("Answered:", "Go on:  forge resume")
	w.forge("resume").want(exitFrozen).says("Land the result")
	w.forge("approve", ".2", "--resume").want(exitDone).says("completed", "Undo:")
	if !w.exists("out-01.txt") {
		t.Error("the result did not land")
	}
	w.forge("resume").want(exitUsage).warns("nothing to go on with")
}

// A comment of request-changes at phase start goes into the agent's prompt.
func TestRequestChangesReachesTheAgent(t *testing.T) {
	t.Parallel()
	w := frozen(t, "[[step]]\nphase = \"01\"\ndo = [{echo_prompt = true}, {print = \"<promise>PHASE 01 DONE</promise>\"}]\n")
	w.fed("Keep the café open.\n", "request-changes", "-m", "-", ".1").want(exitDone).says("changes requested by tester")
	w.forge("resume").want(exitFrozen)
	w.forge("logs").want(exitDone).says("Keep the café open.")
}

func TestRejectSkipsThePhase(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.forge("reject", ".1").want(exitDone).says("rejected by tester")
	w.forge("resume").want(exitFailed).says("skipped")
	w.forge("why").want(exitDone).says("answered: rejected by tester (cli)", "skipped: user")
}

type answerJSON struct {
	Error, Message string
	Checkpoint     *work.Checkpoint
	Driven         bool
	Next           string
}

// An answer that changes nothing exits 2 with its word, as text and as JSON.
func TestRefusedAnswersAtTheCommandLine(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	refused := func(code, says string, args ...string) answerJSON {
		t.Helper()
		w.forge(args...).want(exitUsage).warns(says)
		var got answerJSON
		w.forge(append(args, "--output", "json")...).want(exitUsage).warns(says).json(&got)
		if got.Error != code || got.Message == "" {
			t.Errorf("forge %v: error %q, want %q", args, got.Error, code)
		}
		return got
	}
	if got := refused("unknown_checkpoint", `forge: there is no checkpoint "nonsense" (forge checkpoints lists`, "approve", "nonsense"); got.Checkpoint != nil {
		t.Errorf("a checkpoint for an unknown id: %+v", got.Checkpoint)
	}
	refused("unknown_checkpoint", "there is no checkpoint", "approve", ".9")
	refused("conflict", "conflict", "approve", ".1", "--revision", "7")
	refused("empty_feedback", "empty_feedback", "request-changes", ".1")
	refused("empty_feedback", "empty_feedback", "request-changes", ".1", "-m", " \t\n")
	refused("empty_feedback", "empty_feedback", "request-changes", ".1", "-m", "\u200b\u2060")
	refused("bad_answer", "bad_answer", "approve", ".1", "--choice", "pivot")
	w.forge("request-changes", ".1", "-m", strings.Repeat("x", approval.MaxComment+1)).want(exitUsage).warns("4001 bytes")
	if got := refused("conflict", "conflict", "approve", ".1", "--revision", "2"); got.Checkpoint == nil || got.Checkpoint.Status != work.CheckpointPending {
		t.Errorf("a refused answer changed the checkpoint: %+v", got.Checkpoint)
	}

	var given answerJSON
	w.forge("approve", ".1", "--revision", "1", "--output", "json").want(exitDone).json(&given)
	if given.Error != "" || given.Driven || !strings.HasPrefix(given.Next, "forge resume ") ||
		given.Checkpoint.Status != work.CheckpointApproved || given.Checkpoint.AnsweredBy != "tester" || given.Checkpoint.Door != "cli" {
		t.Errorf("the answer: %+v, checkpoint %+v", given, given.Checkpoint)
	}
	if got := refused("already_resolved", "already_resolved", "reject", ".1"); got.Checkpoint.Status != work.CheckpointApproved {
		t.Errorf("the second answer counts: %+v", got.Checkpoint)
	}
	refused("already_resolved", "already_resolved", "approve", ".1")
}

// What a run that is over once asked is held for ever.
func TestAnswerToARunThatIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[[step]]\ndo = [{print = \"thinking\"}]\n")
	w.configure("[autonomy]\nstale_iterations_before_pivot = 1\n")
	w.plan(phase("01", "first", 3), phase("02", "second", 3))
	w.forge("run", "--yes").want(exitFrozen)
	w.forge("reject", ".1", "--choice", "abort").want(exitDone)
	w.forge("resume").want(exitFailed).says("cancelled")
	w.forge("approve", ".2").want(exitUsage).warns("expired")
}

// Choices are named by show, and chosen by name.
func TestChoices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[[step]]\nphase = \"01\"\niteration = 3\ndo = [{write = \"out-01.txt\", content = \"x\"}, {print = \"<promise>PHASE 01 DONE</promise>\"}]\n")
	w.configure("[autonomy]\nstale_iterations_before_pivot = 2\n")
	w.plan(phase("01", "first", 5))
	w.forge("run", "--yes").want(exitFrozen)
	w.forge("show", ".1").want(exitDone).says("--choice continue", "--choice pivot", "-m TEXT", "--choice abort", "abort the run")
	w.forge("approve", ".1", "--choice", "pivot").want(exitUsage).warns("bad_answer")
	w.forge("approve", ".1", "--choice", "continue", "--resume").want(exitFrozen).says("Land the result")
}

// An id may be cut short as long as one checkpoint alone is meant.
func TestUniquePrefix(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	var list struct{ Checkpoints []work.Checkpoint }
	w.forge("checkpoints", "--output", "json").want(exitDone).json(&list)
	if len(list.Checkpoints) != 1 {
		t.Fatalf("%d checkpoints, want 1", len(list.Checkpoints))
	}
	id := list.Checkpoints[0].ID
	w.forge("show", id[:len(id)-1]).want(exitDone).says(id)
	w.forge("approve", id[:len(id)-1]).want(exitDone)
	w.forge("resume").want(exitFrozen)
	w.forge("approve", id[:len(id)-1]).want(exitUsage).warns("forge: checkpoint ", "give more of it")
}

// A process that drives a run takes up an answer that another process gives.
func TestAnswerToADrivenRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, done("01")+"[[step]]\nphase = \"02\"\ndo = [{run = \"while [ ! -e "+dir+"/go ]; do sleep 0.05; done\"}]\n")
	w.configure("[phases.overrides.\"second\"]\npermission_mode = \"autonomous\"\n")
	w.plan(phase("01", "first", 1), phase("02", "second", 1))
	run := w.begin("run")
	w.eventually("the question is asked while the second phase runs", func() bool {
		status := w.forge("status").stdout
		return strings.Contains(status, "Start phase 01") && strings.Contains(status, "at work")
	})
	w.forge("resume").want(exitUsage).warns("being driven by process")
	var given answerJSON
	w.forge("approve", ".1", "--resume", "--output", "json").want(exitDone).json(&given)
	if !given.Driven || !strings.Contains(given.Next, "by itself") {
		t.Errorf("the run is driven, the answer says %+v", given)
	}
	w.eventually("the first phase is merged", func() bool { return strings.Contains(w.forge("why", "01").stdout, "merged as") })
	w.forge("reset", "--yes").want(exitUsage).warns("being driven")
	w.forge("reset", "--run", "2", "--yes").want(exitUsage).warns("being driven")
	w.write(dir+"/go", "")
	run.wait().want(exitFailed)
}
