package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// withCouncils lets the tries of most phases be judged by their workers.
func withCouncils(d dice, sp *Spec) {
	set := &sp.Settings
	for _, ph := range sp.Plan.Phases {
		ps := set.Phases[ph.Number]
		if ps.Tries < 2 || d.several.IntN(100) < 15 {
			continue
		}
		ps.TriesUntil, ps.TryAgents = "", []work.TryAgent{{Agent: "a"}, {Agent: "a", Model: "big"}, {Agent: "a", Model: "small"}}
		ps.Council = &work.Council{Chairman: work.TryAgent{Agent: "a", Model: "chair"}, Budget: 1 + d.several.IntN(3)}
		if d.several.IntN(100) < 30 {
			ps.Council.Reviewers = []work.TryAgent{{Agent: "a", Model: "judge"}, {Agent: "a", Model: "big"}}
		}
		set.Phases[ph.Number] = ps
	}
}

// votes is what one worker thinks of the tries that it is shown, sometimes in a way
// that is no vote.
func (w *world) votes(e effect) Fact {
	p := w.s.Phases[e.Phase]
	v := p.Contest.Council.Votes[p.voteOf(e.Command)]
	rep := work.VoteReport{Model: "m"}
	rep.Usage, _ = w.usage(e, "")
	for range v.Of {
		rep.Scores = append(rep.Scores, work.Score{Score: w.several.IntN(work.MostScore + 1), Critique: w.text("it is so")})
	}
	valid := true
	switch x := w.several.IntN(100); {
	case x < 15:
		w.fault("a worker without an answer")
		rep.Scores, rep.Why, valid = nil, w.text("it crashed"), false
	case x < 20:
		w.fault("a vote that leaves one out")
		rep.Scores, valid = rep.Scores[1:], false
	case x < 25:
		w.fault("points beyond the bounds")
		rep.Scores[0].Score, valid = []int{-1, 11, 1 << 40}[w.several.IntN(3)], false
	}
	if valid {
		w.check.council.truth[e.ID] = rep.Scores
	} else {
		w.check.council.truth[e.ID] = nil
	}
	return VoteDone{Command: e.Command, Report: rep}
}

// councilBooks are about councils, as the events tell it.
type councilBooks struct {
	truth     map[work.CommandID][]work.Score // what workers said in truth; none = no vote
	voters    map[string]int                  // phase → who is asked
	over      map[string]int                  // phase → votes that are over
	points    map[string][]int                // phase and try → what they gave it
	synthesis map[string]string               // phase → the chairman's try
}

func newCouncilBooks() councilBooks {
	return councilBooks{
		truth: map[work.CommandID][]work.Score{}, voters: map[string]int{}, over: map[string]int{}, points: map[string][]int{}, synthesis: map[string]string{},
	}
}

