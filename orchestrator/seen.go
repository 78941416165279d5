package orchestrator

import (
	"forge/internal/stuck"
	"forge/internal/work"
)

// maxSeen bounds the iterations that a phase is judged by.
const maxSeen = 60

// Seen are the iterations of a phase by which Forge tells whether it is stuck.
type Seen struct {
	Iterations []stuck.Iteration `json:",omitempty"`
	// Traced says that the last one has a trace. Without it the phase is judged
	// by the count of iterations without a change, as it always was.
	Traced bool `json:",omitempty"`
	// Steered says that somebody spoke to the agent since the last one.
	Steered bool `json:",omitempty"`
}

// saw takes an iteration of work in.
func (p *Phase) saw(n int, d work.IterationFinishedData) {
	it := stuck.Iteration{N: n, Failed: !d.Outcome.KeepsClaim(), Changed: d.Changed, Steered: p.Seen.Steered}
	for _, percent := range d.Signals.Progress {
		if percent > it.Progress && percent <= 100 {
			it.Progress = percent
		}
	}
	if n := len(d.Signals.Waiting); n > 0 {
		it.Word = work.WaitOf(d.Signals.Waiting[n-1])
	}
	if d.Trace != nil {
		it.Tree, it.Said = d.Tree, d.Message
		d.Trace.Fill(&it)
	}
	if it.Word == stuck.WaitProcess && d.Left > 0 {
		it.Wait = &stuck.Wait{Kind: it.Word} // Forge ended what the agent had left running
	}
	p.Seen.Traced, p.Seen.Steered = d.Trace != nil, false
	p.Seen.Iterations = append(p.Seen.Iterations, it)
	if n := len(p.Seen.Iterations); n > maxSeen {
		p.Seen.Iterations = p.Seen.Iterations[n-maxSeen:]
	}
}

// sawRed keeps how the proof of the last iteration was red.
func (p *Phase) sawRed(d work.VerifyFinishedData) {
	if n := len(p.Seen.Iterations); n > 0 && p.Seen.Traced && !d.OK && d.On == work.OnSnapshot {
		p.Seen.Iterations[n-1].Red = stuck.Digest(d.Command + "\n" + stuck.Steady(d.Output))
	}
}

// steered begins the count of what brings nothing anew: Forge or a person spoke.
func (p *Phase) steered() { p.Stale.Count, p.Seen.Steered = 0, true }

// verdict is what the iterations so far show. Its evidence is that of a phase
// whose iterations tell what was done; of others there is the count.
func (p *Phase) verdict() stuck.Verdict {
	if p.Seen.Traced {
		return stuck.Judge(p.Seen.Iterations, stuck.RulesFor(p.Stale.Threshold))
	}
	if p.Stale.Threshold > 0 && p.Stale.Count >= p.Stale.Threshold {
		return stuck.Verdict{State: stuck.Stuck}
	}
	return stuck.Verdict{State: stuck.Working}
}
