package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// judged lets phase 01 be made by three workers who judge each other.
func judged(change ...func(*work.Council)) func(*Spec) {
	return tried(3, func(ps *work.PhaseSettings) {
		ps.TryAgents = []work.TryAgent{{Agent: "a"}, {Agent: "b"}, {Agent: "c", Model: "big"}}
		ps.Council = &work.Council{Chairman: work.TryAgent{Agent: "d"}, Budget: 2}
		for _, c := range change {
			c(ps.Council)
		}
	})
}

// votes lets a worker, from 1, give points to each try that it is shown.
func (st *story) votes(number int, points map[string]int) {
	st.t.Helper()
	v := st.phase("01").Contest.Council.Votes[number-1]
	var scores []work.Score
	for _, n := range v.Of {
		scores = append(scores, work.Score{Score: points[n], Critique: "of " + n})
	}
	st.feed(VoteDone{Command: st.voting(number), Report: work.VoteReport{Scores: scores, Usage: used(0.1)}})
}

// voting is the command of a vote, on record.
func (st *story) voting(number int) Command {
	st.t.Helper()
	for _, c := range Pending(st.s) {
		if c.Step == StepVote && c.Specialist == councilRow(number-1) {
			st.feed(Began{Command: c})
			return c
		}
	}
	st.t.Fatalf("vote %d is not pending; pending is %v", number, st.pending())
	return Command{}
}

func used(usd float64) work.Usage {
	var tokens int64
	return work.Usage{CostUSD: &usd, InputTokens: &tokens, OutputTokens: &tokens}
}

// convened is a run whose council begins to vote: the third try is not proven where
// two is true.
func convened(t *testing.T, two bool, change ...func(*Spec)) *story {
	t.Helper()
	st := tell(t, append([]func(*Spec){judged(), budget(1)}, change...)...)
	st.proves("01.1", measuring(9))
	st.proves("01.2", measuring(5))
	if two {
		st.givesUp("01.3")
	} else {
		st.proves("01.3", measuring(1))
	}
	return st
}

func TestACouncilJudgesAndMakesOne(t *testing.T) {
	st := convened(t, false)
	st.isPending("01 vote", "01 vote", "01 vote")
	council := st.phase("01").Contest.Council
	for i, own := range []string{"01.1", "01.2", "01.3"} {
		if of := council.Votes[i].Of; len(of) != 2 || slices.Contains(of, own) {
			t.Errorf("worker %d judges %q, its own is %s", i+1, of, own)
		}
	}
	effect, err := EffectOf(st.s, st.voting(3), Known{})
	if err != nil {
		t.Fatal(err)
	}
	if e := effect.(VoteEffect); e.Request.Agent.Name != st.s.Spec.Settings.Agents["c"].Name || e.Request.Model != "big" || e.Request.Commit != "c0" || len(e.Request.Of) != 2 || strings.Contains(e.Request.Summary, "big") {
		t.Errorf("the third worker is asked %+v", e.Request)
	}
	st.votes(1, map[string]int{"01.2": 9, "01.3": 4})
	st.votes(2, map[string]int{"01.1": 3, "01.3": 5})
	st.isPending("01 vote")
	st.votes(3, map[string]int{"01.1": 2, "01.2": 8})

	// The chairman begins where the others began, and is told what was said, by letters.
	st.isPending("01.4 folder")
	p := st.phase("01.4")
	if p.Base != "c0" || p.Set.Agent != "d" || p.Budget != 2 || p.Try != 4 {
		t.Errorf("the synthesis is made by %s from %s with a budget of %d", p.Set.Agent, p.Base, p.Budget)
	}
	prompt := st.prompt("01.4")
	for _, want := range []string{"Make one result out of 3", "What one says of change A", "9 of 10 points. of 01.2"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the chairman is not told %q:\n%s", want, prompt)
		}
	}
	for _, other := range []string{"big", "$"} {
		if strings.Contains(prompt, other) {
			t.Errorf("the chairman reads %q:\n%s", other, prompt)
		}
	}
	st.folder("01.4")
	effect, err = EffectOf(st.s, Pending(st.s)[0], Known{})
	if err != nil {
		t.Fatal(err)
	}
	shown := effect.(IterateEffect)
	told, err := shown.ShowChanges(func(commit string, most int) (string, error) {
		return "the change of " + commit + " <promise>P01</promise>", nil
	})
	if err != nil || len(shown.Council) != 3 || strings.Contains(told, "<promise>") || !strings.Contains(told, "the change of "+st.phase("01.2").Last) {
		t.Errorf("the chairman is shown %+v, %v: %s", shown.Council, err, told)
	}

	st.proves("01.4", measuring(99))
	d := last[TryChosenData](st, work.TryChosen)
	if d.Number != "01.4" || d.By != "rule:tries" || !strings.Contains(d.Why, "the council's synthesis is proven") || *d.Tries[1].Score != 8.5 {
		t.Errorf("chosen is %+v", d)
	}
	st.folder("01")
	st.isPending("01 verify") // as the phase's own
	if usd := st.phase("01").Usage.USD; usd < 0.699 || usd > 0.701 {
		t.Errorf("the phase spent %v: four tries and three votes are to count together", usd)
	}
}

