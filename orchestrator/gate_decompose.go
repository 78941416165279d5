package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// A phase that is too much for one is split: its agent is asked for parts, they
// are checked as a plan is, the policy says who decides, and each becomes a
// sub-phase.

func decomposeGate() gate {
	return gate{
		names: []string{string(gates.PointDecompose)}, stages: []Stage{StageJudge, StageGate},
		decide: (*decision).decomposes, answered: (*decision).answeredSplit, fold: foldDecompose,
		moves: map[string][]Stage{decideSplit: {StageJudge, StageGate}, decideApprove: {StageJudge}, decideReject: {StageJudge}, decideRework: {StageJudge}},
		leads: func(_ *State, p *Phase, d work.GateDecidedData) Stage {
			if d.Decision == decideSplit {
				return p.Stage
			}
			return StageJudge
		},
	}
}

// decomposes says whether a phase is to be split, decides on what its agent
// proposes, and begins one part after the other.
func (d *decision) decomposes(p *Phase) bool {
	if why := d.s.splitDue(p); why != "" {
		d.rule(p.Number, string(gates.PointDecompose), decideSplit, why)
		return true
	}
	if p.Stage != StageJudge {
		return false
	}
	if p.Split.Silent {
		d.noSplit(p, []string{"the agent proposed no parts"})
		return true
	}
	if p.Split.Offer != nil {
		d.offered(p, *p.Split.Offer)
		return true
	}
	if t := p.Split.next(); t != nil {
		d.spawnTask(p, *t)
		return true
	}
	return false
}

// noSplit records a proposal that cannot be followed, with everything that is
// wrong with it.
func (d *decision) noSplit(p *Phase, problems []string) {
	d.decide(p.Number, work.GateDecidedData{
		Gate: string(gates.PointDecompose), Decision: decideReject, By: "rule:" + string(gates.PointDecompose), Policy: d.s.versionOf(p),
		Reason: text.ClipJSON(problems[0], 500), Facts: text.ClipJSON(strings.Join(problems, "\n"), 3000),
	})
}

func (d *decision) offered(p *Phase, offer work.Decomposition) {
	if problems := d.s.splitProblems(p, offer); len(problems) > 0 {
		d.noSplit(p, problems)
		return
	}
	reason := fmt.Sprintf("%s with %s together, of %d that are left", text.Number(len(offer.Tasks), "part"), text.Number(offer.Total(), "iteration"), p.Budget-p.Spent)
	switch {
	case d.s.policyOf(p).At(gates.PointDecompose) == gates.Auto:
		d.decide(p.Number, work.GateDecidedData{
			Gate: string(gates.PointDecompose), Decision: decideApprove, By: "strategy:autonomous", Policy: d.s.versionOf(p),
			Passed: []string{string(gates.PointDecompose)}, Reason: reason, Facts: text.ClipJSON(tellSplit(p, offer), 500),
		})
	case d.s.Spec.AnswerYes:
		d.gate(p.Number, string(gates.PointDecompose), decideApprove, "flag:--yes", reason)
	default:
		d.open(p, string(gates.PointDecompose), []string{string(gates.PointDecompose)},
			fmt.Sprintf("Split phase %s %q into %s?", p.Number, p.Plan.Name, text.Number(len(offer.Tasks), "part")), tellSplit(p, offer))
	}
}

