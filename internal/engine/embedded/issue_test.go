package embedded

import (
	"context"
	"slices"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// issueRun is two phases that work on an issue, and what their reviewers say of
// its criteria, by phase and iteration.
func issueRun(t *testing.T, said func(req work.ReviewRequest) work.ReviewReport, change ...func(*orchestrator.Spec)) (*rig, *reviewers) {
	t.Helper()
	port := passing()
	port.answer = func(_ context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		rep := said(req)
		if rep.Verdict == "" {
			rep.Verdict = work.VerdictPass
		}
		rep.Files, rep.Model = []string{req.Phase + ".txt"}, "m"
		return rep, nil
	}
	all := append([]func(*orchestrator.Spec){phases("01", "02 after 01"), ofIssue(makeTest, "it is quick", "it is pretty"), reviewedBy("security", "architecture")}, change...)
	return busyRig(t, port, all...), port
}

func criterion(id string, met bool) []work.CriterionAnswer {
	return []work.CriterionAnswer{{ID: id, Met: met, Evidence: "01.txt:1"}}
}

// state is the run as its journal tells it.
func (r *rig) state() *orchestrator.State {
	r.t.Helper()
	s, err := orchestrator.NewState("sim", r.spec)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range r.journal.Events {
		if err := orchestrator.Apply(s, e); err != nil {
			r.t.Fatal(err)
		}
	}
	return s
}

// A run of an issue from its first event to the branch, in three processes.
func TestIssueRun(t *testing.T) {
	asked := map[string]int{}
	r, port := issueRun(t, func(req work.ReviewRequest) work.ReviewReport {
		key := req.Phase + " " + req.Specialist.Name
		asked[key]++
		switch {
		case key == "01 architecture" && asked[key] == 1:
			return work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major)}
		case key == "01 security":
			return work.ReviewReport{Criteria: criterion("c2", true)}
		case key == "02 architecture" && asked[key] == 1:
			return work.ReviewReport{Criteria: criterion("c2", false)}
		case key == "02 architecture":
			return work.ReviewReport{Criteria: append(criterion("c2", true), work.CriterionAnswer{ID: "c7", Met: true, Evidence: "x"})}
		}
		return work.ReviewReport{}
	}, reviewSetting(func(s *work.ReviewSettings) { s.OneByOne = true })) // in an order that is the same each time
	r.ends(work.RunFrozen)
	p := r.state().Promotion()
	if p.Standing != orchestrator.StandsInReview || !slices.Equal(p.Hold, []review.HoldReason{review.HoldFixed, review.HoldUnverified}) {
		t.Fatalf("it stands at %s, held by %q", p.Standing, p.Hold)
	}
	if c := p.Criteria; !c[0].Met || c[1].Met || c[2].Met || len(c[1].Evidence) != 1 || c[1].Evidence[0].Who != "architecture" {
		t.Errorf("the criteria are %+v", c)
	}
	if got := port.asked[0].Criteria; len(got) != 3 || got[1].Text != "it is quick" {
		t.Errorf("reviewers are told of %+v", got)
	}
	r.journal.Answer(work.Answer{Checkpoint: p.Checkpoint, Status: changes, Comment: "make it quick", By: "test", Door: "cli"})
	r.ends(work.RunFrozen)
	p = r.state().Promotion()
	if c := p.Criteria; p.Standing != orchestrator.StandsInReview || !c[0].Met || !c[1].Met || c[2].Met {
		t.Errorf("after the rework it stands at %s: %+v", p.Standing, c)
	}
	if r.repo.delivered["forge/run-sim"] != "" {
		t.Error("a result that is held was delivered")
	}
	r.journal.Answer(work.Answer{Checkpoint: p.Checkpoint, Status: yes, Comment: "pretty enough", By: "test", Door: "cli"})
	r.ends(work.RunCompleted)
	p = r.state().Promotion()
	if p.Standing != orchestrator.StandsDone || p.By != "person:test" || !p.Criteria[2].Met || p.Criteria[2].Evidence[0].By != work.EvidencePerson {
		t.Errorf("in the end: %+v", p)
	}
	if r.repo.delivered["forge/run-sim"] == "" {
		t.Error("the result was not delivered")
	}
	for _, e := range r.journal.Events {
		var m orchestrator.MergeFinishedData
		if e.Kind == work.MergeFinished && (work.Decode(e, &m) != nil || len(m.Paths) != 1) {
			t.Errorf("the merge of phase %s names the paths %q", e.Phase, m.Paths)
		}
	}
}

// What the plan lets a phase change still makes a person look.
func TestAllowedEvidence(t *testing.T) {
	for _, ofAnIssue := range []bool{true, false} {
		r := newRig(t, nil, ofPhase01(func(ps *work.PhaseSettings) { ps.MayChange = []string{"Makefile"} }), ofIssue())
		if !ofAnIssue {
			r.spec.Issue = nil
		}
		r.agent = func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
			r.repo.write(req.Dir, "Makefile", "test: ;")
			return ok("P01")
		}
		if !ofAnIssue {
			r.ends(work.RunCompleted)
			continue
		}
		r.ends(work.RunFrozen)
		if p := r.state().Promotion(); !slices.Equal(p.Hold, []review.HoldReason{review.HoldUnverified}) {
			t.Errorf("held by %q", p.Hold)
		}
	}
}
