package embedded

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/internal/work"
	"forge/orchestrator"
)

// Reviews of a phase, and of several, are under way at once.
func TestReviewsRunInParallel(t *testing.T) {
	const all = 6
	port, here, together := passing(), make(chan struct{}), make(chan struct{})
	go func() {
		for range all {
			<-here
		}
		close(together)
	}()
	pass := port.answer
	port.answer = func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		here <- struct{}{}
		<-together // none answers before all were asked
		return pass(ctx, req)
	}
	r := busyRig(t, port, phases("01", "02"), reviewedBy("security", "architecture", "performance?"))
	r.ends(work.RunCompleted)
	if port.atOnce != all || len(port.asked) != all {
		t.Errorf("%d reviews, at most %d at once; want %d together", len(port.asked), port.atOnce, all)
	}
}

func TestReviewsOneByOne(t *testing.T) {
	port := passing()
	r := busyRig(t, port, reviewedBy("security", "architecture", "performance?"), reviewSetting(func(s *work.ReviewSettings) { s.OneByOne = true }))
	r.ends(work.RunCompleted)
	if port.atOnce != 1 || len(port.asked) != 3 {
		t.Errorf("%d reviews, at most %d at once; want 3, one by one", len(port.asked), port.atOnce)
	}
}

func TestReviewRequests(t *testing.T) {
	port := passing()
	pass, first := port.answer, true
	port.answer = func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		if req.Specialist.Name == "architecture" && first {
			first = false
			return work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major)}, nil
		}
		return pass(ctx, req)
	}
	port.judge = func(work.ArbiterRequest) (work.ArbiterAnswer, error) { return work.ArbiterAnswer{Verdict: "Fix"}, nil }
	r := busyRig(t, port, reviewedBy("security", "architecture"), arbiterModel, caps(work.Cost{IterationUSD: usd(2), RunUSD: usd(50)}), func(sp *orchestrator.Spec) {
		sp.Plan.Phases[0].Reasoning, sp.Plan.Phases[0].PhaseType = "the cache is too slow", "refactor"
		sp.Settings.Reviews.By, sp.Settings.Reviews.Model = "agent:a", "big"
		sp.Settings.Sandbox.Mode = "required"
		ps := sp.Settings.Phases["01"]
		ps.Reviewers[0].FocusAreas = []string{"keys"}
		sp.Settings.Phases["01"] = ps
	})
	r.ends(work.RunCompleted)
	security, architecture := port.of("01", "security"), port.of("01", "architecture")
	if len(security) != 2 || len(architecture) != 2 {
		t.Fatalf("security was asked %d times, architecture %d; want twice each", len(security), len(architecture))
	}
	q := security[0]
	one, two := r.repo.files(q.Commit), r.repo.files(security[1].Commit)
	if one["01.txt"] != "1" || two["01.txt"] != "2" {
		t.Errorf("reviewed are %v and %v, want the first and the second iteration's work", one, two)
	}
	if q.Base != "base" || security[1].Base != "base" || q.Since != "" || security[1].Since != q.Commit || architecture[1].Since != "" {
		t.Errorf("asked since %q, then %q; architecture since %q; on %s and %s", q.Since, security[1].Since, architecture[1].Since, q.Base, security[1].Base)
	}
	if q.Run != "sim" || q.PhaseName != "phase 01" || q.Ask != 1 || q.Specialist.FocusAreas[0] != "keys" || q.By != "agent:a" || q.Model != "big" || q.Agent.Name != "a" || q.Sandbox.Mode != "required" {
		t.Errorf("the request is %+v", q)
	}
	for _, want := range []string{"phase 01", "refactor", "the cache is too slow", "make test"} {
		if !strings.Contains(q.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, q.Summary)
		}
	}
	if q.CostUSD == nil || *q.CostUSD != 2 {
		t.Errorf("the review may cost %v, want the 2 of one iteration", q.CostUSD)
	}
	if !slices.Contains(q.HidePaths, r.layout.State) || !strings.HasPrefix(q.Dir, r.layout.State) || q.Dir == architecture[0].Dir || q.LogPath == architecture[0].LogPath || filepath.Ext(q.LogPath) != ".log" {
		t.Errorf("folders %s and %s, logs %s and %s, hidden %q", q.Dir, architecture[0].Dir, q.LogPath, architecture[0].LogPath, q.HidePaths)
	}
	marks := map[string]bool{}
	for _, req := range port.asked {
		marks[req.Mark] = true
	}
	if len(marks) != 4 || marks[""] {
		t.Errorf("the marks are %v, want four", marks)
	}
	if a := port.judged; len(a) != 1 || a[0].Model != "judge" || a[0].Base != "base" || a[0].Commit != q.Commit || len(a[0].Findings) != 1 || a[0].Most != 2 || a[0].Attempts != 0 || a[0].Summary != q.Summary {
		t.Errorf("the arbiter's model was asked %+v", a)
	}
}

