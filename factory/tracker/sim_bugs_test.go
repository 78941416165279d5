package tracker

import (
	"context"
	"strings"
	"testing"

	"forge/factory"
	"forge/internal/pace"
	"forge/internal/work"
)

// simBug is one way in which following a tracker can be broken.
type simBug struct {
	ask  func(w *simWorld, i work.Issue, right func(work.Issue) factory.Asked) factory.Asked
	once func(w *simWorld) error
	sync func(w *simWorld, s *Sync)
}

// openHost takes everybody for a writer.
type openHost struct{ *simWorld }

func (o openHost) Read(ctx context.Context, n int64) (Reading, error) {
	r, err := o.simWorld.Read(ctx, n)
	r.Writers = map[string]bool{ann: true, eve: true}
	return r, err
}

// forgetful does not remember which calls were heard.
type forgetful struct{ *simStore }

func (f forgetful) HearTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	if c == nil {
		return nil
	}
	_, err := f.ChangeBoard(ctx, *c)
	return err
}

// ahead remembers that an issue was told before it is.
type ahead struct{ *simWorld }

func (a ahead) Post(ctx context.Context, n int64, r Report) error {
	if err := a.trouble(); err != nil && len(a.issues[n].said) > 0 {
		return nil
	}
	return a.simWorld.Post(ctx, n, r)
}

// TestReconcilingFindsBugs shows that the simulation finds what it is there to
// find, each for the reason that it should.
func TestReconcilingFindsBugs(t *testing.T) {
	pace.Sequential(t, "worlds of one goroutine")
	for _, c := range []struct {
		name string
		bug  simBug
		want string
	}{
		{"nobody asks before a claim", simBug{ask: func(w *simWorld, _ work.Issue, _ func(work.Issue) factory.Asked) factory.Asked {
			return factory.Asked{Says: factory.WantedYes}
		}}, "nobody asked the tracker"},
		{"unknown is a yes", simBug{ask: func(_ *simWorld, i work.Issue, right func(work.Issue) factory.Asked) factory.Asked {
			a := right(i)
			if a.Says == factory.WantedUnknown {
				a.Says = factory.WantedYes
			}
			return a
		}}, "the tracker"},
		{"what was wanted once is wanted for ever", simBug{ask: func(w *simWorld, i work.Issue, right func(work.Issue) factory.Asked) factory.Asked {
			if i.Run != "" && i.Column == work.ColumnInProgress && w.jobs[i.ID] != nil {
				return factory.Asked{Says: factory.WantedYes}
			}
			return right(i)
		}}, "lands, and the tracker does not want it"},
		{"only what is told is looked at", simBug{once: func(w *simWorld) error {
			numbers, next, err := w.Changed(w.ctx, w.store.mark)
			if err == nil {
				_, _, err = w.sync.takeAll(w.ctx, numbers)
			}
			if err == nil {
				err = w.store.SetTrackerMark(w.ctx, w.Name(), next)
			}
			if err == nil {
				err = w.sync.tell(w.ctx)
			}
			return err
		}}, "is worked on, and the tracker does not want it"},
		{"what could not be read counts as read", simBug{once: func(w *simWorld) error {
			_, next, _ := w.Changed(w.ctx, w.store.mark)
			err := w.sync.Once(w.ctx)
			_ = w.store.SetTrackerMark(w.ctx, w.Name(), next)
			return err
		}}, "is wanted, and"},
		{"what was not said counts as said", simBug{sync: func(w *simWorld, s *Sync) { s.Host = ahead{w} }}, "stands as"},
		{"everybody counts as a writer", simBug{sync: func(w *simWorld, s *Sync) { s.Host = openHost{w} }}, "eve changed"},
		{"calls are forgotten", simBug{sync: func(w *simWorld, s *Sync) { s.Store = forgetful{w.store} }}, "was acted on"},
	} {
		found := ""
		for seed := uint64(0); seed < 4*schedules() && found == ""; seed++ {
			if wrong := strings.Join(play(seed, c.bug, map[string]int{}), "\n"); strings.Contains(wrong, c.want) {
				found = wrong
			}
		}
		if found == "" {
			t.Errorf("%s: no world of %d says %q", c.name, 4*schedules(), c.want)
		}
	}
}
