package orchestrator

import (
	"fmt"
	"slices"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// A phase may name several agents in the order in which they are wanted. While
// the provider of one limits or is down, the next goes on from the last snapshot;
// the first goes on again as soon as its time is over. So nothing waits while an
// agent is free.

// AwayAgent is an agent whose provider limits or is down.
type AwayAgent struct {
	Until time.Time
	Tries int // without an answer
}

// The longest wait for an agent in whose place another works, where its provider
// names no time: each try costs the other one its session.
const mostAway = 30 * time.Minute

// AgentSwitchedData is the payload of agent.switched: another agent goes on with
// a phase, in a session of its own.
type AgentSwitchedData struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Until From is not called again, after so many tries; zero where To is free
	// again.
	Until time.Time `json:"until,omitzero"`
	Tries int       `json:"tries,omitempty"`
	Why   string    `json:"why"`
}

// Switch is where another agent went on.
type Switch struct {
	Iteration, Attempt int // the first of the other one
	From               string
}

// AgentAt is the agent that an iteration was given to.
func (p *View) AgentAt(iteration, attempt int) string {
	for _, s := range p.Switches {
		if iteration < s.Iteration || iteration == s.Iteration && attempt < s.Attempt {
			return s.From
		}
	}
	return p.Set.Agent
}

// wanted is the first of p's agents that is free now, "" when none is.
func (s *State) wanted(p *Phase, now time.Time) string {
	for _, a := range p.Set.Agents {
		if !now.Before(s.Away[a].Until) {
			return a
		}
	}
	return ""
}

// Model is what p's agent is asked for, "" for its own: what the phase says is
// about the first of its agents.
func (p *View) Model() string {
	if len(p.Set.Agents) > 0 && p.Set.Agent != p.Set.Agents[0] {
		return ""
	}
	return p.Set.Model
}

// returns gives p to the first of its agents that is free, before an iteration.
// Where none is, the one that it has is asked again.
func (d *decision) returns(p *Phase) bool {
	to := d.s.wanted(p, d.now)
	if to == "" || to == p.Set.Agent {
		return false
	}
	d.phase(p.Number, work.AgentSwitched, AgentSwitchedData{
		From: p.Set.Agent, To: to, Why: fmt.Sprintf("agent %s is the first that is free", to),
	})
	return true
}

// passesOn gives p to another of its agents, since the provider of the one that
// it has is out; false where none is free. Until then it is not called again.
func (d *decision) passesOn(p *Phase, until time.Time) bool {
	from := p.Set.Agent
	at := slices.IndexFunc(p.Set.Agents, func(a string) bool { return a != from && !d.now.Before(d.s.Away[a].Until) })
	if at < 0 {
		return false
	}
	to := p.Set.Agents[at]
	d.phase(p.Number, work.AgentSwitched, AgentSwitchedData{
		From: from, To: to, Until: until.UTC(), Tries: d.s.Away[from].Tries + 1,
		Why: fmt.Sprintf("the provider of agent %s is out: %s", from, text.ClipJSON(p.Judged.Detail, 200)),
	})
	return true
}

// awayUntil is when the agent that p has is to be asked again.
func (d *decision) awayUntil(p *Phase) time.Time {
	if at := p.Judged.ResetAt; at != nil && at.After(d.now) {
		return *at
	}
	return d.now.Add(min(firstOutageWait<<min(d.s.Away[p.Set.Agent].Tries, 10), mostAway))
}

// soonest is when the first of p's agents may be asked again, until being that of
// the one that it has.
func (s *State) soonest(p *Phase, until time.Time) time.Time {
	for _, a := range p.Set.Agents {
		if away := s.Away[a].Until; a != p.Set.Agent && away.Before(until) {
			until = away
		}
	}
	return until
}

func applySwitched(s *State, p *Phase, e work.Event, d AgentSwitchedData) {
	if !d.Until.IsZero() {
		s.away(d.From, AwayAgent{Until: d.Until, Tries: d.Tries})
		if p.Outage == nil {
			p.Outage = &Outage{Since: e.Time, Until: d.Until}
		}
	}
	next := p.Iteration + 1
	p.Switches = append(p.Switches, Switch{Iteration: next, Attempt: p.Tries[next] + 1, From: d.From})
	p.Set.Agent = d.To
	p.Session, p.Total = "", work.Usage{}
	p.Stage = StageGate
}

// answered forgets that an agent was out.
func (s *State) answered(agent string) {
	if delete(s.Away, agent); len(s.Away) == 0 {
		s.Away = nil
	}
}

func (s *State) away(agent string, a AwayAgent) {
	if s.Away == nil {
		s.Away = map[string]AwayAgent{}
	}
	s.Away[agent] = a
}
