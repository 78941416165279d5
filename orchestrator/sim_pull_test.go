package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
)

// withPulls lets people look at boundaries on a code host, and at more of them.
func (l *lab) withPulls(d dice, sp *Spec) {
	sp.Pulls = &work.PullSettings{Kind: "gitea", URL: "https://git.test", Repo: "o/r", Always: d.chance(30), Fixes: simFixes}
	if sp.Job == nil && d.chance(80) {
		sp.Policy.Gates = maps.Clone(sp.Policy.Gates)
		sp.Policy.Preset = ""
		sp.Policy.Gates[gates.PointPhaseTransition] = gates.Human
	}
}

// atHost does what a process does, against the host of this world.
func (w *world) atHost(c Command, p *Phase) Fact {
	ctx := context.Background()
	if w.chance(2) {
		w.fault("broke at the host")
		if at := w.s.leavingBy(c.ID); c.Step == StepClose && at >= 0 {
			w.host.unheard[w.s.Leaving[at].Branch]++ // nothing was closed
		}
		if c.Step != StepLand {
			return Broke{Command: c, Problem: w.text("no space left")}
		}
	}
	e, err := EffectOf(w.s, c, Known{Head: Head{Count: 1, Hash: "hash"}})
	if err != nil {
		panic(err) // what is pending has an effect
	}
	switch e := e.(type) {
	case PublishEffect:
		out, err := w.host.Publish(ctx, e.Request)
		if err != nil {
			out = PullPublished{Trouble: Unreached("publish", err)}
		}
		return PublishDone{Command: c, Result: out}
	case ReadEffect:
		out, err := w.host.Read(ctx, e.Request)
		if err != nil {
			out = PullReading{Trouble: Unreached("read", err)}
		}
		return ReadDone{Command: c, Reading: out}
	case CloseEffect:
		trouble, err := w.host.Close(ctx, e.Request)
		if err != nil {
			trouble = Unreached("close", err)
		}
		return CloseDone{Command: c, Trouble: trouble}
	}
	req := e.(LandPullEffect).Request
	out, err := w.host.Land(ctx, req)
	switch {
	case err != nil:
		return LandDone{Command: c, Refused: Unreached("merge", err)}
	case out.Trouble != nil:
		return LandDone{Command: c, Refused: out.Trouble, Commit: out.Commit, Tree: out.Tree}
	}
	return LandDone{Command: c, Commit: out.Commit, Tree: out.Tree, Empty: out.Commit == req.BaseHead}
}

// pullBooks are what is held against pull requests.
type pullBooks struct {
	judged map[string]string // checkpoint → commit
	yes    map[string]bool   // commits that a person, or a policy without one, approved
	told   map[string]bool   // comments that reached an agent's prompt
	mended map[string]bool   // phase and head that were sent back for checks
	pushed map[string]bool   // commits that hold what people pushed, and no agent touched
	red    map[string]string // phase → commit of those that verify was red on, and nobody asked an agent to mend
}

