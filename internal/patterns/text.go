package patterns

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/eval"
	"forge/internal/text"
)

// Table shows groups to a person; by is what they were grouped by.
func Table(by string, groups []Group) string {
	var rows [][]string
	few := false
	for _, g := range groups {
		name := text.ClipLine(g.Name, 60)
		if g.Few {
			name, few = name+" *", true
		}
		rows = append(rows, []string{name, doneText(g.Done), spreadText(g.Iterations, number), spreadText(g.Seconds, took), spreadText(g.USD, text.USD)})
	}
	out := text.Table([]string{strings.ToUpper(by), "DONE (95 %)", "ITERATIONS", "TIME", "COST"}, rows)
	out += "Iterations, time and cost are of phases that were done: median (half of them lie between).\n"
	if few {
		out += fmt.Sprintf("* fewer than %d phases: too few to conclude from\n", Few)
	}
	return text.Harmless(out)
}

// Versus shows two groups beside each other, and which is better.
func Versus(a, b Group) string {
	said := "Neither is seen to be better: the intervals of 95 % meet, or the phases are too few.\n"
	if better := Better(a, b); better != "" {
		said = fmt.Sprintf("Phases of %s were done more often; the intervals of 95 %% are apart. They need not have had the same phases.\n", better)
	}
	return Table("of", []Group{a, b}) + text.Harmless(said)
}

// AdviceText shows what the past suggests for the phases of a plan.
func AdviceText(all []Advice) string {
	var b strings.Builder
	for _, one := range all {
		b.WriteString(one.String())
	}
	b.WriteString("Nothing was changed: budgets and agents are in .forge/phases.json.\n")
	return text.Harmless(b.String())
}

// String is the advice for a person.
func (a Advice) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s: budget %d", a.Phase, text.ClipLine(a.Name, 60), a.Budget)
	switch {
	case a.Suggested == nil:
		b.WriteString(", no suggestion")
	case *a.Suggested == a.Budget:
		b.WriteString(", as it should be")
	default:
		fmt.Fprintf(&b, ", suggested %d", *a.Suggested)
	}
	fmt.Fprintf(&b, "\n    %s\n", a.Why)
	if a.Past.Done.Of > 0 {
		fmt.Fprintf(&b, "    %s: %s done", a.From, doneText(a.Past.Done))
		if a.Past.Iterations != nil {
			fmt.Fprintf(&b, "; iterations %s; time %s; cost %s", spreadText(a.Past.Iterations, number), spreadText(a.Past.Seconds, took), spreadText(a.Past.USD, text.USD))
		}
		b.WriteString("\n")
	}
	if a.Agent != "" {
		fmt.Fprintf(&b, "    agent %s did such phases more often\n", a.Agent)
	}
	return b.String()
}

func doneText(r eval.Rate) string {
	return fmt.Sprintf("%d of %d (%.0f to %.0f %%)", r.Hits, r.Of, 100**r.Low, 100**r.High)
}

// spreadText is a median and where half of the values lie.
func spreadText(s *Spread, say func(float64) string) string {
	switch {
	case s == nil:
		return "unknown"
	case s.Low == s.High:
		return say(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", say(s.Median), say(s.Low), say(s.High))
}

func number(n float64) string { return fmt.Sprintf("%.0f", n) }

func took(s float64) string { return text.Took(time.Duration(s * float64(time.Second))) }
