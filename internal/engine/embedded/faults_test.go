package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// A folder that is gone with its process is made anew at the last snapshot.
func TestALostFolderIsMadeAnew(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var r *rig
	r = newRig(t, func(agent context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if req.Iteration == 1 {
			r.repo.write(req.Dir, "one.txt", "1")
			return ok()
		}
		if req.Attempt == 1 {
			cancel()
			<-agent.Done()
			return work.IterationReport{Outcome: work.OutcomeInterrupted}, nil
		}
		r.repo.write(req.Dir, "two.txt", "2")
		return ok("P01")
	})
	if _, err := r.run(ctx); err != nil {
		t.Fatal(err)
	}
	dir := r.layout.PhaseDir("sim", "01")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	delete(r.repo.folders, dir)
	r.ends(work.RunCompleted)
	if got, want := r.result(), map[string]string{"a.txt": "base", "one.txt": "1", "two.txt": "2"}; !maps.Equal(got, want) {
		t.Errorf("the result is %v, want %v", got, want)
	}
}

// An agent that could not be run at all is neither a yes nor a no.
func TestAgentsThatCannotRun(t *testing.T) {
	r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) {
		return work.IterationReport{}, errors.New("no such program")
	})
	r.ends(work.RunFailed)
	var d work.PhaseFinishedData
	for _, e := range r.journal.Events {
		if e.Kind == work.PhaseFinished {
			_ = work.Decode(e, &d)
		}
	}
	if d.Reason != work.ReasonInternal || !strings.Contains(d.Detail, "no such program") {
		t.Errorf("the phase ended %+v, want internal and why", d)
	}
}

// A verify that is cut short by a stop says nothing: it runs again.
func TestInterruptedVerify(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) { return ok("P01") })
	r.checks.hang = true
	r.journal.After = func(b engine.Batch) {
		for _, e := range b.Events {
			if e.Kind == work.VerifyStarted {
				cancel()
			}
		}
	}
	got, err := r.run(ctx)
	if err != nil || got.Outcome != work.RunInterrupted || r.count(work.VerifyFinished) > 0 {
		t.Fatalf("the run ended %q, %v with %d verify results; want interrupted and none", got.Outcome, err, r.count(work.VerifyFinished))
	}
	r.checks.hang = false
	r.ends(work.RunCompleted)
}

// The agent forgot its session: the same iteration goes on with the whole task.
func TestLostSession(t *testing.T) {
	var prompts, sessions []string
	r := newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		prompts, sessions = append(prompts, req.Prompt), append(sessions, req.Session)
		rep, err := ok()
		if req.Session != "" {
			rep.SessionLost = true
			return rep, err
		}
		if req.Iteration == 2 {
			rep.Claims = []string{"P01"}
		}
		return rep, err
	}, setting(func(s *work.Settings) { s.Spec = "The whole task" }))
	r.ends(work.RunCompleted)
	if !slices.Equal(sessions, []string{"", "s", ""}) {
		t.Fatalf("the sessions were %q, want a new one, the lost one, a new one", sessions)
	}
	if strings.Contains(prompts[1], "The whole task") || !strings.Contains(prompts[2], "The whole task") {
		t.Errorf("the prompts were\n%s\nand then\n%s", prompts[1], prompts[2])
	}
	if n := r.count(work.IterationFinished); n != 2 {
		t.Errorf("%d iterations came to an end, want 2", n)
	}
}

// conflicting is a run whose two phases write the same files; 01 merges first,
// and 02 writes resolve when it is asked to resolve the conflict: into all of
// the files, or into the first thirty of them.
func conflicting(t *testing.T, files int, resolve string, all bool, change ...func(*orchestrator.Spec)) *rig {
	landed := make(chan struct{})
	var r *rig
	r = newRig(t, func(ctx context.Context, req work.IterationRequest) (work.IterationReport, error) {
		content := req.Phase
		if req.Iteration == 2 {
			content = resolve
		}
		for i := range files {
			if all || i < 30 || req.Iteration == 1 {
				r.repo.write(req.Dir, fmt.Sprintf("f%02d.txt", i), content)
			}
		}
		if req.Phase == "02" && req.Iteration == 1 {
			select {
			case <-landed:
			case <-ctx.Done():
			}
		}
		return ok("P" + req.Phase)
	}, append(change, phases("01", "02"))...)
	var once sync.Once
	r.journal.After = func(b engine.Batch) {
		for _, e := range b.Events {
			if e.Kind == work.PhaseMerged {
				once.Do(func() { close(landed) })
			}
		}
	}
	return r
}

