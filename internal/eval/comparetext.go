package eval

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
)

// CompareText is a comparison of two trials for a person. Words of others in it
// may still act on a terminal.
func CompareText(a, b *Trial, c Comparison) string {
	var out strings.Builder
	fmt.Fprintf(&out, "A  %s\nB  %s\n", trialHead(a), trialHead(b))
	for _, name := range promptNames(a, b) {
		if a.Prompts[name] != b.Prompts[name] {
			fmt.Fprintf(&out, "   prompt of %s: A %s, B %s\n", name, orDash(a.Prompts[name]), orDash(b.Prompts[name]))
		}
	}
	if a.Judge != b.Judge || a.JudgeModel != b.JudgeModel {
		out.WriteString("   Descriptions were compared in two ways: a difference may come from that.\n")
	}
	var rows [][]string
	for _, t := range c.Tests {
		rows = append(rows, []string{t.What, fmt.Sprint(t.Pairs), fmt.Sprint(t.Both), fmt.Sprint(t.OnlyA), fmt.Sprint(t.OnlyB), fmt.Sprint(t.Left), fmt.Sprintf("%.3f", t.P)})
	}
	out.WriteString("\n" + text.Table([]string{"ON", "PAIRS", "BOTH", "ONLY A", "ONLY B", "UNKNOWN", "P"}, rows) + "\n")
	for _, t := range c.Tests {
		out.WriteString(t.What + ": " + pairedText(t) + "\n")
	}
	out.WriteString("P is exact and two-sided (McNemar). Each test stands for itself.\n")
	for _, l := range []struct {
		what  string
		names []string
	}{{"changed between the two", c.Changed}, {"asked in one of them alone", c.Missing}} {
		if n := len(l.names); n > 0 {
			fmt.Fprintf(&out, "Left out, %s: %s\n", l.what, strings.Join(l.names[:min(n, 5)], ", ")+andMore(n-5))
		}
	}
	return out.String()
}

// CompareAllText is trials held against the first of them, and all side by side.
// Words of others in it may still act on a terminal.
func CompareAllText(all []*Trial, b Beside) string {
	var out strings.Builder
	for i, c := range b.Against {
		out.WriteString(CompareText(all[0], all[i+1], c) + "\n")
	}
	return out.String() + BesideText(b)
}

// Listed is a list that is never null in JSON.
func Listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func pairedText(t Paired) string {
	better := "A"
	if t.OnlyB > t.OnlyA {
		better = "B"
	}
	switch {
	case t.Pairs == 0:
		return "nothing can be compared"
	case t.OnlyA+t.OnlyB == 0 && t.Left > 0:
		return fmt.Sprintf("no difference where both answered; %d left out, unknown in one of them", t.Left)
	case t.OnlyA+t.OnlyB == 0:
		return "no difference"
	case t.Noise:
		return fmt.Sprintf("the difference is within noise (p = %.3f)", t.P)
	}
	return fmt.Sprintf("%s is better (p = %.3f)", better, t.P)
}

// promptNames are the reviewers of both, sorted.
func promptNames(a, b *Trial) []string {
	var names []string
	for _, t := range []*Trial{a, b} {
		for name := range t.Prompts {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
