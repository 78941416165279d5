package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

func (d *decision) reviewBegan(c Command) {
	p := d.s.Phases[c.Phase]
	o := p.Review.Of[c.Specialist]
	if o.Begun != "" {
		return
	}
	d.emit(work.ReviewStarted, c, ReviewStartedData{
		Command: c.ID, Specialist: c.Specialist, Gating: p.gates(c.Specialist), Commit: c.Commit, Since: o.since(),
		Ask: o.Asks + 1, Reserved: d.s.Spec.Settings.Cost.IterationUSD,
	})
}

// since is the commit that the specialist need not look at again: one that it
// had nothing to stop for in.
func (o *Opinion) since() string {
	if o.Verdict == work.VerdictPass || o.Verdict == work.VerdictWarn {
		return o.Commit
	}
	return ""
}

func (p *Phase) gates(specialist string) bool {
	for _, sp := range p.Set.Reviewers {
		if sp.Name == specialist {
			return sp.Gating
		}
	}
	return true
}

func (d *decision) arbiterBegan(c Command) {
	if d.s.Phases[c.Phase].Review.Asking == "" {
		d.emit(work.ArbiterStarted, c, ArbiterStartedData{
			Command: c.ID, Model: text.ClipJSON(d.s.Spec.Settings.Reviews.Arbiter, 200), Reserved: d.s.Spec.Settings.Cost.IterationUSD,
		})
	}
}

// reviewDone records a report as far as it can be believed: a verdict is never
// better than its findings, and one without what it needs is unknown.
func (d *decision) reviewDone(f ReviewDone) {
	if !d.awaited(f.Command) {
		return
	}
	p, r := d.s.Phases[f.Command.Phase], f.Report
	o := p.Review.Of[f.Command.Specialist]
	if o.Begun == "" {
		return
	}
	data := ReviewFinishedData{
		Command: f.Command.ID, Specialist: f.Command.Specialist, Gating: p.gates(f.Command.Specialist), Commit: f.Command.Commit, Ask: o.Asks + 1,
		Verdict: r.Verdict, Why: text.ClipJSON(r.Why, 500), Hallucinated: max(r.Hallucinated, 0), Files: len(r.Files),
		Unreviewed: clipList(r.Unreviewed, 10, 80), Confidence: share(r.Confidence), Model: text.ClipJSON(r.Model, 200), Usage: r.Usage.Clean(),
		Request: text.ClipJSON(r.Request, 100), Answer: text.ClipJSON(r.Answer, 100),
	}
	found, notes := r.Findings, r.Notes
	if worst := worstOf(append(slices.Clip(found), notes...)); worst != worstOf(found) {
		// A note is never worse than the findings.
		found, notes = append(slices.Clip(found), notes...), nil
	}
	var left, more int
	data.Findings, left = clipFindings(data.Specialist, found, 6, 180)
	data.Notes, more = clipFindings(data.Specialist, notes, 3, 100)
	data.LeftOut = left + more
	switch worst := worstOf(found); {
	case !r.Verdict.Known():
		data.Verdict, data.Why = work.VerdictUnknown, "the reviewer's verdict is unknown"
	case r.Verdict == work.VerdictUnknown:
	case len(r.Unreviewed) > 0 && data.Gating:
		data.Verdict, data.Why = work.VerdictUnknown, fmt.Sprintf("%s not reviewed", text.Number(len(r.Unreviewed), "file"))
	case worst == work.SeverityCritical || worst == work.SeverityMajor:
		data.Verdict = work.VerdictFail
	case r.Verdict == work.VerdictFail && worst == "":
		data.Verdict, data.Why = work.VerdictUnknown, "it fails without a finding"
	case r.Verdict == work.VerdictPass && worst == work.SeverityMinor:
		data.Verdict = work.VerdictWarn
	}
	data.Final = r.Final && data.Verdict == work.VerdictUnknown
	d.emit(work.ReviewFinished, f.Command, data)
	d.answeredCriteria(f.Command, data, r)
}

// worstOf is the highest severity, "" of no findings; an unknown one counts as
// critical.
func worstOf(all []work.Finding) work.Severity {
	var out work.Severity
	for _, f := range all {
		switch {
		case !f.Severity.Known() || f.Severity == work.SeverityCritical:
			return work.SeverityCritical
		case f.Severity == work.SeverityMajor || out == "":
			out = f.Severity
		}
	}
	return out
}

// clipFindings keeps the worst of them, in the order in which they came, as
// findings of who: nobody else speaks in a report, and nobody in Forge's name.
func clipFindings(who string, all []work.Finding, most, each int) (out []work.Finding, left int) {
	for _, severity := range work.Severities() {
		for _, f := range all {
			if !f.Severity.Known() {
				f.Severity = work.SeverityCritical
			}
			if f.Severity != severity {
				continue
			}
			if len(out) == most {
				left++
				continue
			}
			out = append(out, work.Finding{
				Specialist: text.ClipJSON(who, 50), Also: clipList(f.Also, 3, 40), Merged: max(f.Merged, 0), Severity: severity,
				File: text.ClipJSON(f.File, 200), Line: max(f.Line, 0), EndLine: max(f.EndLine, 0),
				Issue: text.ClipJSON(f.Issue, 2*each), Failure: text.ClipJSON(f.Failure, each), Suggestion: text.ClipJSON(f.Suggestion, 2*each), Repro: text.ClipJSON(f.Repro, each),
			})
		}
	}
	return out, left
}

// share is a number from 0 to 1, nil for what is none.
func share(c *float64) *float64 {
	if c == nil || !(*c >= 0 && *c <= 1) {
		return nil
	}
	return c
}

func (d *decision) arbiterDone(f ArbiterDone) {
	if !d.awaited(f.Command) || d.s.Phases[f.Command.Phase].Review.Asking == "" {
		return
	}
	a := f.Answer
	a.Usage = a.Usage.Clean()
	a.Verdict, a.Reason, a.Why = text.ClipJSON(a.Verdict, 20), text.ClipJSON(a.Reason, 500), text.ClipJSON(a.Why, 500)
	a.Instructions, a.Model = text.ClipJSON(a.Instructions, 2000), text.ClipJSON(a.Model, 200)
	a.Request, a.Answer = text.ClipJSON(a.Request, 100), text.ClipJSON(a.Answer, 100)
	a.Confidence = share(a.Confidence)
	d.emit(work.ArbiterFinished, f.Command, ArbiterFinishedData{Command: f.Command.ID, Answer: a})
}