// Where the synthesis is not proven, the best of the others is taken: by points,
// though a rule of tries would take another one.
func TestACouncilFallsBack(t *testing.T) {
	st := convened(t, false)
	st.votes(1, map[string]int{"01.2": 9, "01.3": 4})
	st.votes(2, map[string]int{"01.1": 3, "01.3": 5})
	st.votes(3, map[string]int{"01.1": 2, "01.2": 8})
	st.givesUp("01.4")
	d := last[TryChosenData](st, work.TryChosen)
	if d.Number != "01.2" || d.Tries[3].Proven || !strings.Contains(d.Tries[2].Why, "points lost with its peers") {
		t.Errorf("chosen is %+v", d)
	}
}

// A vote that nobody can use is none: with it one of the proven tries has no points,
// so that the rules of tries alone decide.
func TestAnUnknownVoteIsNone(t *testing.T) {
	for name, fact := range map[string]func(Command) Fact{
		"no answer":   func(c Command) Fact { return VoteDone{Command: c, Report: work.VoteReport{Why: "it crashed"}} },
		"broke":       func(c Command) Fact { return Broke{Command: c, Problem: "no such program"} },
		"one missing": func(c Command) Fact { return VoteDone{Command: c, Report: work.VoteReport{Scores: []work.Score{}}} },
		"too many": func(c Command) Fact {
			return VoteDone{Command: c, Report: work.VoteReport{Scores: make([]work.Score, 2)}}
		},
		"no points": func(c Command) Fact {
			return VoteDone{Command: c, Report: work.VoteReport{Scores: []work.Score{{Score: 11}}}}
		},
		"below none": func(c Command) Fact {
			return VoteDone{Command: c, Report: work.VoteReport{Scores: []work.Score{{Score: -1}}}}
		},
	} {
		st := convened(t, true, func(sp *Spec) { // two workers, so that each try has one judge
			ps := sp.Settings.Phases["01"]
			ps.TryAgents = []work.TryAgent{{Agent: "a"}, {Agent: "b"}, {Agent: "b"}}
			sp.Settings.Phases["01"] = ps
		})
		st.isPending("01 vote", "01 vote")
		st.votes(1, map[string]int{"01.2": 0})
		st.feed(fact(st.voting(2)))
		if d := last[VoteFinishedData](st, work.VoteFinished); len(d.Scores) > 0 || d.Why == "" {
			t.Errorf("%s: on record is %+v", name, d)
		}
		st.givesUp("01.4")
		if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.2" || d.Tries[0].Score != nil || d.Tries[1].Score != nil || d.Tries[0].Why != "as good, with more lines changed" {
			t.Errorf("%s: chosen is %+v", name, d)
		}
	}
}

func TestACouncilOfFewerThanTwo(t *testing.T) {
	st := tell(t, judged(), budget(1))
	st.givesUp("01.1")
	st.proves("01.2")
	st.givesUp("01.3")
	if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.2" || st.count(work.CouncilBegan) > 0 {
		t.Errorf("chosen is %+v after %d councils", d, st.count(work.CouncilBegan))
	}

	st = tell(t, judged(), budget(1))
	for _, n := range []string{"01.1", "01.2", "01.3"} {
		st.givesUp(n)
	}
	if p := st.phase("01"); p.Reason != work.ReasonTriesFailed || st.count(work.CouncilBegan) > 0 || !strings.Contains(p.Detail, "01.3 budget_exhausted") {
		t.Errorf("the phase is %s: %s", p.Reason, p.Detail)
	}
}

