package narrate

import (
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayOfReviews puts the events of reviews into words.
func sayOfReviews(e work.Event) (string, facts, error) {
	switch e.Kind {
	case work.ReviewFinished:
		return telling(e, sayReview)
	case work.ArbiterFinished:
		return telling(e, func(d orchestrator.ArbiterFinishedData) (string, facts) {
			a := d.Answer
			head := "the arbiter's model says " + a.Verdict
			if a.Verdict == "" {
				head = "the arbiter's model gave no usable answer"
			}
			return head, facts{{"sure", confidenceText(a.Confidence)}, {"why", a.Reason + a.Why}, {"advice", a.Instructions}, {"answer", a.Answer}}
		})
	case work.ArbiterDecided:
		return telling(e, sayArbiter)
	}
	return "", nil, nil
}

func sayReview(d orchestrator.ReviewFinishedData) (string, facts) {
	role := "advises"
	if d.Gating {
		role = "gates"
	}
	head := fmt.Sprintf("review by %s (%s): %s", d.Specialist, role, d.Verdict)
	if d.Ask > 1 {
		head += fmt.Sprintf(" (asked for the %d. time)", d.Ask)
	}
	if d.Usage.CostUSD != nil {
		head += ", " + text.USD(*d.Usage.CostUSD)
	}
	f := facts{{"why", d.Why}}
	for _, x := range d.Findings {
		f = append(f, [2]string{string(x.Severity), SayFinding(x)})
	}
	for _, x := range d.Notes {
		f = append(f, [2]string{"note", SayFinding(x)})
	}
	if d.LeftOut > 0 {
		f = append(f, [2]string{"more", fmt.Sprintf("%s in the answer alone", text.Number(d.LeftOut, "finding"))})
	}
	if d.Hallucinated > 0 {
		f = append(f, [2]string{"dropped", fmt.Sprintf("%s about lines that are not in the change", text.Number(d.Hallucinated, "finding"))})
	}
	return head, append(f, [2]string{"not seen", strings.Join(d.Unreviewed, ", ")}, [2]string{"answer", d.Answer})
}

// findingLine is a finding without what follows from it, for a line that has no
// room for more.
func findingLine(x work.Finding) string { return fmt.Sprintf("%s: %s", x.Severity, findingHead(x)) }

func findingHead(x work.Finding) string {
	if x.File == "" {
		return x.Issue
	}
	return fmt.Sprintf("%s:%d  %s", x.File, x.Line, x.Issue)
}

// SayFinding is a finding in words: where it is, what is wrong, what that leads
// to, what would mend it, and how to see it.
func SayFinding(x work.Finding) string {
	text := findingHead(x)
	for _, more := range []struct{ name, text string }{{"leads to", x.Failure}, {"suggested", x.Suggestion}, {"to see it", x.Repro}} {
		if more.text != "" {
			text += "\n" + more.name + ": " + more.text
		}
	}
	if len(x.Also) > 0 {
		text += "\nalso found by: " + strings.Join(x.Also, ", ")
	}
	if many := x.StandsFor(); many != "" {
		text += "\nmerged: " + many
	}
	return text
}

func sayArbiter(d orchestrator.ArbiterDecidedData) (string, facts) {
	head := fmt.Sprintf("arbiter → %s, by the rule %s", d.Verdict, d.Reason)
	f := facts{{"findings", severitiesText(d.Findings)}, {"unknown", strings.Join(d.Unknown, ", ")}, {"fixes", fmt.Sprintf("%d of %d", d.Attempt, d.Most)}}
	if d.Said != "" {
		said := fmt.Sprintf("%s, confidence %s", d.Said, confidenceText(d.Confidence))
		if d.Overruled {
			said += "; overruled by the rule"
		}
		f = append(f, [2]string{"model", said})
	}
	return head, append(f, [2]string{"why", d.Why})
}

func severitiesText(all []work.Severity) string {
	var out []string
	for _, s := range work.Severities() {
		n := 0
		for _, x := range all {
			if x == s {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(out, ", ")
}

func confidenceText(c *float64) string {
	if c == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", *c)
}

// describeReview says an event of a review in one line.
func describeReview(e work.Event) (log.Level, string, []any) {
	switch e.Kind {
	case work.ReviewStarted:
		return describeAs(e, func(d orchestrator.ReviewStartedData) (log.Level, string, []any) {
			return log.InfoLevel, "review by " + d.Specialist, nil
		})
	case work.ReviewFinished:
		return describeAs(e, func(d orchestrator.ReviewFinishedData) (log.Level, string, []any) {
			level, pairs := log.InfoLevel, []any{}
			if len(d.Findings) > 0 {
				pairs = append(pairs, "findings", len(d.Findings)+d.LeftOut, "first", text.OneLine(findingLine(d.Findings[0]), 160))
				if n := work.MergedFindings(d.Findings); n > 0 {
					pairs = append(pairs, "merged", n)
				}
			}
			if d.Why != "" {
				pairs = append(pairs, "why", d.Why)
			}
			if d.Verdict != work.VerdictPass {
				level = log.WarnLevel
			}
			return level, "review by " + d.Specialist + ": " + string(d.Verdict), pairs
		})
	case work.ArbiterDecided:
		return describeAs(e, func(d orchestrator.ArbiterDecidedData) (log.Level, string, []any) {
			pairs := []any{"rule", d.Reason, "fixes", fmt.Sprintf("%d/%d", d.Attempt, d.Most)}
			if d.Overruled {
				pairs = append(pairs, "model", d.Said+", overruled")
			}
			return log.WarnLevel, "arbiter: " + string(d.Verdict), pairs
		})
	}
	return log.DebugLevel, "", nil
}

// Reviewing is what the reviews of p are at, in a few words.
func Reviewing(p *orchestrator.View) string {
	var open []string
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; o != nil && o.Due {
			name := sp.Name
			if o.Asks > 0 {
				name += fmt.Sprintf(" (time %d)", o.Asks+1)
			}
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return "reviewed"
	}
	return "review by " + strings.Join(open, ", ")
}
