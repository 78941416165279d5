package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/work"
	"forge/review"
)

// randomReviews lets some phases of a run be reviewed.
func randomReviews(d dice, sp *Spec) {
	if !d.chance(60) {
		return
	}
	set := &sp.Settings
	if d.aside(15) {
		set.Proof.Hidden = []string{"/checks"}
	}
	set.Reviews = work.ReviewSettings{By: "llm", OneByOne: d.chance(20), Threshold: 0.7, KeepMajor: d.chance(25)}
	if d.chance(50) {
		set.Reviews.Arbiter = "judge"
	}
	all := []work.Specialist{{Name: "security", Gating: true}, {Name: "architecture", Gating: true}, {Name: "performance"}}
	for _, ph := range sp.Plan.Phases {
		ps := set.Phases[ph.Number]
		if ps.Sensitive == "" && !d.chance(70) {
			continue
		}
		ps.Reviewed, ps.MaxFixes = true, d.IntN(4)
		if !d.chance(2) {
			ps.Reviewers = all[:1+d.IntN(3)]
		}
		set.Phases[ph.Number] = ps
	}
}

// said is the last thing that a specialist said of a tree, in truth.
type said struct {
	unknown  bool
	critical bool
	sure     *float64
}

// review is what one specialist says: mostly the truth, sometimes nothing that
// can be used, and sometimes more or less than its findings bear.
func (w *world) review(e effect) Fact {
	name := w.commits[e.Commit]
	t := w.trees[name]
	rep := work.ReviewReport{Specialist: e.Specialist, Verdict: work.VerdictPass, Files: []string{"a.txt"}, Why: w.text(""), Model: "m"}
	rep.Usage, _ = w.usage(e, "")
	rep.Confidence = w.sure()
	flaw := t.flaw
	if w.chance(20) {
		flaw = ""
	}
	if flaw != "" {
		rep.Verdict = work.VerdictFail
		if flaw == work.SeverityMinor && w.chance(70) {
			rep.Verdict = work.VerdictWarn
		}
		for range 1 + w.IntN(4) {
			rep.Findings = append(rep.Findings, work.Finding{
				Specialist: e.Specialist, Severity: flaw, File: w.text("a.txt"), Line: 1, Issue: w.text("it breaks"), Suggestion: w.text("mend it"), Failure: w.text("loss"),
			})
		}
	}
	switch x := w.IntN(100); {
	case x < 12 || w.deaf && x < 80:
		w.fault("no usable review")
		rep.Verdict = []work.Verdict{work.VerdictUnknown, "", "fine"}[w.IntN(3)]
	case x < 15:
		w.fault("a fail without a finding")
		rep.Verdict, rep.Findings = work.VerdictFail, nil
	case x < 20:
		w.fault("a pass with findings")
		rep.Verdict = work.VerdictPass
	case x < 22:
		w.fault("files left out")
		rep.Unreviewed = w.texts(1+w.IntN(40), "big.txt")
		rep.Final = w.chance(50)
	case x < 24 && len(rep.Findings) > 0:
		w.fault("an unknown severity")
		rep.Findings[0].Severity = "blocker"
	}
	key := e.Specialist + " " + name
	if w.said == nil {
		w.said = map[string]said{}
	}
	w.said[key] = said{
		unknown:  !rep.Verdict.Known() || rep.Verdict == work.VerdictUnknown || len(rep.Unreviewed) > 0 || rep.Verdict == work.VerdictFail && len(rep.Findings) == 0,
		sure:     rep.Confidence,
		critical: slices.ContainsFunc(rep.Findings, func(f work.Finding) bool { return f.Severity != work.SeverityMajor && f.Severity != work.SeverityMinor }),
	}
	rep.Criteria = w.criteria(e, rep)
	return ReviewDone{Command: e.Command, Report: rep}
}

func (w *world) arbitrate(e effect) Fact {
	a := work.ArbiterAnswer{Verdict: []string{"Proceed", "Fix", "FailPhase", "", "Perhaps"}[w.IntN(5)], Reason: w.text("because"), Instructions: w.text("carefully")}
	a.Usage, _ = w.usage(e, "")
	confidence, path := w.Float64()*1.4-0.2, w.chance(80)
	if w.chance(70) {
		a.Confidence = &confidence
	}
	if w.chance(50) {
		a.FixPath = &path
	}
	return ArbiterDone{Command: e.Command, Answer: a}
}

