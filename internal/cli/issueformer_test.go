package cli

import (
	"testing"
	"time"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/runs"
	"forge/internal/work"
)

// A program of before landings had events died while it verified a result, or had
// it shown already and found that it conflicts. What it left is a run that is over,
// an attempt under the one id that all its tries had, and a card: that is taken up.
func TestIssueWhoseLandingAFormerProgramLeft(t *testing.T) {
	pace.Slow(t, "two issues are worked on")
	t.Parallel()
	for name, c := range map[string]struct {
		conflict bool
		text     string
		commits  int
	}{
		"it was verified":   {false, "one\ntwo\n", 2},
		"it had conflicted": {true, "of main\none\ntwo\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := issueHub(t, "end_to_end")
			sh, i := s.worker()
			ctx := t.Context()
			i, err := sh.Edit(ctx, i.ID, i.Version, func(i *work.Issue) error { i.Run, i.Branch = "i1-former", "forge/issue-1-write-it"; return nil }, factory.By{Name: "factory", Door: "test"})
			if err != nil {
				t.Fatal(err)
			}
			if ended, err := sh.Drive(ctx, factory.Order{Issue: i}); err != nil || ended.Outcome != work.RunCompleted || !ended.Promoted {
				t.Fatalf("%+v, %v", ended, err)
			}
			lease, err := sh.Journal.AcquireRun(ctx, i.Run, journal.Self())
			if err != nil {
				t.Fatal(err)
			}
			note := journal.AttemptRow{Run: i.Run, Command: "i1-former/landing/1/1/verify", Mark: runs.NewMark(), Started: time.Now()}
			if err := sh.Journal.PutAttempt(ctx, lease, note); err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
			if c.conflict {
				s.push("main", map[string]string{"out.txt": "of main\n"})
				s.write(".forge/agent.toml", conflictScript(c.text))
				if _, err := sh.Edit(ctx, i.ID, i.Version, func(i *work.Issue) error { i.Hold = []string{factory.HoldLandingConflict}; return nil }, factory.By{Name: "factory", Door: "test"}); err != nil {
					t.Fatal(err)
				}
			}
			s.forge("factory", "--once").want(exitDone)
			s.landed(c.text, c.commits)
			if left, err := sh.Journal.Attempts(ctx, "i1-former"); err != nil || len(left) > 0 {
				t.Errorf("left running: %+v, %v", left, err)
			}
			s.landedOnce()
			s.forge("why", "--run", s.run()).want(exitDone).says("landed on main as")
		})
	}
}

// landedOnce says that the last run of the issue has landed once, and that no two
// tries of it share a command id.
func (s *issueWorld) landedOnce() {
	t := s.t
	t.Helper()
	sh, i := s.worker()
	evs, err := sh.Journal.Events(t.Context(), i.Run, 0)
	if err != nil {
		t.Fatal(err)
	}
	landed, begun, ids := 0, 0, map[work.CommandID]int{}
	for _, e := range evs {
		switch e.Kind {
		case work.LandingBegan:
			begun++
		case work.LandingStarted:
			var d landing.StartedData
			if err := work.Decode(e, &d); err != nil {
				t.Fatal(err)
			}
			if was, known := ids[d.Command]; known && was != begun && d.Step != landing.StepTidy {
				t.Errorf("tries %d and %d share the id %s", was, begun, d.Command)
			}
			ids[d.Command] = begun
		case work.LandingDecided:
			var d landing.DecidedData
			if err := work.Decode(e, &d); err != nil {
				t.Fatal(err)
			}
			if d.Decision == landing.DecideLanded {
				landed++
			}
		}
	}
	if landed != 1 || len(ids) == 0 {
		t.Errorf("landed %d times, in %d tries of %d steps", landed, begun, len(ids))
	}
}