// A second ask is told that it is one.
func TestAskAgain(t *testing.T) {
	port := passing()
	pass := port.answer
	port.answer = func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		if req.Ask < 3 {
			return work.ReviewReport{Verdict: work.VerdictUnknown, Why: "no answer"}, nil
		}
		return pass(ctx, req)
	}
	r := busyRig(t, port, reviewedBy("security"))
	r.now = hasty(r.now)
	r.ends(work.RunCompleted)
	asked := port.of("01", "security")
	if len(asked) != 3 || asked[2].Ask != 3 || asked[0].LogPath == asked[1].LogPath || asked[0].Since != "" {
		t.Errorf("asked were %+v", asked)
	}
}

func TestReviewsAndAStop(t *testing.T) {
	port := passing()
	pass := port.answer
	ctx, cancel := context.WithCancel(context.Background())
	answered := make(chan struct{})
	port.answer = func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		if req.Specialist.Name == "architecture" {
			<-answered
			cancel()
			<-ctx.Done()
			return work.ReviewReport{Verdict: work.VerdictPass}, nil // too late to count
		}
		return pass(ctx, req)
	}
	r := busyRig(t, port, reviewedBy("security", "architecture"))
	r.journal.After = func(b engine.Batch) {
		if slices.ContainsFunc(b.Events, func(e work.Event) bool { return e.Kind == work.ReviewFinished }) {
			close(answered)
		}
	}
	got, err := r.run(ctx)
	if err != nil || got.Outcome != work.RunInterrupted {
		t.Fatalf("the run ended %q, %v, want interrupted", got.Outcome, err)
	}
	if r.count(work.ReviewFinished) != 1 || port.dropped != 1 || len(r.journal.Running) != 0 {
		t.Errorf("%d reviews are on record, %d were dropped, %v still run; want 1, 1 and none", r.count(work.ReviewFinished), port.dropped, r.journal.Running)
	}
	r.journal.After, port.answer = nil, pass
	r.ends(work.RunCompleted)
	if n := len(port.of("01", "security")); n != 1 {
		t.Errorf("security was asked %d times, and had answered the first", n)
	}
	if n := len(port.of("01", "architecture")); n != 2 {
		t.Errorf("architecture was asked %d times, want again after the stop", n)
	}
}

// Whatever append fails around reviews, the next process comes to the same end,
// and asks nobody again whose answer is on record.
func TestEveryAppendAroundReviewsMayFail(t *testing.T) {
	begin := func(t *testing.T) (*rig, *reviewers) {
		port := passing()
		port.answer = func(_ context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
			if req.Since == "" && strings.HasSuffix(req.Commit, "01.txt=1;a.txt=base;") && req.Specialist.Name == "security" {
				return work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major)}, nil
			}
			return work.ReviewReport{Verdict: work.VerdictPass}, nil
		}
		port.judge = func(work.ArbiterRequest) (work.ArbiterAnswer, error) { return work.ArbiterAnswer{Verdict: "Fix"}, nil }
		return busyRig(t, port, reviewedBy("security", "architecture"), arbiterModel), port
	}
	whole, _ := begin(t)
	whole.ends(work.RunCompleted)
	want := map[string]string{"a.txt": "base", "01.txt": "2"}
	if got := whole.result(); !maps.Equal(got, want) || whole.count(work.ReviewFinished) != 4 || whole.count(work.ArbiterFinished) != 1 {
		t.Fatalf("the result is %v after %d reviews, want %v after 4", got, whole.count(work.ReviewFinished), want)
	}
	for k := 1; k <= whole.journal.Appends; k++ {
		r, port := begin(t)
		r.journal.FailAt = k
		if _, err := r.run(context.Background()); !errors.Is(err, enginetest.ErrDiskFull) {
			t.Fatalf("append %d: the run ended with %v, want the journal's error", k, err)
		}
		if n := r.count(work.ReviewStarted); len(port.asked) > n {
			t.Errorf("append %d: %d reviews ran, %d are on record", k, len(port.asked), n)
		}
		r.ends(work.RunCompleted)
		if got := r.result(); !maps.Equal(got, want) {
			t.Errorf("append %d: the result is %v, want %v", k, got, want)
		}
		if n := r.count(work.ReviewFinished); n != 4 {
			t.Errorf("append %d: %d reviews came to an end, want 4", k, n)
		}
	}
}