// ofCouncils holds that only what is proven is judged, by nobody who made it; that
// what is no vote gives no points; and that a chairman begins where all began, once
// every vote is over.
func (c *invariants) ofCouncils(s *State, p *Phase, e work.Event) error {
	b := &c.council
	switch e.Kind {
	case work.PhaseReopened, work.PhaseRewound:
		note(c, b.voters, e.Phase, 0)
		note(c, b.over, e.Phase, 0)
		note(c, b.synthesis, e.Phase, "")
	case work.CouncilBegan:
		return c.convenes(s, e)
	case work.VoteStarted:
		var d VoteStartedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		return c.books.begins(c, d.Command, p.Number)
	case work.VoteFinished:
		var d VoteFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		c.used = append(c.used, d.Usage)
		truth := c.council.truth[d.Command]
		if len(truth) != len(d.Scores) {
			return fmt.Errorf("worker %d of phase %s gives %d points, and gave %d", d.Voter, e.Phase, len(d.Scores), len(truth))
		}
		for i, score := range d.Scores {
			if score.Score != truth[i].Score {
				return fmt.Errorf("worker %d of phase %s gives %s %d points, and gave %d", d.Voter, e.Phase, d.Of[i], score.Score, truth[i].Score)
			}
			key := e.Phase + " " + d.Of[i]
			note(c, b.points, key, append(slices.Clone(b.points[key]), score.Score))
		}
		note(c, b.over, e.Phase, b.over[e.Phase]+1)
		return c.books.ends(c, d.Command, d.Usage)
	case work.SynthesisBegan:
		var d SynthesisBeganData
		if err := read(c, e, &d); err != nil {
			return err
		}
		switch {
		case b.voters[e.Phase] == 0 || b.over[e.Phase] != b.voters[e.Phase]:
			return fmt.Errorf("the synthesis of phase %s begins after %d of %d votes", e.Phase, b.over[e.Phase], b.voters[e.Phase])
		case b.synthesis[e.Phase] != "":
			return fmt.Errorf("phase %s has two syntheses", e.Phase)
		}
		note(c, b.synthesis, e.Phase, d.Number)
		note(c, c.contests.tries, e.Phase, append(slices.Clone(c.contests.tries[e.Phase]), d.Number))
		c.w.fault("a synthesis")
	case work.TryChosen:
		return c.followsCouncil(e)
	}
	return nil
}

func (c *invariants) convenes(s *State, e work.Event) error {
	var d CouncilBeganData
	if err := read(c, e, &d); err != nil {
		return err
	}
	proven := 0
	for _, n := range c.contests.tries[e.Phase] {
		end, over := c.contests.ended[n]
		if !over {
			return fmt.Errorf("the tries of phase %s are judged, and %s is not over", e.Phase, n)
		}
		if end.Outcome == work.PhaseDone {
			proven++
		}
		note(c, c.council.points, e.Phase+" "+n, nil)
	}
	if proven < 2 || len(d.Voters) == 0 {
		return fmt.Errorf("%d tries of phase %s are judged, by %d workers", proven, e.Phase, len(d.Voters))
	}
	for _, v := range d.Voters {
		for i, n := range v.Of {
			switch by := s.Phases[n].Set; {
			case by.Agent == v.Agent && by.Model == v.Model:
				return fmt.Errorf("worker %s %s of phase %s judges %s, its own work", v.Agent, v.Model, e.Phase, n)
			case c.contests.ended[n].Outcome != work.PhaseDone || slices.Contains(v.Of[:i], n):
				return fmt.Errorf("try %s of phase %s is judged, and is not proven, or is judged twice", n, e.Phase)
			}
		}
	}
	note(c, c.council.voters, e.Phase, len(d.Voters))
	note(c, c.council.over, e.Phase, 0)
	return nil
}

// followsCouncil: by rule a synthesis that is proven is taken; else nothing that has
// fewer points on average than another proven try, where each of these has some.
func (c *invariants) followsCouncil(e work.Event) error {
	var d TryChosenData
	if err := read(c, e, &d); err != nil {
		return err
	}
	made := c.council.synthesis[e.Phase]
	if made == "" || !strings.HasPrefix(d.By, "rule:") {
		return nil
	}
	if c.contests.ended[made].Outcome == work.PhaseDone {
		c.w.fault("a synthesis taken")
		if d.Number != made {
			return fmt.Errorf("phase %s goes on from try %s, and its council's synthesis %s is proven", e.Phase, d.Number, made)
		}
		return nil
	}
	mean := map[string]float64{}
	for _, n := range c.contests.tries[e.Phase] {
		if c.contests.ended[n].Outcome != work.PhaseDone {
			continue
		}
		all := c.council.points[e.Phase+" "+n]
		if len(all) == 0 {
			c.w.fault("a council without enough votes")
			return nil
		}
		sum := 0
		for _, x := range all {
			sum += x
		}
		mean[n] = float64(sum) / float64(len(all))
	}
	c.w.fault("the best by points taken")
	for _, n := range slices.Sorted(maps.Keys(mean)) {
		if mean[n] > mean[d.Number] {
			return fmt.Errorf("phase %s goes on from try %s, and the council gave %s more points", e.Phase, d.Number, n)
		}
	}
	return nil
}

