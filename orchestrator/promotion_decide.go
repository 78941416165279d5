package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// PromotionDecidedData is the payload of promotion.decided: what becomes of the
// issue, decided on one result.
type PromotionDecidedData struct {
	Issue    int64               `json:"issue"`
	Decision review.Promotion    `json:"decision"`
	Hold     []review.HoldReason `json:"hold_reason"` // as they were for the machine
	By       string              `json:"by"`          // rule:promote, person:name
	Commit   string              `json:"commit"`      // the result
	Policy   string              `json:"policy"`      // version
	// Facts are what the machine decided on, as forge decide promote takes
	// them; Unmet the criteria without enough evidence.
	Facts review.RunResult `json:"facts"`
	Unmet []string         `json:"unmet,omitempty"`
}

// CriteriaAnsweredData is the payload of criteria.answered: what a reviewer
// says of the issue's criteria, of one content.
type CriteriaAnsweredData struct {
	Command    work.CommandID         `json:"command"` // of the review
	Specialist string                 `json:"specialist"`
	Gating     bool                   `json:"gating"`
	Commit     string                 `json:"commit"`
	Criteria   []work.CriterionAnswer `json:"criteria"`
	Ignored    []string               `json:"ignored,omitempty"` // what could not be used, and counts for nothing
}

// byPromote is who decides a promotion when no person does.
const byPromote = "rule:promote"

// promotion decides what becomes of the issue, and who has to be asked before
// the result lands. All phases are done.
func (d *decision) promotion() {
	s := d.s
	if s.Issue.Decided == nil {
		d.promote()
		return
	}
	points := s.resultPoints()
	if len(points) == 0 {
		d.rule("", string(gates.PointFinal), decideGo, "nobody is asked here at this level, and nothing holds the issue")
		return
	}
	// Who approved what they pushed was not shown what is in doubt about it, or
	// was assumed.
	if who := s.approvedResult(); who != "" && !s.inDoubt() && len(s.Assumed) == 0 {
		d.personApproves(points[0], who, tellApproved)
		return
	}
	var failed []string
	for _, h := range s.Issue.Decided.Hold {
		failed = append(failed, string(h))
	}
	if len(failed) == 0 {
		failed = []string{"gate"}
	}
	is := s.Spec.Issue
	d.open(nil, points[0], failed, fmt.Sprintf("Land the result of issue %d, %q?", is.ID, text.ClipJSON(is.Title, 200)), s.tellPromotion(), points[1:]...)
}

// promote records what speaks for the criteria, and the machine's decision.
func (d *decision) promote() {
	s := d.s
	i := s.Issue
	evidence := weigh(s.Spec.Issue.Criteria, i.Landings, proof{i.Prover, i.Passed}, s.Head)
	for _, e := range evidence {
		d.evidence(e)
	}
	r := s.result(evidence)
	decision, hold := review.Promote(r)
	d.decided(decision, hold, byPromote, r, s.unmet(evidence))
}

func (d *decision) evidence(e work.Evidence) {
	e.Criterion, e.Who, e.What = text.ClipJSON(e.Criterion, 20), text.ClipJSON(e.Who, 200), text.ClipJSON(e.What, 1000)
	d.phase(e.Phase, work.CriterionEvidenced, e)
}

func (d *decision) decided(to review.Promotion, hold []review.HoldReason, by string, facts review.RunResult, unmet []string) {
	d.run(work.PromotionDecided, PromotionDecidedData{
		Issue: d.s.Spec.Issue.ID, Decision: to, Hold: append([]review.HoldReason{}, hold...), By: by, Commit: d.s.Head,
		Policy: d.s.versionOf(nil), Facts: facts, Unmet: clipList(unmet, work.MaxIssueCriteria, 20),
	})
}

// resultPoints are the gates at which a person decides about the result.
func (s *State) resultPoints() []string {
	var out []string
	if !s.passes(nil, gates.PointFinal) || !s.passes(nil, gates.PointFinalOutput) {
		out = append(out, string(gates.PointFinal))
	}
	if s.Issue.Decided.Decision != review.ToDone {
		out = append(out, string(gates.PointPromote))
	}
	if s.inDoubt() {
		out = append(out, string(gates.PointEvidence))
	}
	return out
}

// tellPromotion is what a person decides on, the doubts first.
func (s *State) tellPromotion() string {
	var b strings.Builder
	if s.Final.Note != "" {
		b.WriteString(s.Final.Note + "\n")
	}
	if hold := s.Issue.Decided.Hold; len(hold) > 0 {
		b.WriteString("held by:")
		for _, h := range hold {
			b.WriteString(" " + string(h))
		}
		b.WriteString("\n")
	}
	b.WriteString(s.tellDoubts() + s.tellAssumed())
	unmet := s.unmet(s.Issue.Evidence)
	for _, c := range s.Spec.Issue.Criteria {
		if slices.Contains(unmet, c.ID) {
			fmt.Fprintf(&b, "%s has no evidence: %s\n", c.ID, text.ClipJSON(c.Text, 200))
		}
		for _, e := range about(c.ID, s.Issue.Evidence) {
			how := "met"
			if !e.Met {
				how = "NOT met"
			}
			fmt.Fprintf(&b, "%s %s, says %s: %s\n", c.ID, how, cmp.Or(e.Who, string(e.By)), text.FirstLine(text.Plain(e.What), 200))
		}
	}
	if len(unmet) > 0 {
		b.WriteString("approving says that these criteria are met\n")
	}
	return text.ClipJSON(b.String(), 3<<10) + "\n" + s.summary()
}

// answeredCriteria records what a reviewer says of the criteria, as far as it
// can be used: a known id, said once, with a word on where it is seen.
func (d *decision) answeredCriteria(c Command, of ReviewFinishedData, r work.ReviewReport) {
	if d.s.Issue == nil || of.Verdict == work.VerdictUnknown || len(r.Criteria)+len(r.Unread) == 0 {
		return
	}
	data := CriteriaAnsweredData{Command: c.ID, Specialist: of.Specialist, Gating: of.Gating, Commit: of.Commit, Ignored: slices.Clone(r.Unread)}
	ignore := func(id, why string) { data.Ignored = append(data.Ignored, text.ClipJSON(id, 20)+": "+why) }
	for _, a := range r.Criteria {
		known := slices.ContainsFunc(d.s.Spec.Issue.Criteria, func(c work.Criterion) bool { return c.ID == a.ID })
		twice := slices.ContainsFunc(data.Criteria, func(b work.CriterionAnswer) bool { return b.ID == a.ID })
		switch {
		case !known:
			ignore(a.ID, "there is no such criterion")
		case strings.TrimSpace(a.Evidence) == "":
			ignore(a.ID, "no evidence was given")
		case twice:
			ignore(a.ID, "said twice")
		default:
			data.Criteria = append(data.Criteria, work.CriterionAnswer{ID: a.ID, Met: a.Met, Evidence: text.ClipJSON(a.Evidence, 200)})
		}
	}
	data.Ignored = clipList(data.Ignored, 10, 100)
	d.emit(work.CriteriaAnswered, c, data)
}

// writeIssue shows the agent what the whole of the work is held against.
func (s *State) writeIssue(b *strings.Builder) {
	is := s.Spec.Issue
	if is == nil {
		return
	}
	section(b, "The issue that this work is for", is.Title)
	if len(is.Criteria) > 0 {
		section(b, "The issue's acceptance criteria; the work as a whole is held against them, so do this phase's part", tellCriteria(is.Criteria))
	}
}

func tellCriteria(all []work.Criterion) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Text)
	}
	return b.String()
}
