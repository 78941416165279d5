package changereview

import (
	"fmt"
	"slices"

	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// Result is what forge review --output json prints; docs/review-output.md
// describes it.
type Result struct {
	V          int               `json:"v"`
	Verdict    work.Verdict      `json:"verdict"`
	Why        []string          `json:"why"` // of a verdict that is no pass
	Base       Base              `json:"base"`
	Head       string            `json:"head"`     // the checked-out commit
	Commit     string            `json:"commit"`   // what was reviewed, in Forge's own repository
	Files      []work.FileChange `json:"files"`    // of the change
	By         string            `json:"by"`       // llm, or agent:<name>
	Own        []Finding         `json:"own"`      // Forge's own findings
	Findings   []Finding         `json:"findings"` // of the reviewers, duplicates merged, worst first
	Notes      []Finding         `json:"notes"`    // beyond what one reviewer may hold against a change
	Merged     int               `json:"merged"`   // how many findings went into others of these lists
	Reviewers  []Reviewer        `json:"reviewers"`
	Unreviewed []string          `json:"unreviewed"` // files that a reviewer did not see, or git cannot record
	LeftOut    []review.LeftOut  `json:"left_out"`   // files that nobody was asked about, and why
	Summary    []string          `json:"summary"`    // what the change does, in at most three sentences of a model
	Ignored    []Ignored         `json:"ignored"`    // found, and let stand by people
	Expired    []Ignored         `json:"expired"`    // found, and no longer let stand
	Standing   []Earlier         `json:"standing"`   // of earlier reviews of the pull request, and still there
	Gone       []Earlier         `json:"gone"`       // likewise, and settled now
	Usage      work.Usage        `json:"usage"`
}

// Reviewer is one specialist's part.
type Reviewer struct {
	Name         string       `json:"name"`
	Gating       bool         `json:"gating"`
	Verdict      work.Verdict `json:"verdict"`
	Why          string       `json:"why,omitempty"`
	Asks         int          `json:"asks"`
	Findings     int          `json:"findings"`
	Merged       int          `json:"merged"`       // said again, at the same place and in the same words
	Hallucinated int          `json:"hallucinated"` // dropped: no such line in the change
	Unreviewed   []string     `json:"unreviewed"`
	Confidence   *float64     `json:"confidence"`
	Model        string       `json:"model,omitempty"`
	Usage        work.Usage   `json:"usage"`
	Requests     []string     `json:"requests"` // blobs, see docs/storage.md
	Answers      []string     `json:"answers"`
}

// result sums up what Forge and the reviewers found. No word of a reviewer
// reaches Forge's own findings or another reviewer's report.
func (r *ongoing) result(changes []work.FileChange, own []Finding, all []reviewed) Result {
	out := Result{
		V: 1, Base: r.base, Head: r.Checkout.Base.Commit, Commit: r.now, Files: []work.FileChange{}, By: r.set.Reviews.By,
		Own: []Finding{}, Reviewers: []Reviewer{}, Unreviewed: []string{},
	}
	out.LeftOut, out.Summary, out.Standing, out.Gone = []review.LeftOut{}, []string{}, []Earlier{}, []Earlier{}
	out.Ignored, out.Expired = append([]Ignored{}, r.ignored...), append([]Ignored{}, r.expired...)
	for _, l := range r.out {
		out.LeftOut = append(out.LeftOut, review.LeftOut{Path: r.clean(l.Path), Why: l.Why})
	}
	out.Base.Ref, out.Base.Why = r.clean(out.Base.Ref), r.clean(out.Base.Why)
	for _, c := range changes {
		out.Files = append(out.Files, work.FileChange{Path: r.clean(review.Name(c.Path)), Status: c.Status})
	}
	for _, f := range own {
		f.Finding = r.cleanFinding(f.Finding)
		out.Own = append(out.Own, f)
	}
	gates := map[string]bool{}
	var found, notes []work.Finding
	var usage []work.Usage
	unseen := map[string]bool{}
	for _, name := range r.left {
		unseen[r.clean(review.Name(name))] = true
	}
	for _, s := range all {
		gates[s.Name] = s.Gating
		one := Reviewer{
			Name: s.Name, Gating: s.Gating, Verdict: s.Verdict, Why: r.clean(s.Why), Asks: s.asks, Hallucinated: s.Hallucinated,
			Findings: len(s.ReviewReport.Findings) + len(s.Notes), Merged: work.MergedFindings(s.ReviewReport.Findings) + work.MergedFindings(s.Notes), Unreviewed: []string{}, Confidence: s.Confidence, Model: r.clean(s.Model), Usage: sumUsage(s.usage),
			Requests: append([]string{}, s.requests...), Answers: append([]string{}, s.answers...),
		}
		for _, name := range s.Unreviewed {
			one.Unreviewed = append(one.Unreviewed, r.clean(name))
			unseen[r.clean(name)] = true
		}
		for _, sentence := range s.Sentences {
			out.Summary = append(out.Summary, r.clean(sentence))
		}
		found, notes, usage = append(found, s.ReviewReport.Findings...), append(notes, s.Notes...), append(usage, s.usage...)
		out.Reviewers = append(out.Reviewers, one)
	}
	for name := range unseen {
		out.Unreviewed = append(out.Unreviewed, name)
	}
	slices.Sort(out.Unreviewed)
	out.Findings, out.Notes, out.Usage = r.merged(found, gates), r.merged(notes, gates), sumUsage(usage)
	for _, f := range slices.Concat(out.Findings, out.Notes) {
		out.Merged += f.Merged
	}
	out.Verdict, out.Why = verdictOf(out.Own, out.Reviewers, len(r.left), r.hidden)
	return out
}

// merged are findings of all specialists, each once; those of a gating one gate.
func (r *ongoing) merged(all []work.Finding, gates map[string]bool) []Finding {
	out := []Finding{}
	for _, f := range review.Merge(all) {
		gating := gates[f.Specialist] || slices.ContainsFunc(f.Also, func(name string) bool { return gates[name] })
		one := Finding{Finding: r.cleanFinding(f), Gating: gating}
		one.ID = review.TraceOf(one.Finding, gating, r.whole).ID
		out = append(out, one)
	}
	return out
}

// verdictOf is fail when something that gates is against the change, whatever
// is not known beside it; else unknown when what gates has no usable answer or
// files were left out; else a warning for anything that is no pass.
func verdictOf(own []Finding, reviewers []Reviewer, left int, hidden bool) (work.Verdict, []string) {
	by := map[work.Verdict][]string{}
	say := func(v work.Verdict, format string, args ...any) { by[v] = append(by[v], fmt.Sprintf(format, args...)) }
	rules := map[string]int{}
	own, _ = folded(own)
	counted := map[string]bool{} // a file may have several findings
	for _, f := range own {
		if key := fmt.Sprint(f.Rule, f.Gating, f.File); !counted[key] {
			counted[key] = true
			if rules[f.Rule]++; f.Gating {
				rules["!"+f.Rule]++
			}
		}
	}
	for _, rule := range []string{ruleGone, ruleSettings, ruleWeakened, ruleTouched} {
		switch {
		case rules["!"+rule] > 0:
			say(work.VerdictFail, "%s: %s", rule, text.Number(rules["!"+rule], "file"))
		case rules[rule] > 0:
			say(work.VerdictWarn, "%s: %s", rule, text.Number(rules[rule], "file"))
		}
	}
	if left > 0 {
		say(work.VerdictUnknown, "git cannot record %s, so not reviewed", text.Number(left, "file"))
	}
	if hidden {
		say(work.VerdictUnknown, "all files of the change are left out, so nobody reviewed it")
	}
	for _, s := range reviewers {
		v, role := s.Verdict, "gates"
		if !s.Gating {
			role = "advises"
		}
		switch {
		case !v.Known():
			v = work.VerdictUnknown
		case !s.Gating && v != work.VerdictPass:
			v = work.VerdictWarn
		}
		if !s.Gating && v == work.VerdictUnknown {
			v = work.VerdictWarn
		}
		if v != work.VerdictPass {
			text := fmt.Sprintf("%s (%s): %s", s.Name, role, s.Verdict)
			if s.Why != "" {
				text += ", " + s.Why
			}
			say(v, "%s", text)
		}
	}
	why := []string{}
	verdict := work.VerdictPass
	for _, v := range []work.Verdict{work.VerdictFail, work.VerdictUnknown, work.VerdictWarn} {
		if len(by[v]) > 0 && verdict == work.VerdictPass {
			verdict = v
		}
		why = append(why, by[v]...)
	}
	return verdict, why
}

// clean takes secrets out of a foreign text, and what a terminal would obey.
func (r *ongoing) clean(body string) string { return text.Harmless(r.red.String(body)) }

func (r *ongoing) cleanFinding(f work.Finding) work.Finding {
	for _, t := range []*string{&f.Specialist, &f.File, &f.Issue, &f.Failure, &f.Suggestion, &f.Repro} {
		*t = r.clean(*t)
	}
	f.Also = slices.Clone(f.Also)
	for i := range f.Also {
		f.Also[i] = r.clean(f.Also[i])
	}
	if f.Replacement != nil && r.red.String(*f.Replacement) != *f.Replacement {
		f.Replacement = nil // it would not be what it says
	}
	return f
}

// sumUsage adds up; one unknown amount makes its sum unknown.
func sumUsage(all []work.Usage) work.Usage {
	sum := runs.NothingUsed()
	in, out, usd := *sum.InputTokens, *sum.OutputTokens, *sum.CostUSD
	sum.InputTokens, sum.OutputTokens, sum.CostUSD = &in, &out, &usd
	for _, u := range all {
		sum.InputTokens = plus(sum.InputTokens, u.InputTokens)
		sum.OutputTokens = plus(sum.OutputTokens, u.OutputTokens)
		sum.CostUSD = plus(sum.CostUSD, u.CostUSD)
	}
	return sum.Clean()
}

func plus[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}
