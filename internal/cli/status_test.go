package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/report"
	"forge/internal/work"
	"forge/orchestrator"
)

// The keys are a contract with scripts: each of them is there, and
// no other.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01")+"[[step]]\nphase = \"02\"\ndo = [{print = \"nothing\"}]\n", "true")
	w.plan(phase("01", "first", 2), phase("02", "second", 1), phase("03", "third", 1, "02"))
	w.forge("run", "--autonomous").want(exitFailed)
	got := map[string]any{}
	w.forge("status", "--output", "json").want(exitDone).json(&got)
	keys(t, got, "run", "state", "outcome", "policy", "branch", "base", "phases", "checkpoints")
	if got["state"] != "finished" || got["outcome"] != "failed" || got["policy"] != "full" {
		t.Errorf("state %v, outcome %v, policy %v", got["state"], got["outcome"], got["policy"])
	}
	if got["base"] != w.git("rev-parse", "HEAD") || got["branch"] != "forge/run-"+got["run"].(string) {
		t.Errorf("base %v, branch %v", got["base"], got["branch"])
	}
	phases := got["phases"].([]any)
	first, second, third := phases[0].(map[string]any), phases[1].(map[string]any), phases[2].(map[string]any)
	keys(t, first, "number", "name", "state", "outcome", "iterations", "budget", "sensitive", "proof", "proof_record", "cost_usd")
	keys(t, second, "number", "name", "state", "outcome", "reason", "iterations", "budget", "sensitive", "cost_usd")
	keys(t, third, "number", "name", "state", "outcome", "reason", "cause", "iterations", "budget", "sensitive", "cost_usd")
	if first["proof"] != "verified" || first["cost_usd"] != nil || first["iterations"] != 1.0 || first["budget"] != 2.0 {
		t.Errorf("first phase: %v", first)
	}
	if second["reason"] != "budget_exhausted" || third["cause"] != "02" || third["outcome"] != "skipped" {
		t.Errorf("second %v, third %v", second, third)
	}
	if list, ok := got["checkpoints"].([]any); !ok || len(list) != 0 {
		t.Errorf("checkpoints: %v, want an empty list", got["checkpoints"])
	}
}

func TestStatusOfAFrozenRun(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	var got struct {
		Run, State, Outcome, Policy, Branch, Base string
		Phases                                    []map[string]any
		Checkpoints                               []map[string]any
	}
	w.forge("status", "--output", "json").want(exitDone).json(&got)
	if got.State != "frozen" || got.Outcome != "frozen" || len(got.Checkpoints) != 1 {
		t.Fatalf("%+v", got)
	}
	keys(t, got.Checkpoints[0], "id", "kind", "phase", "status", "revision")
	if cp := got.Checkpoints[0]; cp["kind"] != "phase.start" || cp["phase"] != "01" || cp["status"] != "pending" || cp["revision"] != 1.0 {
		t.Errorf("checkpoint %v", cp)
	}
	w.forge("status").want(exitDone).says("frozen, it waits for a person", "It waits for you:", "forge approve ID", "forge resume "+got.Run)
	w.forge("status", "--run", got.Run[:8]).want(exitDone).says("Run " + got.Run)
	w.forge("status", got.Run).want(exitDone).says("Run " + got.Run)
	w.forge("status", "--run", "nonsense").want(exitUsage).warns("forge status --all")
	w.forge("status", "--all", "--run", got.Run).want(exitUsage)
}

// A run whose process died without a word is interrupted; one that is driven
// can be looked at meanwhile.
func TestStatusOfARunningRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, "[[step]]\ndo = [{print = \"at it\"}, {run = \"while [ ! -e "+dir+"/go ]; do sleep 0.05; done\"}]\n")
	w.plan(phase("01", "first", 1))
	run := w.begin("run", "--autonomous")
	w.eventually("the agent works", func() bool { return strings.Contains(w.forge("status").stdout, "at work") })
	w.forge("status").want(exitDone).says("running", "process ", "forge logs --follow")
	var all struct{ Runs []map[string]any }
	w.forge("status", "--all", "--output", "json").want(exitDone).json(&all)
	if len(all.Runs) != 1 || all.Runs[0]["state"] != "running" {
		t.Fatalf("runs: %v", all.Runs)
	}
	keys(t, all.Runs[0], "run", "state", "created", "updated", "cost_usd")
	run.stop()
	run.wait().want(exitInterrupted)
	w.forge("status").want(exitDone).says("interrupted", "Go on:  forge resume")
	w.write(dir+"/go", "")
	w.forge("resume").want(exitFailed)
	w.forge("status", "--all").want(exitDone).says("failed", "unknown")
}

// A dead owner: the journal says that the run is alive, the machine does not.
func TestStatusOfADeadRun(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	store, err := journal.Open(context.Background(), w.state)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Runs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dead := journal.Self()
	dead.PID, dead.StartTime = 1<<30, 1
	lease, err := store.AcquireRun(context.Background(), rows[0].ID, dead)
	if err != nil {
		t.Fatal(err)
	}
	resumed := work.Event{V: work.EventVersion, Seq: rows[0].Events + 1, Time: time.Now().UTC(), Run: rows[0].ID, Kind: work.RunResumed, Data: json.RawMessage(`{}`)}
	if err := store.Append(context.Background(), lease, journal.Append{Events: []work.Event{resumed}, Status: &journal.Status{}}); err != nil {
		t.Fatal(err)
	}
	got := w.forge("status").want(exitDone)
	if dead.Boot != "" { // where the system tells, the death is known at once
		got.says("interrupted (its process died)", "forge resume")
	}
}

// A broken configuration, or a repository in the middle of something, does not
// hide what a run is waiting for.
func TestStatusWhateverTheConfiguration(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.write(".forge/forge.toml", "[nonsense\n")
	w.git("commit", "--allow-empty", "--quiet", "-m", "second")
	w.write(".git/BISECT_LOG", "")
	w.forge("run").want(exitUsage)
	w.forge("status").want(exitDone).says("frozen")
	w.forge("show", ".1").want(exitDone)
	w.forge("approve", ".1").want(exitDone)
	w.forge("why").want(exitDone)
}

func TestStatusNamesSensitivePhases(t *testing.T) {
	plan := work.Plan{Phases: []work.Phase{phase("01", "auth", 1), phase("02", "docs", 1)}}
	s, err := orchestrator.NewState("r", orchestrator.Spec{Plan: plan, Settings: work.Settings{
		Phases: map[string]work.PhaseSettings{"01": {Budget: 1, Sensitive: "auth*"}, "02": {Budget: 1}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := report.StatusOf(journal.RunRow{}, s, nil)
	if !got.Phases[0].Sensitive || got.Phases[1].Sensitive {
		t.Errorf("phases: %+v", got.Phases)
	}
}

// keys checks that an object has exactly these keys.
func keys(t *testing.T, object map[string]any, want ...string) {
	t.Helper()
	for _, k := range want {
		if _, ok := object[k]; !ok {
			t.Errorf("key %q is missing in %v", k, object)
		}
	}
	if len(object) != len(want) {
		t.Errorf("%d keys, want %d: %v", len(object), len(want), object)
	}
}
