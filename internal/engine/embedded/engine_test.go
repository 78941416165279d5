package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/internal/work"
	"forge/orchestrator"
	"go.uber.org/goleak"
)

// rig is a run with everything around it but the driver faked, over as many
// processes as a test wants.
type rig struct {
	t        *testing.T
	spec     orchestrator.Spec
	journal  *enginetest.Journal
	repo     *repository
	checks   *checks
	marks    *enginetest.Processes
	agent    agents
	layout   effect.Layout
	now      func() time.Time
	answers  bool
	deadline time.Time
	marked   atomic.Int64
	started  atomic.Int64 // agents
	// reviewers is nil where nobody can be asked.
	reviewers effect.Reviewers
	room      func() error
	proofs    effect.Proofs // nil = nobody remembers any
}

func newRig(t *testing.T, agent agents, change ...func(*orchestrator.Spec)) *rig {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	repo := newRepository()
	return &rig{
		t: t, spec: specOf(t, change...), repo: repo, checks: &checks{repository: repo}, marks: &enginetest.Processes{}, agent: agent, now: clock(),
		journal: enginetest.NewJournal(),
		layout:  effect.Layout{State: t.TempDir(), Checkout: t.TempDir()},
	}
}

// run is one process: what the journal holds, and then on.
func (r *rig) run(ctx context.Context) (work.RunFinishedData, error) {
	r.t.Helper()
	s, err := orchestrator.NewState("sim", r.spec)
	if err != nil {
		r.t.Fatal(err)
	}
	first := orchestrator.Fact(orchestrator.Opened{Inline: &r.spec})
	for _, e := range r.journal.Events {
		if err := orchestrator.Apply(s, e); err != nil {
			r.t.Fatal(err)
		}
		first = orchestrator.Resumed{}
	}
	d := &Engine{
		Journal: r.journal, Processes: r.marks, Now: r.now, NewMark: func() string { return fmt.Sprintf("mark-%d", r.marked.Add(1)) },
		Answers: r.answers, Deadline: r.deadline, Room: r.room,
		Effects: wired{t: r.t, Machine: &effect.Machine{
			Repo: r.repo, Checks: r.checks, Evidence: judge{r.repo}, Layout: r.layout, Now: r.now, Reviewers: r.reviewers, Proofs: r.proofs,
			Agents: agents(func(ctx context.Context, req work.IterationRequest) (work.IterationReport, error) {
				r.started.Add(1)
				return r.agent(ctx, req)
			}),
		}},
	}
	return d.Run(ctx, s, first)
}

// wired carries out what an effect is after its way as JSON, and tells what the
// fact is after its own: nothing else gets to another machine.
type wired struct {
	*effect.Machine
	t *testing.T
}

func (w wired) Do(ctx context.Context, e orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	data, err := orchestrator.EncodeEffect(e)
	if err == nil {
		e, err = orchestrator.DecodeEffect(data)
	}
	if err != nil {
		w.t.Errorf("%+v: %v", e, err)
	}
	fact := w.Machine.Do(ctx, e, a)
	if fact == nil {
		return nil
	}
	if data, err = orchestrator.EncodeFact(fact); err == nil {
		fact, err = orchestrator.DecodeFact(data)
	}
	if err != nil {
		w.t.Errorf("%+v: %v", fact, err)
	}
	return fact
}

// ends runs one process and wants it to end so.
func (r *rig) ends(want work.RunOutcome) {
	r.t.Helper()
	got, err := r.run(context.Background())
	if err != nil || got.Outcome != want {
		r.t.Fatalf("the run ended %q (%s), %v; want %s; the last events are\n%s", got.Outcome, got.Reason, err, want, tail(r.journal.Events, 12))
	}
}

// result is the tree on the branch in the user's repository.
func (r *rig) result() map[string]string { return r.repo.files(r.repo.delivered["forge/run-sim"]) }