func TestReviewsThatCannotBeCarriedOut(t *testing.T) {
	ends := func(t *testing.T, r *rig, why string) {
		t.Helper()
		r.ends(work.RunFailed)
		var d work.PhaseFinishedData
		for _, e := range r.journal.Events {
			if e.Kind == work.PhaseFinished {
				if err := work.Decode(e, &d); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d.Outcome != work.PhaseFailed || d.Reason != work.ReasonInternal || !strings.Contains(d.Detail, why) || r.count(work.PhaseMerged) != 0 {
			t.Errorf("the phase ended %+v after %d merges, want internal: %s", d, r.count(work.PhaseMerged), why)
		}
	}
	t.Run("there is no port", func(t *testing.T) {
		r := busyRig(t, nil, reviewedBy("security"))
		r.reviewers = nil
		ends(t, r, "nobody can be asked")
	})
	t.Run("Forge's own part fails, and the other reviews end with it", func(t *testing.T) {
		port := passing()
		port.answer = func(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
			if req.Specialist.Name == "security" {
				return work.ReviewReport{Verdict: work.VerdictPass}, errors.New("no space left")
			}
			<-ctx.Done()
			return work.ReviewReport{Verdict: work.VerdictPass}, nil
		}
		r := busyRig(t, port, reviewedBy("security", "architecture"))
		ends(t, r, "no space left")
		if port.dropped != 1 || port.going != 0 {
			t.Errorf("%d reviews were ended, %d still run", port.dropped, port.going)
		}
	})
	t.Run("the arbiter's model cannot be asked", func(t *testing.T) {
		port := passing()
		port.answer = func(context.Context, work.ReviewRequest) (work.ReviewReport, error) {
			return work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(minor)}, nil
		}
		port.judge = func(work.ArbiterRequest) (work.ArbiterAnswer, error) {
			return work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)}, errors.New("no blob folder")
		}
		ends(t, busyRig(t, port, reviewedBy("security"), arbiterModel), "no blob folder")
	})
}

// What of the merged tree is not what was reviewed is reviewed again: files of
// the phase that others changed too, and none else.
func TestWhatTheMergeMakesDiffer(t *testing.T) {
	for name, both := range map[string]string{"others changed other files": "", "others made the same change": "same"} {
		t.Run(name, func(t *testing.T) {
			port := passing()
			var r *rig
			r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
				r.repo.write(req.Dir, req.Phase+".txt", "x")
				if both != "" {
					r.repo.write(req.Dir, "both.txt", both)
				}
				return ok("P" + req.Phase)
			}, phases("01", "02"), reviewedBy("security"))
			r.reviewers = port
			r.ends(work.RunCompleted)
			if moved, differs := r.merges(t); moved != 1 || len(differs) != 0 {
				t.Errorf("%d merges were onto a moved head, %q differ; want 1 and none", moved, differs)
			}
			if len(port.asked) != 2 {
				t.Errorf("%d reviews, want one of each phase", len(port.asked))
			}
		})
	}
	t.Run("a conflict that is resolved", func(t *testing.T) {
		port := passing()
		var r *rig
		r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
			content := "of " + req.Phase
			if req.Iteration == 2 {
				content = "both"
			}
			r.repo.write(req.Dir, "both.txt", content)
			return ok("P" + req.Phase)
		}, phases("01", "02"), reviewedBy("security"))
		r.reviewers = port
		r.ends(work.RunCompleted)
		if r.result()["both.txt"] != "both" || len(port.asked) != 3 {
			t.Fatalf("the result is %v after %d reviews, want 3", r.result(), len(port.asked))
		}
		again := port.asked[2]
		if before := port.of(again.Phase, "security")[0]; again.Since != before.Commit || again.Base == before.Base || r.repo.files(again.Base)["both.txt"] == "base" || r.repo.files(again.Commit)["both.txt"] != "both" {
			t.Errorf("the resolution was asked about as %+v", again)
		}
	})
}

