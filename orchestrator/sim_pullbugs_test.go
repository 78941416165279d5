package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// TestSeededPullBugs shows that the simulation finds what it is there to find.
func TestSeededPullBugs(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.pulls = true
	h := newHunter(t, l, 3000)
	pullOf := func(s *State, e work.Event) *Pull {
		if p := s.Phases[e.Phase]; p != nil {
			return p.Pull
		}
		return nil
	}
	for name, test := range map[string]struct {
		bug  bug
		want string
	}{
		"pushed commits land unseen": {bug{events: rewrite(work.PullDecided, func(_ *State, _ *work.Event, d *PullDecidedData) {
			d.Approved = d.Approved || d.Decision == decideTake
		})}, "which nobody approved"},
		"an approval taken for a newer head": {bug{events: rewrite(work.PullDecided, func(s *State, e *work.Event, d *PullDecidedData) {
			u := pullOf(s, *e)
			d.Approved = d.Approved || d.Decision == decideTake && u.Due != nil && u.Due.Answer.Head != "" && u.Due.Answer.Head != u.Read.Head
		})}, "which nobody approved"},
		"a merge of something else than what was proven": {bug{fact: func(s *State, f Fact) Fact {
			if l, ok := f.(LandDone); ok && l.Refused == nil && s.Phases[l.Command.Phase].Merge != nil {
				l.Tree = s.Phases[l.Command.Phase].Merge.Tree
				return l
			}
			return f
		}}, "and the host made it"},
		"a comment counts as heard that was not told": {bug{apply: afterApply(func(s *State, e work.Event) {
			if u := pullOf(s, e); e.Kind == work.PullDecided && u != nil && u.Read == nil && u.Due == nil {
				u.Heard = append(slices.Clip(u.Heard), "said-1")
			}
		})}, "no agent was told"},
		"a comment lost on its way": {bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			d.Comment, _, _ = strings.Cut(d.Comment, "[said-")
		})}, "no agent was told"},
		"people's commits overwritten": {bug{events: rewrite(work.PullFinished, func(s *State, e *work.Event, d *PullFinishedData) {
			if u := pullOf(s, *e); u != nil && d.Commit != "" {
				u.knows(d.Head)
				d.Commit, d.Conflicts = "", nil
			}
		})}, "which does not hold it|a replay differs"},
		"a conflict with people taken for none": {bug{events: rewrite(work.PullFinished, func(_ *State, _ *work.Event, d *PullFinishedData) {
			d.Conflicts = nil
		})}, "with conflict markers"},
		"an agent set on what people pushed and is red": {bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VerifyFinished && p != nil && p.redPush() != nil && p.Stage == StageProven {
				p.PushedRed, p.Kind, p.Stage = nil, IterationRework, StageGate
			}
		})}, "nobody asked for that"},
		"an approval lands what people pushed and is red": {bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VerifyFinished && p != nil {
				p.PushedRed = nil
			}
		})}, "in truth it is not|green false"},
		"checks of what people pushed told to the agent": {bug{apply: afterApply(func(s *State, e work.Event) {
			if u := pullOf(s, e); e.Kind == work.PullDecided && u != nil {
				u.Taken = ""
			}
		})}, "which people pushed"},
		"two pull requests for a phase": {bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.PublishFinished && p.Pull != nil {
				p.PullRev++
				p.Pull = &Pull{Branch: s.pullBranch(p, p.PullRev)}
			}
		})}, "second pull request"},
		"what was mended before is not counted": {bug{apply: afterApply(func(s *State, e work.Event) {
			if u := pullOf(s, e); u != nil && e.Kind == work.PublishFinished {
				u.Heard = slices.DeleteFunc(slices.Clone(u.Heard), func(id string) bool { return work.ChecksTold([]string{id}) > 0 })
			}
		})}, "sent back for checks|a replay differs|which is under way"},
		"green checks mended": {bug{events: rewrite(work.PullFinished, func(_ *State, _ *work.Event, d *PullFinishedData) {
			if d.Checks != nil {
				d.Checks.Failed = []string{"unit"}
			}
		})}, "when they were read"},
		"a pull request left open": {bug{apply: afterApply(func(s *State, _ work.Event) {
			s.Leaving = nil
		})}, "pull request"},
	} {
		t.Run(name, func(t *testing.T) { h.hunt(t, name, test.bug, strings.Split(test.want, "|")) })
	}
}