func (r *rig) count(kind work.EventKind) (n int) {
	for _, e := range r.journal.Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func ok(claims ...string) (work.IterationReport, error) {
	return work.IterationReport{Outcome: work.OutcomeOK, Session: "s", Claims: claims, Sandbox: "bubblewrap"}, nil
}

// diligent writes one file per iteration and claims in the second one. Its
// phase 01 asks for a sub-phase first; its phase 02 is red at first.
func diligent(r **rig) agents {
	return func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		content := "good"
		if req.Phase == "02" && req.Iteration == 2 {
			content = "red"
		}
		(*r).repo.write(req.Dir, req.Phase+".txt", content)
		rep, err := ok()
		switch {
		case req.Phase == "01" && req.Iteration == 1:
			rep.Signals.SubPhases = []work.SubPhaseRequest{part("S", 2)}
		case req.Phase == "01.1":
			rep.Claims = []string{"S"}
		case req.Iteration > 1:
			rep.Claims = []string{"P" + req.Phase}
		}
		return rep, err
	}
}

func diligentRig(t *testing.T) *rig {
	t.Helper()
	var r *rig
	r = newRig(t, diligent(&r), phases("01", "02", "03 after 01,02"))
	return r
}

var diligentResult = map[string]string{"a.txt": "base", "01.txt": "good", "01.1.txt": "good", "02.txt": "good", "03.txt": "good"}

func TestToTheEnd(t *testing.T) {
	r := diligentRig(t)
	r.ends(work.RunCompleted)
	if got := r.result(); !maps.Equal(got, diligentResult) {
		t.Errorf("the result is %v, want %v", got, diligentResult)
	}
	if n, want := r.count(work.IterationFinished), 2+1+3+2; n != want {
		t.Errorf("%d iterations were done, want %d", n, want)
	}
	if len(r.journal.Running) > 0 {
		t.Errorf("these are still on record as running: %v", r.journal.Running)
	}
	var last work.RunFinishedData
	if err := work.Decode(r.journal.Events[len(r.journal.Events)-1], &last); err != nil || last.Outcome != work.RunCompleted || last.Branch != "forge/run-sim" {
		t.Errorf("the last event says %+v, %v", last, err)
	}
	if _, err := r.run(context.Background()); err == nil {
		t.Error("a completed run was driven on")
	}
}

// Caches that later proofs are lent are filled by the base alone, and by that
// only where it is what a person last accepted.
func TestTheAcceptedBaseAloneFillsCaches(t *testing.T) {
	for name, c := range map[string]struct {
		trusted string
		files   map[string]string
		want    []string
	}{
		"no trusted state beside the base": {want: []string{"base"}},
		"the same content":                 {"trusted", map[string]string{"a.txt": "base"}, []string{"base"}},
		"other evidence":                   {"trusted", map[string]string{"a.txt": "other"}, nil},
		"nobody knows":                     {trusted: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			r := diligentRig(t)
			r.spec.Trusted = c.trusted
			if c.files != nil {
				r.spec.Trusted = r.repo.commit(r.repo.tree(c.files), "base")
			}
			_, _ = r.run(context.Background()) // however it ends
			if !slices.Equal(r.checks.filled, c.want) {
				t.Errorf("the proofs of %q fill caches, want %q", r.checks.filled, c.want)
			}
		})
	}
}

// TestAProofSaysWhichTestsPassed: of claims, where test runners are asked about
// them; never of the base.
func TestAProofSaysWhichTestsPassed(t *testing.T) {
	for _, controls := range []bool{true, false} {
		r := diligentRig(t)
		r.spec.Settings.Proof.NoControls = !controls
		_, _ = r.run(t.Context()) // however it ends
		if r.checks.verified < 2 || (len(r.checks.asked) > 0) != controls || slices.Contains(r.checks.asked, "base") {
			t.Errorf("controls %v: %d verifies, asked of %q", controls, r.checks.verified, r.checks.asked)
		}
	}
}

