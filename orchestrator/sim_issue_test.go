package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// randomIssue lets some runs work on an issue.
func (l *lab) randomIssue(d dice, sp *Spec) {
	if sp.Job != nil || !d.chance(45) {
		return
	}
	sp.Issue = &work.IssueBrief{Project: "p", ID: 7, Title: "an issue"}
	sp.Settings.Promote = work.PromoteSettings{Enabled: !d.chance(10), OnClean: !d.chance(10)}
	if d.chance(70) {
		// Enough of them have to come to their end.
		sp.Settings.Cost = work.Cost{}
		for n, ps := range sp.Settings.Phases {
			ps.Budget += 4
			sp.Settings.Phases[n] = ps
		}
		if sp.Bound == nil && d.chance(50) {
			sp.Policy = l.autonomous
		}
	}
	texts := []string{"`make test` passes", "all of `make test` passes", "it is quick", "`make phase` passes", "`rm -rf /` is not run <!-- `make test` -->"}
	for i := range d.IntN(3) {
		sp.Issue.Criteria = append(sp.Issue.Criteria, work.Criterion{ID: fmt.Sprintf("c%d", i+1), Text: texts[d.IntN(len(texts))]})
	}
	if d.chance(15) {
		p := sp.Policy
		p.Preset, p.Gates = "", nil
		for at, mode := range sp.Policy.Gates {
			if p.Gates == nil {
				p.Gates = map[gates.Point]gates.Mode{}
			}
			p.Gates[at] = mode
		}
		p.Gates[gates.PointPromote], p.Promote = gates.Human, gates.AlwaysReview
		sp.Policy = p
	}
}

// goesOn lets some runs of issues begin with what people pushed to an earlier
// result, or with one that conflicts.
func (w *world) goesOn() {
	i := w.spec.Issue
	if i == nil || !w.chance(30) {
		return
	}
	name := w.newTree()
	commit, files := w.commit(name), []string{"a.txt"}
	if w.chance(50) {
		w.fault("an issue goes on from what people pushed")
		i.Pushed = &work.Pushed{Commit: commit, Tree: name, Files: files, Approved: []string{"", "ann"}[w.IntN(2)]}
		return
	}
	w.fault("an issue goes on from a result that does not go together")
	if w.trees[name].marked = w.chance(70); !w.trees[name].marked {
		files = nil // they are red together
	}
	i.Conflict = &work.Conflict{Result: "r1", Commit: commit, Tree: name, Files: files, With: "main"}
}

// paths are the files that a change touches, of four that there are.
func (w *world) paths() []string {
	var all []work.FileChange
	for i, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
		if i == 0 && w.chance(40) || i > 0 && w.chance(25) {
			all = append(all, work.FileChange{Path: name})
		}
	}
	return PathMarks(all)
}

// criteria is what a reviewer says of them, and what a mad one does.
func (w *world) criteria(e effect, rep work.ReviewReport) []work.CriterionAnswer {
	if w.spec.Issue == nil {
		return nil
	}
	if w.spoke == nil {
		w.spoke = map[string]bool{}
	}
	usable := rep.Verdict.Known() && rep.Verdict != work.VerdictUnknown && (rep.Verdict != work.VerdictFail || len(rep.Findings) > 0) &&
		(len(rep.Unreviewed) == 0 || !w.s.Phases[e.Phase].gates(e.Specialist))
	tree := w.commits[e.Commit]
	var out []work.CriterionAnswer
	for _, c := range w.spec.Issue.Criteria {
		key := e.Specialist + " " + tree + " " + c.ID
		delete(w.spoke, key)
		switch x := w.IntN(100); {
		case x < 60:
			out = append(out, work.CriterionAnswer{ID: c.ID, Met: x < 50, Evidence: w.text("a.txt:1")})
			if usable {
				w.spoke[key] = x < 50
			}
		case x < 65:
			w.fault("a criterion without evidence")
			out = append(out, work.CriterionAnswer{ID: c.ID, Met: true, Evidence: " "})
		case x < 70:
			w.fault("an unknown criterion")
			out = append(out, work.CriterionAnswer{ID: w.text("c99"), Met: true, Evidence: "a.txt:1"})
		}
	}
	return out
}