// ofPulls: what lands by a pull request was approved as it is, and no comment
// is taken for heard that no agent hears of.
func (c *invariants) ofPulls(s *State, p *Phase, e work.Event) error {
	switch {
	case c.w.host == nil:
		return nil
	case e.Kind == work.RunFinished:
		return c.w.host.left(s, e)
	case p == nil:
		return nil
	}
	b := c.pulls
	hear := func(text string) {
		for _, u := range c.w.host.pulls {
			for _, id := range u.comments {
				if strings.Contains(text, "["+id+"]") {
					note(c, b.told, id, true)
				}
			}
			for _, head := range u.failed {
				if id := work.ChecksMark(head); strings.Contains(text, "["+id+"]") {
					note(c, b.told, id, true)
				}
			}
		}
	}
	switch e.Kind {
	case work.CheckpointOpened:
		var cp work.Checkpoint
		if err := read(c, e, &cp); err != nil {
			return err
		}
		note(c, b.judged, cp.ID, p.Last)
	case work.CheckpointAnswered:
		var d CheckpointAnsweredData
		if err := read(c, e, &d); err != nil || d.Refused != "" || d.Status != work.CheckpointApproved {
			return err
		}
		note(c, b.yes, b.judged[d.ID], true)
		for _, a := range c.answers[d.ID] {
			if a.Status == d.Status && a.Head != "" {
				note(c, b.yes, a.Head, true)
			}
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		hear(d.Comment)
		if d.Decision != decideAsk && strings.HasPrefix(d.By, "person:") {
			note(c, b.red, e.Phase, "")
		}
		if d.Gate == string(gates.PointPhaseTransition) && d.Decision == decideGo && (!strings.HasPrefix(d.By, "person:") || d.Reason == tellApproved) {
			note(c, b.yes, p.Last, true)
		}
	case work.JobDecided:
		var d JobDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		hear(d.Comment)
		if !d.Frozen {
			note(c, b.yes, p.Last, true)
		}
		if d.Answer == work.CheckpointChangesRequested {
			note(c, b.red, e.Phase, "")
		}
	case work.PhaseTold, work.PhaseRewound:
		note(c, b.red, e.Phase, "")
	case work.VerifyFinished:
		var d work.VerifyFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if own := d.On == work.OnSnapshot && p.Stage == StageVerify; own && !d.OK && d.Disturbed == "" && b.pushed[p.Last] {
			c.w.fault("what people pushed is red")
			note(c, b.red, e.Phase, p.Last)
		}
	case work.PullDecided:
		var d PullDecidedData
		if err := read(c, e, &d); err != nil || d.By != byChecks {
			return err
		}
		if d.Decision != decideGo || d.Status != work.CheckpointChangesRequested {
			return fmt.Errorf("checks decide %s %s", d.Decision, d.Status)
		}
		if b.pushed[p.Last] {
			return fmt.Errorf("phase %s is sent back for checks of %s, which people pushed", e.Phase, p.Last)
		}
		u := c.w.host.byNumber(p.Pull.Number)
		if c.w.host.read[u] != "red" {
			return fmt.Errorf("phase %s is sent back for checks that were %q when they were read", e.Phase, c.w.host.read[u])
		}
		note(c, b.mended, e.Phase+" "+e.Time.String()+fmt.Sprint(e.Seq), true)
		n := 0
		for key := range b.mended {
			if strings.HasPrefix(key, e.Phase+" ") {
				n++
			}
		}
		if n > simFixes {
			return fmt.Errorf("phase %s is sent back for checks %d times", e.Phase, n)
		}
	case work.PullFinished:
		var d PullFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Commit != "" && len(d.Conflicts) == 0 {
			note(c, b.pushed, d.Commit, true)
		}
		if d.Merged != "" {
			// Whoever merges says yes.
			note(c, b.yes, d.Merged, true)
		}
	case work.IterationStarted:
		if p.Last != "" && b.red[e.Phase] == p.Last && p.Conflict == nil { // a conflict with what they pushed since is the agent's
			return fmt.Errorf("phase %s sets an agent on %s, which people pushed and is red, and nobody asked for that", e.Phase, p.Last)
		}
		for _, p := range s.Phases {
			if p.Pull == nil {
				continue
			}
			for _, id := range p.Pull.Heard {
				if !b.told[id] {
					return fmt.Errorf("comment %s counts as heard, and no agent was told of it", id)
				}
			}
		}
	case work.PhaseMerged:
		var d PhaseMergedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if (d.Pull != 0 || p.Pull != nil) && !b.yes[p.Last] {
			return fmt.Errorf("phase %s lands %s, which nobody approved", e.Phase, p.Last)
		}
		if made := c.w.commits[d.Commit]; d.Pull != 0 && made != p.Merge.Tree {
			return fmt.Errorf("phase %s lands %s, and the host made it %s", e.Phase, p.Merge.Tree, made)
		}
	}
	return nil
}

// TestPullSimulation plays runs whose boundaries are looked at on a code host
// that fails, with people who push, comment, close, force and merge whenever
// they like, and a process that may die anywhere.
func TestPullSimulation(t *testing.T) {
	pace.Slow(t, "hundreds of schedules with pull requests")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.pulls = true
	c := reach(t, l, 700, func(c *coverage) []string {
		return slices.Concat(
			unmet(c.kinds, "no schedule reached %s", string(work.PublishBegan), string(work.PublishFinished), string(work.PullDue), string(work.PullStarted), string(work.PullFinished), string(work.PullDecided), string(work.LandRefused)),
			unmet(c.faults, "no schedule met %q",
				"people push", "people close it", "people delete the branch", "people force the branch", "people merge it", "checks fail", "checks send it back", "checks ran again", "people and the agent worked beside each other", "people and the agent conflict", "a conflict with people begins an iteration",
				"what people pushed is red", "the host merges to another tree", "broke at the host", "host: unreachable", "host: protected", "host: head_moved", "crash between effect and event",
			),
		)
	})
	t.Logf("%d events\nkinds %v\nfaults %v\nended %v", c.events, c.kinds, c.faults, c.outcomes)
	checkPullStates(t, c.edges, schedules(0) >= manySchedules)
}