// merges counts those onto a moved head, and collects what they made differ.
func (r *rig) merges(t *testing.T) (moved int, differs []string) {
	t.Helper()
	for _, e := range r.journal.Events {
		var d orchestrator.MergeFinishedData
		if e.Kind != work.MergeFinished {
			continue
		}
		if err := work.Decode(e, &d); err != nil {
			t.Fatal(err)
		}
		if d.Moved {
			moved++
		}
		differs = append(differs, d.Differs...)
	}
	return moved, differs
}

// What reviews and the arbiter's model consume is in the books of the day.
func TestReviewsInTheDaysBooks(t *testing.T) {
	port := passing()
	port.answer = func(_ context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		rep := work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(minor), Usage: costs(0.25, 100)}
		if req.Specialist.Name == "performance" {
			rep.Usage = work.Usage{}
		}
		return rep, nil
	}
	port.judge = func(work.ArbiterRequest) (work.ArbiterAnswer, error) {
		return work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1), Usage: costs(0.5, 7)}, nil
	}
	r := busyRig(t, port, reviewedBy("security", "performance?"), arbiterModel, caps(work.Cost{IterationUSD: usd(1)}))
	r.ends(work.RunCompleted)
	var books []engine.UsageEntry
	for _, b := range r.journal.Batches {
		books = append(books, b.Usage...)
	}
	for step, want := range map[string][2]float64{"iterate": {1, -1}, "review-security": {0.25, 100}, "review-performance": {1, -1}, "arbiter": {0.5, 7}} {
		found := false
		for _, u := range books {
			if !strings.HasPrefix(string(u.Command), "sim/01/1/1/"+step) {
				continue
			}
			tokens := int64(-1)
			if u.Tokens != nil {
				tokens = *u.Tokens
			}
			if found = true; u.USD == nil || *u.USD != want[0] || tokens != int64(want[1]) {
				t.Errorf("%s is in the books as %+v with %d tokens, want %v; silence leaves the reservation", u.Command, u.USD, tokens, want)
			}
		}
		if !found {
			t.Errorf("%s is not in the books", step)
		}
	}
	if len(books) != 4 {
		t.Errorf("%d rows are in the books, want 4", len(books))
	}
}

// A person's yes lands what was found, and a run that nobody answers freezes.
func TestFindingsFreezeTheRun(t *testing.T) {
	port := passing()
	port.answer = func(context.Context, work.ReviewRequest) (work.ReviewReport, error) {
		return work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(critical)}, nil
	}
	r := busyRig(t, port, reviewedBy("security"), asksOnFail, fixes(0))
	r.ends(work.RunFrozen)
	var id string
	for _, cp := range r.journal.Records {
		if id = cp.ID; cp.Kind != string(gates.PointFindings) || !cp.ReasonDue {
			t.Errorf("asked is %+v", cp)
		}
	}
	r.journal.Answer(work.Answer{Checkpoint: id, Status: work.CheckpointApproved, By: "test", Door: "cli"})
	r.ends(work.RunFrozen)
	r.journal.Answer(work.Answer{Checkpoint: id, Status: work.CheckpointApproved, Comment: "known", By: "test", Door: "cli"})
	r.ends(work.RunCompleted)
	if r.result()["01.txt"] != "1" || len(port.asked) != 1 {
		t.Errorf("the result is %v after %d reviews", r.result(), len(port.asked))
	}
}
