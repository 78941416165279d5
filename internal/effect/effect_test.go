package effect

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// changed is a repository that knows what changed between two commits.
type changed struct {
	Repo
	between map[string][]string // "from to" → paths
}

func (r changed) Changes(_ context.Context, from, to string) ([]work.FileChange, error) {
	var out []work.FileChange
	for _, path := range r.between[from+" "+to] {
		out = append(out, work.FileChange{Path: path, Status: "M"})
	}
	return out, nil
}

// differs tells what reviewers did not see: neither what is as it was reviewed,
// nor what is none of the phase's.
func TestDiffers(t *testing.T) {
	m := &Machine{Repo: changed{between: map[string][]string{"head merged": {"a", "b", "d"}, "last merged": {"b", "c"}}}}
	got, err := m.differs(t.Context(), "head", "last", "merged")
	if err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q differ, %v; want b alone", got, err)
	}
}

// What an agent says of its work on a full disk does not count, whoever noticed that it
// was full; an outcome that claims nothing stays what it is.
func TestOnAFullDiskNothingIsClaimed(t *testing.T) {
	said := work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{"DONE"}}
	if got := believed(said, nil); got.Outcome != work.OutcomeOK || !slices.Equal(got.Claims, said.Claims) {
		t.Errorf("with room %q, %q", got.Outcome, got.Claims)
	}
	logged := said
	logged.Short = "the disk is full"
	for name, got := range map[string]work.IterationReport{
		"its log":    believed(logged, nil),
		"its folder": believed(said, &shortage.NoRoom{Path: "/work", Need: 2, Have: 1}),
	} {
		if got.Outcome != work.OutcomeAgentFailed || len(got.Claims) > 0 || !strings.Contains(got.Detail, "is full while it worked") {
			t.Errorf("%s was full: %q, %q, %q", name, got.Outcome, got.Claims, got.Detail)
		}
	}
	logged.Outcome = work.OutcomeRateLimited
	if got := believed(logged, nil); got.Outcome != work.OutcomeRateLimited {
		t.Errorf("refused by its provider: %q", got.Outcome)
	}
}

// short is an agent whose machine ran out of room while it worked, and the rest of what
// an iteration needs.
type short struct {
	Repo
	Checks
}

func (short) Iterate(context.Context, work.IterationRequest, func(work.Activity)) (work.IterationReport, error) {
	return work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{"DONE"}, Short: "the disk is full"}, nil
}

func (short) Links(context.Context, string, work.Worktree) ([]string, error) { return nil, nil }
func (short) ObjectPaths() []string                                          { return nil }
func (short) Snapshot(context.Context, string, string, string, string) (work.Snapshot, error) {
	return work.Snapshot{Commit: "kept"}, nil
}

// What such an agent made is kept, and its claim is not.
func TestAnIterationOnAFullDisk(t *testing.T) {
	var s short
	m := &Machine{Agents: s, Repo: s, Checks: s, Layout: Layout{State: t.TempDir()}}
	request := work.IterationRequest{Run: "r", Phase: "01", Iteration: 1, Attempt: 1}
	done, ok := m.iterate(t.Context(), orchestrator.IterateEffect{Request: request}, Attending{}).(orchestrator.IterationDone)
	if !ok || done.Report.Outcome != work.OutcomeAgentFailed || len(done.Report.Claims) > 0 || done.Report.Short != "" || done.Snapshot.Commit != "kept" {
		t.Errorf("%+v", done)
	}
}

// TestDependenciesAreFetchedByTheBase: where the dependencies are new, the base
// runs for what it leaves in the caches of tools.
func TestDependenciesAreFetchedByTheBase(t *testing.T) {
	for file, want := range map[string]bool{
		"go.mod": true, "web/package-lock.json": true, "Cargo.lock": true, "requirements-dev.txt": true, "app/build.gradle.kts": true,
		"main.go": false, "docs/lock.md": false, "test_requirements_of_law.go": false,
	} {
		if got := namesDependencies(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
	m := &Machine{Repo: changed{}}
	c := orchestrator.Command{On: work.OnBase, Commit: "base"}
	of := orchestrator.Proof{Verify: work.VerifyRequest{Accepted: true}}
	if m.fills(t.Context(), c, of, work.ProvenBefore{Filled: true}) || !m.fills(t.Context(), c, of, work.ProvenBefore{}) {
		t.Error("what filled caches need not fill them again, and what nobody knows the base of has to")
	}
	if m.fills(t.Context(), c, of, work.ProvenBefore{Base: "base"}) {
		t.Error("nothing changed, and the caches are to be filled")
	}
	if of.Verify.Accepted = false; m.fills(t.Context(), c, of, work.ProvenBefore{}) {
		t.Error("work that nobody accepted is to fill caches")
	}
}

// deaf is a host that answers nothing.
type deaf struct{ Host }

func (deaf) Close(ctx context.Context, _ orchestrator.PullClose) (*work.PullTrouble, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// What ends at once does not wait for its host, nor what is told to end while it
// waits already.
func TestClosingDoesNotWaitForLong(t *testing.T) {
	took := func(t *testing.T, ctx context.Context, ending bool) time.Duration {
		t.Helper()
		begin := time.Now()
		fact := (&Machine{Host: deaf{}}).Do(ctx, orchestrator.CloseEffect{Ending: ending}, Attending{})
		if done := fact.(orchestrator.CloseDone); done.Trouble == nil || !done.Trouble.Passes {
			t.Errorf("%+v", done)
		}
		return time.Since(begin)
	}
	t.Run("Ending", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if got := took(t, t.Context(), true); got != CloseWait {
				t.Errorf("it took %v", got)
			}
		})
	})
	t.Run("Interrupted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const before = time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), before)
			defer cancel()
			if got := took(t, ctx, false); got != before+CloseWait {
				t.Errorf("it took %v", got)
			}
		})
	})
}

// strange is an effect of another release.
type strange struct{ orchestrator.Effect }

func (strange) Of() orchestrator.Command { return orchestrator.Command{ID: "r/01/1/1/strange"} }

// What a machine does not know is neither done nor judged.
func TestUnknownEffect(t *testing.T) {
	fact := (&Machine{}).Do(t.Context(), strange{}, Attending{})
	if broke, ok := fact.(orchestrator.Broke); !ok || broke.Command.ID != "r/01/1/1/strange" || broke.Problem == "" {
		t.Errorf("it came to %+v", fact)
	}
}
