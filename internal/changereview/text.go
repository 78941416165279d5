package changereview

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
)

// Text is a result for a terminal.
func Text(res Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s since %s (%s, %s)\n\n", countFiles(len(res.Files)), text.Short(res.Base.Commit), res.Base.Ref, res.Base.Why)
	if len(res.Summary) > 0 {
		fmt.Fprintf(&b, "%s\n\n", strings.Join(res.Summary, " "))
	}
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
	own, tests := folded(res.Own)
	list("Found by Forge itself", own)
	if len(tests) > 0 {
		fmt.Fprintf(&b, "%s: %s\n\n", testsText(len(tests)), text.OneLine(strings.Join(tests, ", "), 500))
	}
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
	for _, l := range history(res) {
		fmt.Fprintf(&b, "\n%s: %s\n", l.why, strings.Join(l.names, "; "))
	}
	if len(res.Unreviewed) > 0 {
		fmt.Fprintf(&b, "\nNot reviewed: %s\n", strings.Join(res.Unreviewed, ", "))
	}
	for _, l := range leftOut(res) {
		fmt.Fprintf(&b, "\nLeft out, %s: %s", l.why, strings.Join(l.names, ", "))
	}
	if len(res.LeftOut) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nCost: %s\n", usageText(res.Usage))
	for _, w := range res.Why {
		fmt.Fprintf(&b, "  %s\n", text.OneLine(w, 300))
	}
	fmt.Fprintf(&b, "Verdict: %s\n", res.Verdict)
	return b.String()
}

// testsText is the one line that tests get which were changed beside code.
func testsText(n int) string {
	return text.Number(n, "test") + " changed beside code, nothing of them lost"
}

// leftFor are files that were left out for one reason.
type leftFor struct {
	why   string
	names []string
}

// leftOut sorts what was left out by its reason.
func leftOut(res Result) (out []leftFor) {
	for _, l := range res.LeftOut {
		at := slices.IndexFunc(out, func(f leftFor) bool { return f.why == l.Why })
		if at < 0 {
			at, out = len(out), append(out, leftFor{why: l.Why})
		}
		out[at].names = append(out[at].names, l.Path)
	}
	return out
}

// history is what people let stand, and what became of the findings of earlier
// reviews, each list below its title.
func history(res Result) (out []leftFor) {
	add := func(title string, names []string) {
		if len(names) > 0 {
			out = append(out, leftFor{title, names})
		}
	}
	entries := func(all []Ignored) (names []string) {
		for _, i := range all {
			names = append(names, fmt.Sprintf("%s %s, by %s until %s: %s", i.ID, i.File, text.OneLine(i.By, 60), i.Until, text.OneLine(i.Reason, 200)))
		}
		return names
	}
	earlier := func(all []Earlier) (names []string) {
		for _, e := range all {
			names = append(names, strings.TrimSpace(e.ID+" "+string(e.Severity)+" "+e.File))
		}
		return names
	}
	add("Let stand", entries(res.Ignored))
	add("No longer let stand, the day is over", entries(res.Expired))
	add("Of earlier reviews, still there", earlier(res.Standing))
	add("Of earlier reviews, gone", earlier(res.Gone))
	return out
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