func TestConflicts(t *testing.T) {
	t.Run("resolved", func(t *testing.T) {
		r := conflicting(t, 3, "resolved", true)
		r.ends(work.RunCompleted)
		if got := r.result()["f02.txt"]; got != "resolved" {
			t.Errorf("f02.txt is %q", got)
		}
	})
	// Only so many paths fit into an event; all of them are looked at.
	t.Run("markers left in the fortieth file", func(t *testing.T) {
		r := conflicting(t, 40, "resolved", false, unproven())
		r.ends(work.RunFailed)
		for path, content := range r.result() {
			if strings.Contains(content, marker) {
				t.Errorf("%s has landed with conflict markers", path)
			}
		}
	})
}

// However many protected files a phase touches, all of them are put back for
// the second verify.
func TestEvidenceBeyondWhatAnEventHolds(t *testing.T) {
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		r.repo.write(req.Dir, "code.txt", "red")
		for i := range 40 {
			r.repo.write(req.Dir, fmt.Sprintf("Makefile.%02d", i), "harmless")
		}
		r.repo.write(req.Dir, "Makefile.99", "cheat")
		return ok("P01")
	})
	r.ends(work.RunFailed)
	var d work.PhaseFinishedData
	for _, e := range r.journal.Events {
		if e.Kind == work.PhaseFinished {
			_ = work.Decode(e, &d)
		}
	}
	if d.Reason != work.ReasonEvidenceChanged {
		t.Errorf("the phase ended %+v, want evidence_changed", d)
	}
}

// A provider that is out is waited for, and the wait holds no agent.
func TestOutageIsWaitedFor(t *testing.T) {
	out := true
	r := newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if out {
			out = false
			at := time.Now().Add(20 * time.Millisecond)
			return work.IterationReport{Outcome: work.OutcomeRateLimited, ResetAt: &at}, nil
		}
		if req.Iteration != 1 || req.Attempt != 2 {
			t.Errorf("iteration %d, attempt %d runs; want 1 and 2", req.Iteration, req.Attempt)
		}
		return ok("P01")
	})
	r.now = time.Now
	r.ends(work.RunCompleted)
	if n := r.count(work.OutageBegan); n != 1 {
		t.Errorf("%d outages are on record, want 1", n)
	}
}

func TestAbortWhileAnotherPhaseRuns(t *testing.T) {
	running := make(chan struct{})
	r := newRig(t, func(ctx context.Context, _ work.IterationRequest) (work.IterationReport, error) {
		close(running)
		<-ctx.Done()
		return work.IterationReport{Outcome: work.OutcomeInterrupted}, nil
	}, phases("01", "02"), human("phase.start"), func(sp *orchestrator.Spec) {
		ps := sp.Settings.Phases["01"]
		ps.Permission = work.PermissionAutonomous
		sp.Settings.Phases["01"] = ps
		sp.Policy.StartUnasked = "low_risk"
	})
	r.answers = true
	var id string
	r.journal.After = func(b engine.Batch) {
		for _, cp := range b.Opened {
			id = cp.ID
		}
	}
	go func() {
		<-running
		r.journal.Lock()
		defer r.journal.Unlock()
		r.journal.Answer(work.Answer{Checkpoint: id, Status: work.CheckpointRejected, Choice: orchestrator.ChoiceAbort, By: "test", Door: "cli"})
	}()
	r.ends(work.RunCancelled)
	if _, err := r.run(context.Background()); err == nil {
		t.Error("a cancelled run was driven on")
	}
}

// stopping is a context that is cancelled before the driver looks.
type stopping struct {
	context.Context
	done      chan struct{}
	cancelled atomic.Bool
}

func (s *stopping) Done() <-chan struct{} { return s.done }

func (s *stopping) Err() error {
	if s.cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// A stop that comes with a result, and is seen after it, ends the run as any
// other does.
func TestAStopThatIsSeenLate(t *testing.T) {
	for _, kind := range []work.EventKind{work.FolderStarted, work.IterationStarted, work.VerifyStarted, work.MergeStarted, work.LandStarted} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) { return ok("P01") })
			ctx := &stopping{Context: context.Background(), done: make(chan struct{})}
			r.journal.After = func(b engine.Batch) {
				for _, e := range b.Events {
					switch {
					case e.Kind == kind:
						ctx.cancelled.Store(true)
					case e.Kind == work.DeliverStarted:
						close(ctx.done)
					}
				}
			}
			got, err := r.run(ctx)
			if err != nil || got.Outcome != work.RunInterrupted && got.Outcome != work.RunCompleted {
				t.Fatalf("the run ended %q, %v", got.Outcome, err)
			}
		})
	}
}