// ofReviews judges what follows from reviews, by what was said in truth.
func (c *invariants) ofReviews(s *State, p *Phase, e work.Event) error {
	switch e.Kind {
	case work.ReviewStarted, work.ArbiterStarted:
		var d struct {
			Command work.CommandID `json:"command"`
		}
		if err := read(c, e, &d); err != nil {
			return err
		}
		return c.books.begins(c, d.Command, s.top(p).Number)
	case work.ReviewFinished:
		var d ReviewFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		c.used = append(c.used, d.Usage)
		return c.books.ends(c, d.Command, d.Usage)
	case work.ArbiterFinished:
		var d ArbiterFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		c.used = append(c.used, d.Answer.Usage)
		note(c, c.heard, e.Phase, d.Answer)
		return c.books.ends(c, d.Command, d.Answer.Usage)
	case work.ArbiterDecided:
		return c.ruled(p, e)
	}
	return nil
}

// ruled: nothing critical and nothing unknown goes on by a machine, and the
// fixes stay within their number.
func (c *invariants) ruled(p *Phase, e work.Event) error {
	var d ArbiterDecidedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	unknown, critical := c.truth(p, c.w.commits[p.Review.Commit])
	if a := c.heard[e.Phase]; d.Reason == review.ReasonMinor && (a.Verdict != string(review.Proceed) || a.Confidence == nil || !(*a.Confidence >= 0.7)) {
		return fmt.Errorf("minor findings of phase %s stand, and the arbiter's model says %q", e.Phase, a.Verdict)
	}
	switch {
	case d.Verdict == review.Proceed && (critical || p.Review.Evidence != ""):
		return fmt.Errorf("the arbiter lets a critical finding of phase %s pass", e.Phase)
	case (d.Verdict == review.Proceed || d.Verdict == review.Fix) && unknown != "":
		return fmt.Errorf("the arbiter says %s of phase %s without the answer of %s", d.Verdict, e.Phase, unknown)
	case d.Verdict == review.Fix:
		fixes := c.spent["fixes of "+e.Phase] + 1
		if fixes > p.Set.MaxFixes {
			return fmt.Errorf("phase %s gets fix %d, %d are allowed", e.Phase, fixes, p.Set.MaxFixes)
		}
		note(c, c.spent, "fixes of "+e.Phase, fixes)
	case d.Verdict == review.AskHuman && c.policyAt(c.w.s, e.Phase).FailVerdict != "ask":
		return fmt.Errorf("the arbiter asks a person about phase %s, and the policy does not", e.Phase)
	}
	return nil
}

// truth is what the reviewers of a phase said last of a tree.
func (c *invariants) truth(p *Phase, name string) (unknown string, critical bool) {
	for _, sp := range p.Set.Reviewers {
		last, asked := said{}, false
		for n := name; n != "" && !asked; n = c.w.trees[n].like {
			last, asked = c.w.said[sp.Name+" "+n]
		}
		if sp.Gating && (!asked || last.unknown) {
			unknown = sp.Name
		}
		critical = critical || last.critical && !last.unknown
	}
	return unknown, critical
}

// isLet says that a person let that tree of a phase pass, or one that holds the
// same content of its files.
func (c *invariants) isLet(phase, name string) bool {
	for n := name; n != ""; n = c.w.trees[n].like {
		if c.let[phase] == n {
			return true
		}
	}
	return false
}

// reviewedTree: what lands of a reviewed phase is what its gating reviewers
// answered about, or what a person let pass.
func (c *invariants) reviewedTree(p *Phase, name string) error {
	if !p.Set.Reviewed || p.Merge.Tree == c.w.commits[p.Merge.Head] || c.w.commits[p.Last] == c.w.commits[p.Base] || c.isLet(p.Number, name) {
		return nil
	}
	unknown, critical := c.truth(p, name)
	if unknown != "" || len(p.Set.Reviewers) == 0 {
		return fmt.Errorf("phase %s lands tree %s without a review by %s", p.Number, name, unknown)
	}
	if critical {
		return fmt.Errorf("phase %s lands tree %s with a critical finding", p.Number, name)
	}
	return nil
}