// brought is what one landing brought in, in truth.
type brought struct {
	phase, tree, seen string // seen: the tree that its reviewers looked at
	paths             []string
	rework, same      bool
	known             bool // which paths it touches
}

// ofIssue judges what becomes of an issue: what lands is clean, or a person
// said so, and no criterion counts by evidence of another tree.
func (c *invariants) ofIssue(s *State, p *Phase, e work.Event) error {
	if c.w.spec.Issue == nil {
		if e.Kind == work.PromotionDecided || e.Kind == work.CriterionEvidenced || e.Kind == work.CriteriaAnswered {
			return fmt.Errorf("%s in a run that is no issue's", e.Kind)
		}
		return nil
	}
	switch e.Kind {
	case work.PhaseReopened:
		c.undecided()
	case work.PhaseMerged:
		c.undecided()
		return c.brings(p, e)
	case work.ArbiterDecided:
		var d ArbiterDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Verdict == review.Proceed || d.Verdict == review.Fix {
			note(c, c.doubts, string(d.Verdict), true)
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Gate == string(gates.PointFindings) && (d.Decision == decideFix || d.Decision == decideGo) {
			note(c, c.doubts, "findings "+d.Decision, true)
		}
	case work.ReviewFinished:
		var d ReviewFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		note(c, c.doubtful, e.Phase+" "+d.Specialist, d.Verdict != work.VerdictPass)
	case work.CriterionEvidenced:
		var d work.Evidence
		if err := read(c, e, &d); err != nil {
			return err
		}
		c.w.fault("evidence by " + string(d.By))
		if err := c.evidenced(s, d); err != nil {
			return err
		}
		for _, m := range []bool{true, false} {
			if d.Met == m {
				note(c, c.proved, fmt.Sprintf("%s %v %v", d.Criterion, m, d.By == work.EvidencePerson), true)
			}
		}
	case work.PromotionDecided:
		return c.promoted(s, e)
	case work.DeliverStarted, work.DeliverFinished:
		if c.allDone(s) && s.Final.Rejected == "" {
			return c.mayLand(s)
		}
	}
	return nil
}

func (c *invariants) undecided() {
	for k := range c.proved {
		note(c, c.proved, k, false)
	}
	note(c, c.promotions, "", PromotionDecidedData{})
}

func (c *invariants) brings(p *Phase, e work.Event) error {
	var d PhaseMergedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	note(c, c.brought, len(c.brought), brought{
		phase: e.Phase, tree: c.w.commits[d.Commit], seen: c.w.commits[p.Review.Commit], paths: p.Merge.Paths, rework: p.Reworking, same: d.Empty,
		known: len(p.Merge.Paths) > 0 && !p.Merge.Resolved || p.Merge.Files == 0 && !p.Merge.Resolved,
	})
	for _, sp := range p.Set.Reviewers {
		if p.Set.Reviewed && c.doubtful[e.Phase+" "+sp.Name] {
			note(c, c.doubts, "review", true)
		}
	}
	return nil
}

// evidenced: what speaks for a criterion was said of what is in the result.
func (c *invariants) evidenced(s *State, d work.Evidence) error {
	last := c.brought[len(c.brought)-1]
	complaint := fmt.Errorf("criterion %s counts by %s %q of another tree", d.Criterion, d.By, d.Who)
	switch d.By {
	case work.EvidenceVerify:
		i := slices.IndexFunc(c.w.spec.Issue.Criteria, func(k work.Criterion) bool { return k.ID == d.Criterion })
		text, _, _ := strings.Cut(c.w.spec.Issue.Criteria[i].Text, "<!--")
		set := c.w.spec.Settings.Phases[d.Phase]
		switch t := c.w.trees[last.tree]; {
		case !strings.Contains(text, "`"+d.What+"`") || !slices.Contains(set.Verify, d.What):
			return fmt.Errorf("criterion %s does not name %q", d.Criterion, d.What)
		case !t.green || !t.proven || c.proven[d.Phase+" "+last.tree] != last.tree:
			return complaint
		}
	case work.EvidencePerson:
		if c.said[""] != work.CheckpointApproved && !c.approvedAsPushed(s) {
			return fmt.Errorf("criterion %s counts by a person who did not say so", d.Criterion)
		}
	case work.EvidenceReviewer:
		for at := range len(c.brought) {
			if c.brought[at].phase != d.Phase {
				continue
			}
			if complaint = c.stands(d, at); complaint == nil {
				return nil
			}
		}
		return complaint
	}
	return nil
}

// stands: a reviewer said so of what the landing at brought in, which is in the
// result as it was.
func (c *invariants) stands(d work.Evidence, at int) error {
	l := c.brought[at]
	if yes, spoke := c.w.spoke[d.Who+" "+l.seen+" "+d.Criterion]; !spoke || yes != d.Met {
		return fmt.Errorf("criterion %s counts by reviewer %q, which said nothing of the kind", d.Criterion, d.Who)
	}
	for i := at; i < len(c.brought); i++ {
		k := c.brought[i]
		touches := !l.known || !k.known || slices.ContainsFunc(k.paths, func(f string) bool { return slices.Contains(l.paths, f) })
		if i > at && !k.same && (k.rework || touches) {
			return fmt.Errorf("criterion %s counts by what %q said of another tree", d.Criterion, d.Who)
		}
		for _, sp := range c.w.spec.Settings.Phases[k.phase].Reviewers {
			if yes, spoke := c.w.spoke[sp.Name+" "+k.seen+" "+d.Criterion]; sp.Gating && d.Met && spoke && !yes {
				return fmt.Errorf("criterion %s counts by %q, and %q denied it", d.Criterion, d.Who, sp.Name)
			}
		}
	}
	return nil
}

// approvedAsPushed says that the result is what people pushed and approved on the
// pull request of an earlier one.
func (c *invariants) approvedAsPushed(s *State) bool {
	w := c.w.spec.Issue.Pushed
	return w != nil && w.Approved != "" && c.w.commits[s.Head] == w.Tree
}

// promoted: the machine promotes nothing that there is a doubt about.
func (c *invariants) promoted(s *State, e work.Event) error {
	var d PromotionDecidedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	note(c, c.promotions, "", d)
	who, _, _ := strings.Cut(d.By, ":")
	if who == "person" && c.approvedAsPushed(s) {
		return nil
	}
	if who == "person" {
		if want := map[review.Promotion]work.CheckpointStatus{review.ToDone: work.CheckpointApproved}[d.Decision]; want != "" && c.said[""] != want {
			return fmt.Errorf("the issue is %s by a person who said %q", d.Decision, c.said[""])
		}
		return c.proofOfAll(d)
	}
	c.w.fault("promoted " + string(d.Decision))
	if d.Decision != review.ToDone {
		return nil
	}
	switch set := c.w.spec.Settings.Promote; {
	case len(d.Hold) > 0:
		return fmt.Errorf("the issue is done, and held by %v", d.Hold)
	case !set.Enabled || !set.OnClean || c.policyAt(s, "").Promote != gates.PromoteOnClean:
		return fmt.Errorf("the issue is done, and nobody allowed that")
	}
	for doubt, holds := range c.doubts {
		if holds {
			return fmt.Errorf("the issue is done, and there is a doubt: %s", doubt)
		}
	}
	for _, p := range s.Phases {
		if p.Outcome == work.PhaseDone && p.Proof == work.ProofClaim {
			return fmt.Errorf("the issue is done, and phase %s is by its word alone", p.Number)
		}
	}
	return c.proofOfAll(d)
}

func (c *invariants) proofOfAll(d PromotionDecidedData) error {
	if d.Decision != review.ToDone {
		return nil
	}
	for _, k := range c.w.spec.Issue.Criteria {
		by := func(met, person bool) bool { return c.proved[fmt.Sprintf("%s %v %v", k.ID, met, person)] }
		if !by(true, true) && (!by(true, false) || by(false, false)) {
			return fmt.Errorf("the issue is done, and nothing proves criterion %s", k.ID)
		}
	}
	return nil
}

func (c *invariants) mayLand(s *State) error {
	d := c.promotions[""]
	if d.Decision != review.ToDone || d.Commit != s.Head {
		return fmt.Errorf("the issue's result lands, decided was %q of %s", d.Decision, d.Commit)
	}
	return nil
}