// councilLab is where phases are tried several times and judged by councils.
func councilLab(t testing.TB) *lab {
	l := newLab(t)
	l.tries, l.council = true, true
	return l
}

func TestSimulationOfCouncils(t *testing.T) {
	pace.Slow(t, "hundreds of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	c := reach(t, councilLab(t), 1500, func(c *coverage) []string {
		missing := slices.Concat(
			unmet(c.kinds, "no schedule reached %s", string(work.CouncilBegan), string(work.VoteStarted), string(work.VoteFinished), string(work.SynthesisBegan)),
			unmet(c.faults, "no schedule met %q",
				"a synthesis", "a synthesis taken", "the best by points taken", "a council without enough votes", "a worker without an answer",
				"a vote that leaves one out", "points beyond the bounds", "a try chosen by a person", "chosen among 1 proven",
			),
			unmet(c.gates, "no council was asked: %s", gateCouncil+" "+decideReview),
		)
		if !c.stages[StageCouncil] {
			missing = append(missing, "no council stood")
		}
		return missing
	})
	t.Logf("%d events\nfaults %v\ngates %v", c.events, c.faults, c.gates)
}

func TestSeededBugsOfCouncils(t *testing.T) {
	pace.Slow(t, "many schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	h := newHunter(t, councilLab(t), 1500)
	for _, tt := range []struct {
		name string
		bug  bug
		want []string
	}{
		{"an unknown vote counts", bug{events: rewrite(work.VoteFinished, func(_ *State, _ *work.Event, d *VoteFinishedData) {
			for len(d.Scores) < len(d.Of) {
				d.Scores = append(d.Scores, work.Score{Score: 5})
			}
		})}, []string{"points, and gave 0"}},
		{"a worker judges its own work", bug{events: rewrite(work.CouncilBegan, func(s *State, e *work.Event, d *CouncilBeganData) {
			for _, n := range s.Phases[e.Phase].Contest.Tries {
				if t := s.Phases[n]; t.won() && s.madeBy(t, d.Voters[0]) {
					d.Voters[0].Of = append(d.Voters[0].Of, n)
				}
			}
		})}, []string{"its own work"}},
		{"a synthesis that is not proven wins", bug{events: rewrite(work.TryChosen, func(s *State, e *work.Event, d *TryChosenData) {
			if c := s.Phases[e.Phase].Contest.Council; c != nil && c.Synthesis != "" && !s.Phases[c.Synthesis].won() {
				d.Number, d.Commit = c.Synthesis, s.Phases[c.Synthesis].Last
			}
		})}, []string{"which is not proven"}},
		{"a synthesis before all votes are over", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VoteFinished {
				for i := range p.Contest.Council.Votes {
					if v := &p.Contest.Council.Votes[i]; !v.Over {
						v.Over = true
					}
				}
			}
		})}, []string{"votes", "nobody waits for", "the state after a replay differs"}},
		{"the points turned round", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VoteFinished {
				for i := range p.Contest.Council.Votes {
					v := &p.Contest.Council.Votes[i]
					v.Scores = slices.Clone(v.Scores)
					for j := range v.Scores {
						v.Scores[j].Score = work.MostScore - v.Scores[j].Score
					}
				}
			}
		})}, []string{"more points", "the state after a replay differs"}},
		{"votes that cost nothing", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VoteFinished {
				p.Usage.USD, s.Ledger.USD = 0, 0
			}
		})}, []string{"cap phase_usd", "cap run_usd"}},
	} {
		t.Run(tt.name, func(t *testing.T) { h.hunt(t, tt.name, tt.bug, tt.want) })
	}
}
