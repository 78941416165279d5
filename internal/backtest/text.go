package backtest

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/orchestrator"
)

// Backtest is forge policy backtest --output json.
type Backtest struct {
	Policy  string   `json:"policy"`
	Version string   `json:"version"`
	Totals  Totals   `json:"totals"`
	Runs    []Report `json:"runs"`
}

// Text is one table, and what would have passed below it.
func (b Backtest) Text() string {
	if len(b.Runs) == 0 {
		return "There are no runs to look at.\n"
	}
	var rows [][]string
	for _, r := range b.Runs {
		rows = append(rows, []string{
			r.Run, cmp.Or(r.Level, "(own)"), cmp.Or(string(r.Outcome), "unfinished"), fmt.Sprint(r.Asked), fmt.Sprint(r.WouldAsk),
			fmt.Sprint(len(r.Opened)), fmt.Sprint(len(r.Passed)), promoted(r.Promotion),
		})
	}
	var t strings.Builder
	fmt.Fprintf(&t, "Under %s (version %s):\n\n", b.Policy, text.Short(b.Version))
	t.WriteString(text.Table([]string{"RUN", "LEVEL", "OUTCOME", "ASKED", "WOULD ASK", "MORE", "FEWER", "RESULT"}, rows))
	for _, r := range b.Runs {
		for _, d := range r.Opened {
			fmt.Fprintf(&t, "\n%s %s: it would have asked at %s", r.Run, about(d), points(d))
		}
		for _, d := range r.Passed {
			fmt.Fprintf(&t, "\n%s %s: it would not have asked at %s (%s)", r.Run, about(d), points(d), d.Checkpoint)
			switch {
			case d.Wrong != "":
				t.WriteString(", wrongly: " + d.Wrong)
			case d.Instead != "":
				t.WriteString("; instead " + d.Instead)
			}
		}
	}
	n := b.Totals
	fmt.Fprintf(&t, "\n\n%s, %s: asked %s, would have asked %s.\n", text.Number(n.Runs, "run"), text.Number(n.Decisions, "decision"), text.Number(n.Asked, "time"), text.Number(n.WouldAsk, "time"))
	fmt.Fprintf(&t, "%s fewer, %d of them wrongly; %d more. %s promoted without a person, %d of them wrongly.\n", text.Number(n.Passed, "question"), n.PassedWrong, n.Opened, text.Number(n.Promoted, "result"), n.PromotedWrong)
	return t.String()
}

// about is what a boundary is about.
func about(d Difference) string {
	if d.Phase == "" {
		return "the run as a whole"
	}
	return "phase " + d.Phase
}

func points(d Difference) string {
	if d.Kind == orchestrator.PointBaseline {
		return d.Kind
	}
	out := make([]string, len(d.Points))
	for i, pt := range d.Points {
		out[i] = string(pt)
	}
	return strings.Join(out, ", ")
}

// promoted is what would have become of a result, in a few words.
func promoted(p Promotion) string {
	switch {
	case p.Decision == "":
		return "-"
	case p.Wrong != "":
		return p.Decision + ", wrongly: " + p.Wrong
	case len(p.Hold) > 0 && p.Decision != AskedFirst:
		var why []string
		for _, h := range p.Hold {
			why = append(why, string(h))
		}
		return p.Decision + " (" + strings.Join(why, ", ") + ")"
	}
	return p.Decision
}