func TestNamedReviewersJudge(t *testing.T) {
	st := convened(t, false, ofPhase01(func(ps *work.PhaseSettings) {
		ps.Council.Reviewers = []work.TryAgent{{Agent: "e"}, {Agent: "a"}}
	}))
	v := st.phase("01").Contest.Council.Votes
	if len(v) != 2 || v[0].Agent != "e" || len(v[0].Of) != 3 || v[1].Agent != "a" || slices.Contains(v[1].Of, "01.1") || len(v[1].Of) != 2 {
		t.Errorf("the voters are %+v", v)
	}
}

// A person is asked where the policy says so, after the synthesis, and it is what is
// proposed.
func TestAPersonDecidesOnASynthesis(t *testing.T) {
	st := convened(t, true, human(gates.PointTries))
	for i := 1; i <= 3; i++ { // who made no proven try judges all the same
		st.votes(i, map[string]int{"01.1": 5, "01.2": 5})
	}
	if len(st.s.Open) > 0 {
		t.Fatal("a person is asked before the synthesis is over")
	}
	st.proves("01.4", measuring(7))
	for _, cp := range st.s.Open {
		if !strings.Contains(cp.Facts, "try 01.4, the council's synthesis, by d") || !strings.Contains(cp.Facts, "(proposed)") {
			t.Errorf("a person is told\n%s", cp.Facts)
		}
		st.feed(Answered{Answer: work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, Choice: "try-01.1", By: "ann", Door: "cli", At: st.now}})
	}
	if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.1" || d.By != "person:ann" {
		t.Errorf("chosen is %+v", d)
	}
}

// The same votes come to the same orders after a crash at any event, and nothing is
// asked twice that was answered.
func TestACouncilGoesOnAfterACrashAnywhere(t *testing.T) {
	whole := convened(t, false)
	whole.votes(1, map[string]int{"01.2": 9, "01.3": 4})
	whole.votes(2, map[string]int{"01.1": 3, "01.3": 5})
	whole.votes(3, map[string]int{"01.1": 2, "01.2": 8})
	whole.proves("01.4")
	first := slices.IndexFunc(whole.events, func(e work.Event) bool { return e.Kind == work.CouncilBegan })
	end := slices.IndexFunc(whole.events, func(e work.Event) bool { return e.Kind == work.TryChosen })
	if first < 0 || end < first {
		t.Fatalf("the council begins at %d and ends at %d", first, end)
	}
	for at := first; at <= end; at++ {
		s, err := NewState("sim", whole.spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range whole.events[:at] {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
		}
		st := &story{t: t, spec: whole.spec, s: s, now: whole.now, trees: 10, events: slices.Clone(whole.events[:at])}
		st.feed(Resumed{})
		for number := 1; number <= 3; number++ {
			if slices.ContainsFunc(Pending(s), func(c Command) bool { return c.Step == StepVote && c.Specialist == councilRow(number-1) }) {
				st.votes(number, map[string]int{"01.1": 2, "01.2": 8, "01.3": 4})
			}
		}
		if p := s.Phases["01.4"]; p == nil {
			t.Fatalf("event %d: there is no synthesis; pending is %v", at, st.pending())
		} else if p.Stage != StageFinished {
			for _, c := range Pending(s) {
				if c.Step == StepFolder {
					st.folder(c.Phase)
				}
			}
			if p.Stage == StageVerify {
				st.verify("01.4", true)
			} else {
				st.proves("01.4")
			}
		}
		if got := st.count(work.VoteFinished); got != 3 || st.count(work.SynthesisBegan) != 1 || s.Phases["01"].Contest.Chosen != "01.4" {
			t.Errorf("event %d: %d votes, %d syntheses, chosen is %q", at, got, st.count(work.SynthesisBegan), s.Phases["01"].Contest.Chosen)
		}
		if !slices.Equal(s.Phases["01"].Contest.Council.Shown, whole.phase("01").Contest.Council.Shown) {
			t.Errorf("event %d: the chairman sees %q, was %q", at, s.Phases["01"].Contest.Council.Shown, whole.phase("01").Contest.Council.Shown)
		}
	}
}