// In the long run an iteration costs one write: its end and the start of the
// next one are one append.
func TestOneAppendPerIteration(t *testing.T) {
	const n = 50
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		r.repo.write(req.Dir, "a.txt", fmt.Sprint(req.Iteration))
		return ok()
	}, budget(n))
	r.ends(work.RunFailed)
	together := 0
	for _, b := range r.journal.Batches {
		kinds := map[work.EventKind]int{}
		for _, e := range b.Events {
			kinds[e.Kind]++
		}
		if kinds[work.IterationStarted] > 0 && kinds[work.IterationFinished] > 0 {
			together++
		}
	}
	if together != n-1 {
		t.Errorf("of %d iterations %d began in the append that ended the one before, want %d", n, together, n-1)
	}
	if most := n + 10; r.journal.Appends > most {
		t.Errorf("%d appends for %d iterations, want at most %d", r.journal.Appends, n, most)
	}
}

// Whatever append fails, the process ends with the error, starts nothing after
// it, and the next one comes to the same end.
func TestEveryAppendMayFail(t *testing.T) {
	whole := diligentRig(t)
	whole.ends(work.RunCompleted)
	for k := 1; k <= whole.journal.Appends; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			r := diligentRig(t)
			r.journal.FailAt = k
			_, err := r.run(context.Background())
			if !errors.Is(err, enginetest.ErrDiskFull) {
				t.Fatalf("the run ended with %v, want the journal's error", err)
			}
			if r.journal.Appends != k {
				t.Errorf("%d appends were tried, want none after the one that failed, %d", r.journal.Appends, k)
			}
			if begun, started := int64(r.count(work.IterationStarted)), r.started.Load(); started > begun {
				t.Errorf("%d agents ran, %d are on record", started, begun)
			}
			r.ends(work.RunCompleted)
			if got := r.result(); !maps.Equal(got, diligentResult) {
				t.Errorf("the result is %v, want %v", got, diligentResult)
			}
			if n := r.count(work.IterationFinished); n != whole.count(work.IterationFinished) {
				t.Errorf("%d iterations came to an end, want %d", n, whole.count(work.IterationFinished))
			}
			if len(r.journal.Running) > 0 {
				t.Errorf("these are still on record as running: %v", r.journal.Running)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var r *rig
	r = newRig(t, func(agent context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if junk := r.repo.folders[req.Dir]["junk.txt"]; junk != "" || req.Iteration != 1 {
			t.Errorf("attempt %d at iteration %d runs on %q", req.Attempt, req.Iteration, junk)
		}
		if req.Attempt == 1 {
			r.repo.write(req.Dir, "junk.txt", "half done")
			cancel()
			<-agent.Done()
			return work.IterationReport{Outcome: work.OutcomeInterrupted}, nil
		}
		r.repo.write(req.Dir, "01.txt", "done")
		return ok("P01")
	})
	got, err := r.run(ctx)
	if err != nil || got.Outcome != work.RunInterrupted {
		t.Fatalf("the run ended %q, %v, want interrupted", got.Outcome, err)
	}
	r.ends(work.RunCompleted)
	if got := r.result()["01.txt"]; got != "done" {
		t.Errorf("the result is %q", got)
	}
}

// What an agent did whose end is not on record is not in the folder when its
// iteration runs again.
func TestUnrecordedWorkIsGone(t *testing.T) {
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if junk := r.repo.folders[req.Dir]["junk.txt"]; junk != "" {
			t.Errorf("attempt %d at iteration %d runs on %q", req.Attempt, req.Iteration, junk)
		}
		r.repo.write(req.Dir, fmt.Sprintf("%d.txt", req.Iteration), "done")
		if req.Iteration < 2 {
			return ok()
		}
		if req.Attempt == 1 {
			r.repo.write(req.Dir, "junk.txt", "half done")
			r.journal.FailAt = r.journal.Appends + 1
		}
		return ok("P01")
	})
	if _, err := r.run(context.Background()); !errors.Is(err, enginetest.ErrDiskFull) {
		t.Fatalf("the run ended with %v, want the journal's error", err)
	}
	r.ends(work.RunCompleted)
	if got, want := r.result(), map[string]string{"a.txt": "base", "1.txt": "done", "2.txt": "done"}; !maps.Equal(got, want) {
		t.Errorf("the result is %v, want %v", got, want)
	}
}

