package hostwatch

import (
	"context"
	"fmt"
	"testing"

	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// One that stands otherwise is looked at soon again, one whose standing is old
// seldom; several take turns.
func TestTurns(t *testing.T) {
	t.Parallel()
	var s turns
	s.stands("a", "blocked")
	var at []int
	for range 10 * MostTurns {
		if s.poll() == "a" {
			at = append(at, s.polls)
			s.stands("a", "blocked")
		}
	}
	for n, gap := 1, 0; n < len(at); n++ {
		is := at[n] - at[n-1]
		if is < gap || is > MostTurns || is > 1+at[n]/4 {
			t.Fatalf("looked at with the polls %v", at)
		}
		gap = is
	}
	if at[0] != 1 || at[len(at)-1]-at[len(at)-2] != MostTurns {
		t.Errorf("looked at with the polls %v", at)
	}
	s.stands("a", "green")
	if id := s.poll(); id != "a" {
		t.Errorf("after a change it is %q", id)
	}
	last := map[string]int{}
	for n := range 100 {
		s.stands(fmt.Sprint(n), "blocked")
	}
	s.keep(map[string]bool{"7": true, "8": true, "99": true})
	for range 100 {
		id := s.poll()
		if id == "" {
			continue
		}
		last[id] = s.polls
		s.stands(id, "blocked")
	}
	if len(last) != 3 {
		t.Errorf("looked at %v", last)
	}
}

// computing is a host that does not come to an end with any pull request.
type computing struct {
	host.Host
	looks int
}

func (c *computing) Look(_ context.Context, number int64) (work.PullLook, error) {
	c.looks++
	return work.PullLook{PullRequest: work.PullRequest{Number: number, State: work.PullOpen}, Mergeable: work.MergeComputing}, nil
}

// What a host computes is looked at again soon, all of it, but not for ever.
func TestComputingIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	there := &computing{}
	w := New(&project.Checkout{State: t.TempDir()}, there, work.PullSettings{})
	var all []Question
	for n := range int64(5) {
		all = append(all, Question{Checkpoint: work.Checkpoint{ID: fmt.Sprint(n)}, Pull: orchestrator.Pull{Number: n}, Issue: &work.Issue{}, Over: true})
	}
	for poll := range mostComputing + 3 {
		turn := w.turns.poll()
		if _, err := w.lookAt(t.Context(), all, turn, func(Question) bool { return poll == 0 }); err != nil {
			t.Fatal(err)
		}
		want := 1 // in turn
		if poll <= mostComputing {
			want = len(all)
		}
		if there.looks != want {
			t.Errorf("with poll %d it looks at %d, want %d", poll, there.looks, want)
		}
		there.looks = 0
	}
}
