package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// triesGate begins the tries of a phase, ends those that cannot win any more, and
// decides which of the proven ones the phase goes on from.
func triesGate() gate {
	return gate{
		names: []string{string(gates.PointTries)}, stages: []Stage{StageTries},
		decide: func(d *decision, p *Phase) bool { d.tries(p); return true }, answered: (*decision).answeredTries,
	}
}

func (d *decision) tries(p *Phase) {
	c := p.Contest
	if c == nil {
		data := TriesBeganData{Until: triesUntil(p)}
		for i, n := range d.s.tryNumbers(p) {
			agent, model := TryAgent(p.Set, i)
			data.Tries = append(data.Tries, TryStarted{Number: n, Agent: agent, Model: model})
		}
		d.phase(p.Number, work.TriesBegan, data)
		return
	}
	facts, left := d.s.contestants(p)
	if len(left) > 0 {
		d.stopLosers(p, facts, left)
		return
	}
	if p.Set.Council != nil && c.Council == nil && countProven(facts) > 1 {
		d.convene(p, facts)
		return
	}
	best, facts := BestTry(facts)
	switch proven := countProven(facts); {
	case best < 0:
		d.finish(p, work.PhaseFailed, work.ReasonTriesFailed, tellFailedTries(facts))
	case proven == 1:
		d.chooses(p, facts, best, "rule:"+string(gates.PointTries), "it is the only try that is proven", false)
	case d.s.passes(p, gates.PointTries):
		d.chooses(p, facts, best, "rule:"+string(gates.PointTries), whyBest(facts, best), false)
	default:
		d.open(p, string(gates.PointTries), []string{string(gates.PointTries)},
			fmt.Sprintf("Which try of phase %s %q is taken?", p.Number, p.Plan.Name), d.s.tellTries(facts, best))
	}
}

// asked are the open checkpoints of p.
func (s *State) asked(p *Phase) []string {
	var out []string
	for id, cp := range s.Open {
		if cp.Phase == p.Number {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func triesUntil(p *Phase) string {
	if p.Set.TriesUntil == work.TriesFirst {
		return work.TriesFirst
	}
	return work.TriesBest
}

// contestants is what is known of p's tries that are over, and those that are not.
func (s *State) contestants(p *Phase) (over []TryFacts, left []*Phase) {
	for _, n := range p.Contest.Tries {
		if t := s.Phases[n]; t.Stage == StageFinished {
			over = append(over, s.tryFacts(t))
		} else {
			left = append(left, t)
		}
	}
	p.Contest.judged(over)
	return over, left
}

// stopLosers ends the tries that cannot win any more: where the first good one is
// taken, all others once there is one. Where the best one is, any may still be
// smaller or cheaper, so that all come to their end.
func (d *decision) stopLosers(p *Phase, over []TryFacts, left []*Phase) {
	if triesUntil(p) != work.TriesFirst {
		return
	}
	for _, t := range over {
		if !t.clean() {
			continue
		}
		for _, l := range left {
			if l.Stopped == "" {
				d.phase(l.Number, work.TryStopped, TryStoppedData{
					Why: fmt.Sprintf("try %s is proven, and nothing speaks against it", t.Number), Closed: d.s.asked(l),
				})
			}
		}
		return
	}
}

// endStopped ends a try that was stopped, once what costs money is over: it is in
// the books then.
func (d *decision) endStopped(p *Phase) {
	if !p.busy() {
		d.finish(p, work.PhaseCancelled, "", p.Stopped)
	}
}

// tried ends a try that its reviewers have looked at. What they object to is
// weighed when one is chosen, and mended by the phase; where one of those that can
// hold it gave no answer, it is not known what it is worth.
func (d *decision) tried(p *Phase, unknown []string) {
	if len(unknown) > 0 {
		d.finish(p, work.PhaseFailed, work.ReasonReviewUnknown, "no usable answer of "+strings.Join(unknown, ", "))
		return
	}
	d.rule(p.Number, gateReview, decideGo, "its findings are weighed against those of the other tries: "+p.opinions())
}

// chooses lets p go on from a try.
func (d *decision) chooses(p *Phase, facts []TryFacts, which int, by, why string, rework bool) {
	if by == "rule:"+string(gates.PointTries) {
		d.rule(p.Number, string(gates.PointTries), decideGo, fmt.Sprintf("try %s: %s", facts[which].Number, why))
	}
	d.phase(p.Number, work.TryChosen, TryChosenData{
		Number: facts[which].Number, Commit: facts[which].Commit, By: by, Why: text.ClipJSON(why, 500), Rework: rework, Tries: whyNot(facts, which),
	})
}

func (d *decision) answeredTries(p *Phase, a answer) {
	if p.Contest == nil || p.Contest.Chosen != "" {
		return
	}
	facts, left := d.s.contestants(p)
	best, facts := BestTry(facts)
	if len(left) > 0 || best < 0 {
		return // only in a journal by somebody else's hand
	}
	why := "a person approved what was proposed"
	for i, t := range facts {
		if t.Proven && a.Choice == "try-"+t.Number {
			best, why = i, "a person chose it"
		}
	}
	if words := text.FirstLine(text.Plain(a.Comment), 200); words != "" {
		why += ": " + words
	}
	switch {
	case a.yes:
		d.say(p, a, decideGo)
		d.chooses(p, facts, best, a.by, why, false)
	case a.comment != "":
		d.say(p, a, decideRework)
		d.chooses(p, facts, best, a.by, "a person wants changes of it", true)
	default:
		d.say(p, a, decideReject)
		d.finish(p, work.PhaseFailed, work.ReasonRejected, a.Comment)
	}
}

func countProven(all []TryFacts) int {
	n := 0
	for _, t := range all {
		if t.Proven {
			n++
		}
	}
	return n
}

// whyBest says in a line why a try won.
func whyBest(all []TryFacts, best int) string {
	if all[best].Synthesis {
		return fmt.Sprintf("the council's synthesis is proven, as are %d of the tries that it was made out of", countProven(all)-1)
	}
	var over []string
	for i, t := range all {
		if i == best || !t.Proven {
			continue
		}
		_, rule := all[best].beats(t)
		if rule == "" {
			over = append(over, t.Number+" (as good, and later)")
			continue
		}
		over = append(over, fmt.Sprintf("%s (fewer %s)", t.Number, rule))
	}
	return fmt.Sprintf("best of %d that are proven, over %s", len(over)+1, strings.Join(over, ", "))
}

// tellFailedTries is the cause of each try, where none is proven.
func tellFailedTries(all []TryFacts) string {
	each := max(400/max(len(all), 1), 30)
	var out []string
	for _, t := range all {
		out = append(out, t.Number+" "+text.ClipJSON(t.Why, each))
	}
	return "no try is proven: " + strings.Join(out, "; ")
}
