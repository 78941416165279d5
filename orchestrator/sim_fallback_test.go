package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// randomAgents gives the phases of some runs several agents.
func randomAgents(d dice, set *work.Settings) {
	if d.others.IntN(100) >= 40 {
		return
	}
	names := []string{"a", "b", "c"}[:2+d.others.IntN(2)]
	for _, name := range names[1:] {
		set.Agents[name] = work.AgentSettings{Name: name, Continues: d.others.IntN(2) == 0}
	}
	for _, n := range slices.Sorted(maps.Keys(set.Phases)) {
		if ps := set.Phases[n]; d.others.IntN(100) < 80 {
			ps.Agents = names
			set.Phases[n] = ps
		}
	}
}

// limits is the provider of one of several agents, which is out more often than
// others, mostly with a time. The session is the agent's own.
func (w *world) limits(p *Phase, rep *work.IterationReport) {
	if len(p.Set.Agents) == 0 {
		return
	}
	rep.Session = sessionOfAgent(p.Set.Agent)
	if w.others.IntN(100) < 20 {
		w.fault("one of several agents is out")
		rep.Outcome = work.OutcomeRateLimited
		if w.others.IntN(100) < 70 {
			at := w.now.Add(time.Duration(w.others.IntN(900)) * time.Second)
			rep.ResetAt = &at
		}
	}
}

func sessionOfAgent(name string) string { return "s1" + name }

// awayBooks are the agents that are out, as the events tell it.
type awayBooks struct {
	until map[string]time.Time
}

// free is the first of names that is not out; "" for none.
func (b awayBooks) free(names []string, now time.Time) string {
	for _, name := range names {
		if !b.until[name].After(now) {
			return name
		}
	}
	return ""
}

// several holds that of several agents the first that is free works, in a session
// of its own, and that nothing waits while one is.
func (c *invariants) several(p *Phase, e work.Event) error {
	if e.Kind == work.RunResumed {
		for name := range c.away.until {
			note(c, c.away.until, name, time.Time{})
		}
		return nil
	}
	if e.Kind == work.IterationFinished && p != nil {
		return c.called(p, e)
	}
	var out OutageData
	if e.Kind == work.OutageBegan {
		if err := read(c, e, &out); err != nil {
			return err
		}
		note(c, c.away.until, out.Agent, out.Away)
	}
	if p == nil || len(p.Set.Agents) == 0 {
		return nil
	}
	switch e.Kind {
	case work.AgentSwitched:
		return c.switched(p, e)
	case work.OutageBegan:
		if name := c.away.free(p.Set.Agents, e.Time); name != "" {
			return fmt.Errorf("phase %s waits for a provider, and agent %s is free", e.Phase, name)
		}
		for _, name := range p.Set.Agents {
			if c.away.until[name].Before(out.Until) {
				return fmt.Errorf("phase %s waits until %s, and agent %s is free at %s", e.Phase, out.Until, name, c.away.until[name])
			}
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if name := c.away.free(p.Set.Agents, e.Time); d.Gate == string(gates.PointIteration) && d.Decision == decideGo && name != "" && name != p.Set.Agent {
			return fmt.Errorf("phase %s is given to agent %s, and the first that is free is %s", e.Phase, p.Set.Agent, name)
		}
	case work.IterationStarted:
		var d work.IterationStartedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Agent != p.Set.Agent || d.Session != "" && d.Session != sessionOfAgent(d.Agent) {
			return fmt.Errorf("agent %s works on phase %s in session %q, of another agent", d.Agent, e.Phase, d.Session)
		}
	}
	return nil
}

func (c *invariants) switched(p *Phase, e work.Event) error {
	var d AgentSwitchedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if !d.Until.IsZero() {
		note(c, c.away.until, d.From, d.Until)
	}
	others := slices.DeleteFunc(slices.Clone(p.Set.Agents), func(name string) bool { return name == d.From })
	if d.To == d.From || d.To != c.away.free(others, e.Time) {
		return fmt.Errorf("phase %s is passed on from agent %s to %s, which is not the first that is free", e.Phase, d.From, d.To)
	}
	return nil
}

// called notes that an agent which was out answered, whatever phase it worked on.
func (c *invariants) called(p *Phase, e work.Event) error {
	var d work.IterationFinishedData
	if err := read(c, e, &d); err != nil || d.Outcome == work.OutcomeRateLimited || d.Outcome == work.OutcomeInterrupted {
		return err
	}
	note(c, c.away.until, p.Set.Agent, time.Time{})
	return nil
}
