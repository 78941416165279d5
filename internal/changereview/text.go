package changereview

import (
	"fmt"
	"strings"

	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
)

// Text is a result for a terminal.
func Text(res Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s since %s (%s, %s)\n\n", countFiles(len(res.Files)), text.Short(res.Base.Commit), res.Base.Ref, res.Base.Why)
	list := func(title string, all []Finding) {
		if len(all) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s:\n", title)
		for _, f := range all {
			who := f.Specialist
			if f.Rule != "" {
				who = f.Rule
			}
			if f.Gating {
				who += ", gates"
			}
			first, more, _ := strings.Cut(narrate.SayFinding(f.Finding), "\n")
			fmt.Fprintf(&b, "  %-8s  %s  [%s]\n", f.Severity, first, who)
			if more != "" {
				// Indented, no text can pass for a line of the report.
				b.WriteString("            " + strings.ReplaceAll(more, "\n", "\n            ") + "\n")
			}
		}
		b.WriteString("\n")
	}
	list("Found by Forge itself", res.Own)
	list("Found by reviewers", res.Findings)
	list("Notes", res.Notes)
	if res.Merged > 0 {
		fmt.Fprintf(&b, "%s\n\n", mergedText(res.Merged))
	}
	rows := make([][]string, 0, len(res.Reviewers))
	for _, s := range res.Reviewers {
		role := "gates"
		if !s.Gating {
			role = "advises"
		}
		rows = append(rows, []string{s.Name, role, string(s.Verdict), fmt.Sprint(s.Findings), text.OneLine(s.Why, 200)})
	}
	b.WriteString(text.Table([]string{"reviewer", "", "verdict", "findings", "why"}, rows))
	if len(res.Unreviewed) > 0 {
		fmt.Fprintf(&b, "\nNot reviewed: %s\n", strings.Join(res.Unreviewed, ", "))
	}
	fmt.Fprintf(&b, "\nCost: %s\n", usageText(res.Usage))
	for _, w := range res.Why {
		fmt.Fprintf(&b, "  %s\n", text.OneLine(w, 300))
	}
	fmt.Fprintf(&b, "Verdict: %s\n", res.Verdict)
	return b.String()
}

// mergedText says that findings went into others, so that nobody takes the list
// for all that was said.
func mergedText(n int) string {
	return fmt.Sprintf("%s said the same as another one, and were counted with it.", text.Number(n, "finding"))
}

func countFiles(n int) string {
	switch n {
	case 0:
		return "Nothing changed"
	case 1:
		return "1 file changed"
	}
	return fmt.Sprintf("%d files changed", n)
}

// usageText says what was consumed, and what of it nobody knows.
func usageText(u work.Usage) string {
	said := "unknown"
	if u.CostUSD != nil {
		said = text.USD(*u.CostUSD)
	}
	if n, ok := u.Tokens(); ok {
		return said + ", " + text.Count(n) + " tokens"
	}
	return said + ", tokens unknown"
}
