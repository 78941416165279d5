package cli

import (
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// expiring is a project whose checkpoints may be answered for an hour.
func expiring(t *testing.T) *world {
	w := newWorld(t, done("01"))
	w.configure("[autonomy]\ncheckpoint_expiry = \"1h\"\n", "true")
	w.plan(phase("01", "first", 2))
	w.forge("run").want(exitFrozen)
	return w
}

// A question whose time is over is held: nothing answers it, and resume asks
// again.
func TestExpiredCheckpoint(t *testing.T) {
	t.Parallel()
	w := expiring(t)
	w.forge("status").want(exitDone).says("(until 2")
	w.forge("show", ".1").want(exitDone).says("expires", "forge approve")

	const over = 2 * time.Hour
	w.later(over, "status").want(exitDone).says("its time is over; forge resume", "asks again")
	w.later(over, "checkpoints").want(exitDone).says("(its time is over) Start phase 01")
	if got := w.later(over, "show", ".1").want(exitDone).says("its time is over: it still waits"); strings.Contains(got.stdout, "forge approve") {
		t.Errorf("show offers an answer:\n%s", got.stdout)
	}
	w.later(over, "approve", ".1").want(exitUsage).warns("expired", "it still waits", "forge resume")
	w.later(over, "resume").want(exitFrozen).warns("nobody answered in time: it still waits, and is asked again")
	w.later(over, "approve", ".1").want(exitUsage).warns("expired")
	w.later(over, "why").want(exitDone).says("nobody answered in time: it still waits, and is asked again")
	var list listedCheckpoints
	w.later(over, "checkpoints", "--all", "--output", "json").want(exitDone).json(&list)
	if all := list.Checkpoints; len(all) != 2 || all[0].Status != work.CheckpointExpired || all[1].Status != work.CheckpointPending || all[0].Question != all[1].Question {
		t.Fatalf("after the expiry there are %+v", all)
	}
	w.later(over, "policy", "backtest", "--policy", "full").want(exitDone)
	w.later(over, "approve", ".2", "--resume").want(exitFrozen).says("Land the result")
	w.later(over, "approve", ".3", "--resume").want(exitDone)
	if !w.exists("out-01.txt") {
		t.Error("the result did not land")
	}
}

// An answer that was accepted in time counts, whenever the run goes on.
func TestAnswerInTime(t *testing.T) {
	t.Parallel()
	w := expiring(t)
	w.forge("approve", ".1").want(exitDone)
	w.later(1000*time.Hour, "resume").want(exitFrozen).says("Land the result")
}

func TestBadExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"))
	w.plan(phase("01", "first", 2))
	for _, bad := range []string{"1s", "-1h", "0", "soon", "9000h", "72"} {
		w.configure("[autonomy]\ncheckpoint_expiry = \"" + bad + "\"\n")
		w.forge("run").want(exitUsage).warns("autonomy.checkpoint_expiry is", "forge.toml")
	}
}