// tellSplit is a proposal as a person judges it: what proves a part stands there
// to the letter.
func tellSplit(p *Phase, offer work.Decomposition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "It is split because %s. %d of %d iterations are used; the parts get %d.\n", text.OneLine(splitWhy(p), 300), p.Spent, p.Budget, offer.Total())
	for _, t := range offer.Tasks {
		fmt.Fprintf(&b, "%s: %s, %s", t.ID, text.OneLine(t.Name, 200), text.Number(t.Budget, "iteration"))
		if len(t.DependsOn) > 0 {
			b.WriteString(", after " + strings.Join(t.DependsOn, ", "))
		}
		if len(t.Files) > 0 {
			b.WriteString(", on " + text.OneLine(strings.Join(t.Files, ", "), 300))
		}
		for _, c := range t.Verify {
			b.WriteString("\n  proven by: " + c)
		}
		if about := text.OneLine(t.About, 300); about != "" {
			b.WriteString("\n  " + about)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func splitWhy(p *Phase) string {
	if p.Split.Why == "" {
		return "the agent proposed it"
	}
	return p.Split.Why
}

func (d *decision) answeredSplit(p *Phase, a answer) {
	switch {
	case p.Split.Offer == nil:
	case a.yes && len(d.s.splitProblems(p, *p.Split.Offer)) > 0:
		d.noSplit(p, d.s.splitProblems(p, *p.Split.Offer))
	case a.yes:
		d.say(p, a, decideApprove)
	case a.comment != "":
		d.say(p, a, decideRework)
	default:
		d.say(p, a, decideReject)
	}
}

func foldDecompose(s *State, p *Phase, d folded) {
	if d.Decision == decideAsk {
		return
	}
	sp := &p.Split
	// As after a pivot: what stopped the agent is being dealt with.
	p.Blocked = gates.BlockerTracker{}
	switch d.Decision {
	case decideSplit:
		sp.Why, sp.Ask, sp.Wanted = d.Reason, true, false
		p.Judged.Stalling = false
		p.steered()
	case decideApprove:
		if sp.Offer == nil {
			return
		}
		person, _ := strings.CutPrefix(d.By, "person:")
		if person == d.By {
			person = ""
		}
		sp.Tasks, sp.Person = s.tasksOf(p, *sp.Offer, person), person
		sp.Offer, sp.Over = nil, true
		p.note("The phase is split as you proposed: %s.", text.Number(len(sp.Tasks), "part"))
	case decideRework:
		sp.Offer, sp.Ask = nil, true
	case decideReject:
		byRule := strings.HasPrefix(d.By, "rule:")
		silent := sp.Silent
		sp.Offer, sp.Silent, sp.Tries = nil, false, sp.Tries+1
		again := byRule && sp.Tries < maxSplitTries && s.partsLeft(p, p.Budget-p.Spent-1) >= s.Spec.Settings.Decomposition.MinTasks && s.cannotSplit(p) == ""
		sp.Ask, sp.Over = again, !again
		switch {
		case silent && !again:
			p.note("You proposed no parts, so the phase goes on as one.")
		case silent:
			p.note("You were asked to split the phase, and proposed no parts.")
		case byRule:
			p.note("The parts that you proposed cannot be used: %s", d.Facts)
		default:
			p.note("The phase is not split: %s. Go on with it as one.", d.Reason)
		}
	}
}

// spawnTask begins the next part as a sub-phase.
func (d *decision) spawnTask(p *Phase, t Task) {
	about := strings.TrimSpace(t.About)
	if len(t.Files) > 0 {
		about = strings.TrimSpace(about + "\n\nFiles that it is about: " + strings.Join(t.Files, ", "))
	}
	d.phase(p.Number, work.SubPhaseSpawned, SubPhaseSpawnedData{
		Number: d.s.partNumber(p), Task: t.ID, Verify: t.Verify,
		Request: work.SubPhaseRequest{Name: t.Name, Promise: t.Promise, Budget: t.Budget, Reasoning: about},
	})
}

// splitSeen says that p is a part of a phase that a person saw and let be split.
func (s *State) splitSeen(p *Phase) string {
	if parent := s.Phases[p.Parent]; parent != nil {
		for _, t := range parent.Split.Tasks {
			if t.Number == p.Number {
				return parent.Split.Person
			}
		}
	}
	return ""
}

// writeSplit asks the agent for the parts of its phase.
func (s *State) writeSplit(b *strings.Builder, p *Phase) {
	if !p.Split.Ask {
		return
	}
	set, left := s.Spec.Settings.Decomposition, p.Budget-p.Spent-1
	b.WriteString("\n## Split this phase\n\nThe phase looks too large for one piece of work. Look at what is done and what is left, and propose parts that are done one after the other by agents that know nothing but their part. Change no file now. If the phase is all but done, finish it instead and say the promise.\n")
	section(b, "Why it is to be split", p.Split.Why)
	fmt.Fprintf(b, "\nPropose from %d to %d parts with at most %d iterations together, in one XML element of your last message. Its name is the word decomposition in lower case; its content is a JSON object: ", set.MinTasks, min(set.MaxTasks, maxSubPhases-p.Spawned), max(left-set.Kept(left), 0))
	b.WriteString(`{"analysis": "why so", "tasks": [{"id": "a", "name": "a few words", "description": "what is to be done and how one sees that it is", "files": ["path"], "depends_on": ["ids of other parts"], "budget": 2, "verify": ["a shell command that proves this part, where the project's own do not"]}]}`)
	fmt.Fprintf(b, ". Its words have at most %d bytes together. A part leaves the project in working order, since the project's commands prove it. Afterwards you look at the whole again.\n", work.MaxSplitBytes)
	if set.Integration {
		b.WriteString("One part depends on all others and puts them together.\n")
	}
}