// A stop may come at any time, also between a result and what follows from it.
func TestInterruptAtAnyTime(t *testing.T) {
	for at := range 30 {
		r := diligentRig(t)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		r.journal.After = func(engine.Batch) {
			if n++; n == at+1 {
				cancel()
			}
		}
		got, err := r.run(ctx)
		cancel()
		if err != nil || got.Outcome != work.RunInterrupted && got.Outcome != work.RunCompleted {
			t.Fatalf("cancelled at append %d the run ended %q, %v", at+1, got.Outcome, err)
		}
		if got.Outcome == work.RunInterrupted {
			r.ends(work.RunCompleted)
		}
		if got := r.result(); !maps.Equal(got, diligentResult) {
			t.Errorf("cancelled at append %d the result is %v, want %v", at+1, got, diligentResult)
		}
	}
}

func TestDeadline(t *testing.T) {
	r := newRig(t, func(ctx context.Context, _ work.IterationRequest) (work.IterationReport, error) {
		<-ctx.Done()
		return work.IterationReport{Outcome: work.OutcomeInterrupted}, nil
	})
	r.now = time.Now
	r.deadline = time.Now().Add(50 * time.Millisecond)
	got, err := r.run(context.Background())
	if err != nil || got.Outcome != work.RunLimit || !strings.Contains(got.Reason, "deadline") {
		t.Fatalf("the run ended %q (%s), %v, want limit by the deadline", got.Outcome, got.Reason, err)
	}
}

// What a dead process left running is ended before anything is done.
func TestLeftovers(t *testing.T) {
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if !slices.Contains(r.marks.Ended, "old mark") {
			t.Error("an agent runs beside what a dead process left")
		}
		return ok("P01")
	})
	r.journal.Running[engine.Attempt{Command: "sim/01/1/1/iterate", Mark: "old mark"}] = true
	r.marks.Err = errors.New("it does not end")
	if _, err := r.run(context.Background()); err == nil || r.started.Load() > 0 || len(r.journal.Events) > 0 {
		t.Fatalf("with processes that do not end the run ended %v, after %d agents and %d events", err, r.started.Load(), len(r.journal.Events))
	}
	r.marks.Err = nil
	r.ends(work.RunCompleted)
	if len(r.journal.Running) > 0 {
		t.Errorf("these are still on record as running: %v", r.journal.Running)
	}
}

func TestAnswersWhileRunning(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointPhaseStart, gates.PointFinal)(&r.spec)
	r.answers = true
	r.journal.After = func(b engine.Batch) {
		for _, cp := range b.Opened {
			if cp.Kind != string(gates.PointSubPhase) {
				r.journal.Answer(work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, By: "test", Door: "cli"})
			}
		}
	}
	r.ends(work.RunCompleted)
	if len(r.journal.Waiting) > 0 || r.count(work.CheckpointAnswered) != 4 {
		t.Errorf("%d answers are left, %d were heard; want none and 4", len(r.journal.Waiting), r.count(work.CheckpointAnswered))
	}
	for _, b := range r.journal.Batches {
		answered := 0
		for _, e := range b.Events {
			if e.Kind == work.CheckpointAnswered {
				answered++
			}
		}
		if answered != len(b.Consumed) {
			t.Errorf("an append has %d answers and takes %d rows", answered, len(b.Consumed))
		}
	}
}

// An answer that comes in while its owner is about to freeze is heard.
func TestAnswerJustBeforeTheFreeze(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointFinal)(&r.spec)
	r.journal.After = func(b engine.Batch) {
		for _, cp := range b.Opened {
			r.journal.Answer(work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, By: "test", Door: "cli"})
		}
	}
	r.ends(work.RunCompleted)
}

func TestFreezeAndResume(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointFinal)(&r.spec)
	r.ends(work.RunFrozen)
	r.ends(work.RunFrozen) // nobody answered
	for id := range r.journal.Records {
		r.journal.Answer(work.Answer{Checkpoint: id, Status: work.CheckpointApproved, By: "test", Door: "cli"})
	}
	r.ends(work.RunCompleted)
	if got := r.result(); !maps.Equal(got, diligentResult) {
		t.Errorf("the result is %v, want %v", got, diligentResult)
	}
}
