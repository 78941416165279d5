package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// After so many in a row a phase fails.
const (
	maxFailedRow = 3
	maxHungRow   = 2
)

// obstacle is what stood between the last iteration and the end of the phase.
func (p *Phase) obstacle() string {
	switch {
	case p.Judged.Obstacle != "":
		return p.Judged.Obstacle
	case !p.Judged.Outcome.KeepsClaim():
		return fmt.Sprintf("the last one ended %s: %s", p.Judged.Outcome, p.Judged.Detail)
	}
	return fmt.Sprintf("the last message does not say the promise %q", text.ClipJSON(strings.TrimSpace(p.Plan.Promise), 100))
}

// The waits between two tries of a provider that names no reset time.
const (
	firstOutageWait = 30 * time.Second
	mostOutageWait  = 5 * time.Minute
)

func (d *decision) outage(p *Phase) {
	since, tries := d.now, 0
	if p.Outage != nil {
		since, tries = p.Outage.Since, p.Outage.Tries
	}
	wait := mostOutageWait
	if tries < 4 {
		wait = min(firstOutageWait<<tries, mostOutageWait)
	}
	until := d.now.Add(wait)
	if at := p.Judged.ResetAt; at != nil && at.After(d.now) {
		until = *at
	}
	out := OutageData{Detail: text.ClipJSON(p.Judged.Detail, 200), Tries: tries + 1}
	most := time.Duration(d.s.Spec.Settings.OutageWaitSecs) * time.Second
	// Agents that are out in turn, each for a moment, would pass a phase on for ever:
	// without an answer of any that ends as the wait for one does.
	if len(p.Set.Agents) > 0 && !d.now.After(since.Add(most)) {
		away := d.awayUntil(p)
		if d.passesOn(p, away) {
			return
		}
		until = d.s.soonest(p, away)
		out.Agent, out.Away, out.AwayTries = p.Set.Agent, away.UTC(), d.s.Away[p.Set.Agent].Tries+1
	} else {
		out.Agent, out.Away = p.Set.Agent, until.UTC()
	}
	if until.After(since.Add(most)) {
		d.run(work.RunStopping, RunStoppingData{
			Outcome: work.RunLimit,
			Reason:  fmt.Sprintf("the provider of phase %s is out (%s), longer than agent.outage_wait", p.Number, text.ClipJSON(p.Judged.Detail, 200)),
		})
		return
	}
	out.Until = until.UTC()
	d.phase(p.Number, work.OutageBegan, out)
}
