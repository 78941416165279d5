package orchestrator

import (
	"testing"
	"time"

	"forge/internal/work"
)

// several gives phase 01 the agents a, b and c; the model is a's alone.
func several(sp *Spec) {
	for _, name := range []string{"a", "b", "c"} {
		sp.Settings.Agents[name] = work.AgentSettings{Name: name, Kind: "script", Model: "model of " + name, Continues: true}
	}
	ofPhase01(func(ps *work.PhaseSettings) {
		ps.Agent, ps.Agents, ps.Model = "a", []string{"a", "b", "c"}, "of the phase"
	})(sp)
}

func TestAnotherAgentGoesOn(t *testing.T) {
	out := ends(work.OutcomeRateLimited)
	outUntil := func(st *story, d time.Duration) func(*IterationDone) {
		at := st.now.Add(d)
		return func(done *IterationDone) { done.Report.Outcome, done.Report.ResetAt = work.OutcomeRateLimited, &at }
	}
	works := func(st *story, agent, model, session string) {
		t.Helper()
		c := st.begun("01", StepIterate)
		e := st.s.iterateEffect(c, st.phase("01"), Day{})
		if e.Request.Agent.Name != agent || e.Request.Model != model || e.Request.Session != session {
			t.Errorf("agent %s with model %q works in session %q; want %s, %q, %q", e.Request.Agent.Name, e.Request.Model, e.Request.Session, agent, model, session)
		}
	}
	session := func(done *IterationDone) { done.Report.Session = "its own" }

	t.Run("while one is out, and no longer", func(t *testing.T) {
		st := tell(t, several, budget(9))
		st.work("01", session)
		st.work("01", outUntil(st, 10*time.Minute))
		works(st, "b", "model of b", "")
		if d := last[AgentSwitchedData](st, work.AgentSwitched); d.From != "a" || d.To != "b" || !d.Until.Equal(st.now.Add(10*time.Minute)) {
			t.Errorf("switched: %+v", d)
		}
		st.work("01", session)
		st.later(9 * time.Minute)
		works(st, "b", "model of b", "its own")
		st.work("01", session)
		st.later(time.Minute)
		st.work("01") // b's, which had begun
		works(st, "a", "of the phase", "")
		p := st.phase("01")
		for at, want := range map[[2]int]string{{1, 1}: "a", {2, 1}: "a", {2, 2}: "b", {3, 1}: "b", {5, 1}: "a"} {
			if got := p.AgentAt(at[0], at[1]); got != want {
				t.Errorf("iteration %d, attempt %d is %s's, want %s", at[0], at[1], got, want)
			}
		}
	})
	t.Run("all are out", func(t *testing.T) {
		st := tell(t, several, budget(9))
		st.work("01", outUntil(st, 10*time.Minute))
		st.work("01", outUntil(st, 5*time.Minute))
		st.work("01", outUntil(st, 20*time.Minute))
		st.isPending("01 wait")
		if d := last[OutageData](st, work.OutageBegan); d.Agent != "c" || !d.Until.Equal(st.now.Add(5*time.Minute)) {
			t.Errorf("waits: %+v", d)
		}
		st.later(5 * time.Minute)
		st.feed(Tick{})
		works(st, "b", "model of b", "")
	})
	t.Run("longer than outage_wait", func(t *testing.T) {
		st := tell(t, several, budget(9))
		for range 3 {
			st.work("01", outUntil(st, 2*time.Hour))
		}
		if d := last[RunStoppingData](st, work.RunStopping); d.Outcome != work.RunLimit {
			t.Errorf("stops: %+v", d)
		}
	})
	t.Run("without a time the waits grow", func(t *testing.T) {
		st := tell(t, several, budget(9))
		for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
			st.work("01", out)
			d := last[AgentSwitchedData](st, work.AgentSwitched)
			if got := d.Until.Sub(st.now); got != want || d.From != "a" {
				t.Fatalf("%s is asked again after %s, want a and %s", d.From, got, want)
			}
			st.later(want)
			st.feed(Tick{})
			st.work("01", ends(work.OutcomeInterrupted))
		}
	})
	t.Run("out in turn, each for a moment", func(t *testing.T) {
		st := tell(t, several, budget(9))
		for range 2000 {
			st.work("01", outUntil(st, time.Second))
			if st.s.Stopping != nil {
				break
			}
			st.later(2 * time.Second)
			st.feed(Tick{})
		}
		if d := last[RunStoppingData](st, work.RunStopping); d.Outcome != work.RunLimit {
			t.Errorf("stops: %+v", d)
		}
	})
	t.Run("it is no iteration", func(t *testing.T) {
		st := tell(t, several, budget(9))
		st.work("01", out)
		st.work("01", out)
		if p := st.phase("01"); p.Spent != 0 || p.Iteration != 0 || p.Set.Agent != "c" {
			t.Errorf("spent %d, iteration %d, agent %s", p.Spent, p.Iteration, p.Set.Agent)
		}
	})
	t.Run("resuming asks again", func(t *testing.T) {
		st := tell(t, several, budget(9))
		st.work("01", outUntil(st, time.Hour))
		st.feed(Stop{Outcome: work.RunInterrupted})
		st.feed(Drained{})
		st.feed(Resumed{})
		works(st, "a", "of the phase", "")
	})
}
