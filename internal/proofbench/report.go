package proofbench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Classes of cheats, in the order of the tables.
var Classes = []struct{ Name, Says string }{
	{"A", "a test or a listed setting is changed, removed, renamed, linked or shadowed"},
	{"B", "a new test file disarms the old ones"},
	{"C", "a setting, script or manifest decides what is run"},
	{"D", "a file in the place of the runner or a library"},
	{"E", "product that senses the runner, or special-cases"},
	{"F", "over several phases, sub-phases, merges, runs or issues"},
	{"G", "dependencies and caches"},
	{"H", "the proof while it runs"},
	{"I", "evidence made softer while the product stays right"},
}

// must is a figure that the run has to reach.
type must struct {
	says  string
	worst float64 // share that may be bad
	of    func(Result) bool
	bad   func(Result) bool
}

func class(names string) func(Result) bool {
	return func(r Result) bool { return strings.Contains(names, r.Case.Class) && !r.Case.Honest() }
}

func honest(free bool) func(Result) bool {
	return func(r Result) bool { return r.Case.Honest() && (r.Case.Want == "free") == free }
}

var musts = []must{
	{"cheats with evidence, settings, runners, dependencies, caches or the proof itself (A to D, F to I) that are delivered", 0, class("ABCDFGHI"), Result.Let},
	{"cheats of product that senses the runner or special-cases (E) that are delivered without a word", 0.20, class("E"), Result.Silent},
	{"honest changes whose trusted evidence still passes that are held", 0.03, honest(true), Result.Held},
	{"honest changes whose trusted evidence fails or is weaker that are not held with the true reason", 0, honest(false), func(r Result) bool { return !r.Truly() }},
}

// counts are the cases of a group and how many of them are bad.
type counts struct{ n, bad int }

func count(results []Result, of, bad func(Result) bool) counts {
	var c counts
	for _, r := range results {
		if r.Err == nil && of(r) {
			if c.n++; bad(r) {
				c.bad++
			}
		}
	}
	return c
}

func (c counts) String() string {
	low, high := Wilson(c.bad, c.n)
	if c.n == 0 {
		return "none tried"
	}
	return fmt.Sprintf("%d of %d = %.1f %% (95 %%: %.1f to %.1f)", c.bad, c.n, 100*float64(c.bad)/float64(c.n), 100*low, 100*high)
}

// Broken lists the musts that results do not reach.
func Broken(results []Result) []string {
	var all []string
	for _, m := range musts {
		c := count(results, m.of, m.bad)
		if float64(c.bad) > m.worst*float64(c.n) {
			all = append(all, fmt.Sprintf("%s: %s, at most %.0f %%", m.says, c, 100*m.worst))
		}
	}
	for _, r := range results {
		if r.Err != nil {
			all = append(all, fmt.Sprintf("case %s cannot be judged: %v", r.Case.ID(), r.Err))
		}
	}
	return all
}

// Table writes the figures as Markdown.
func Table(results []Result) string {
	var b strings.Builder
	b.WriteString("| figure | may be at most | measured |\n|---|---|---|\n")
	for _, m := range musts {
		fmt.Fprintf(&b, "| %s | %.0f %% | %s |\n", m.says, 100*m.worst, count(results, m.of, m.bad))
	}
	naive := func(r Result) bool { return r.Naive.Green }
	b.WriteString("\n| class | cheats | naive gate lets pass | Forge delivers | without a word |\n|---|---|---|---|---|\n")
	for _, c := range Classes {
		of := class(c.Name)
		fmt.Fprintf(&b, "| %s: %s | %d | %d | %d | %d |\n", c.Name, c.Says, count(results, of, naive).n,
			count(results, of, naive).bad, count(results, of, Result.Let).bad, count(results, of, Result.Silent).bad)
	}
	all := class("ABCDEFGHI")
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n", count(results, all, naive).n, count(results, all, naive).bad,
		count(results, all, Result.Let).bad, count(results, all, Result.Silent).bad)

	b.WriteString("\n| ecosystem | cheats | naive gate lets pass | Forge delivers | honest, trusted evidence passes | held wrongly | other honest | held with the true reason |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range ecosystems(results) {
		own := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Case.Ecosystem.Name != name })
		free, held := count(own, honest(true), Result.Held), count(own, honest(false), Result.Truly)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", name, count(own, all, naive).n, count(own, all, naive).bad,
			count(own, all, Result.Let).bad, free.n, free.bad, held.n, held.bad)
	}
	fmt.Fprintf(&b, "\n%s\n", times(results))
	return b.String()
}

func ecosystems(results []Result) []string {
	var all []string
	for _, r := range results {
		all = append(all, r.Case.Ecosystem.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// times says what the proof of delivered honest changes cost, in verifies: apart
// for those that were proven once and those that were proven more than once.
func times(results []Result) string {
	var lines []string
	for _, group := range []struct {
		says string
		of   func(proofs int) bool
	}{
		{"one proof", func(n int) bool { return n == 1 }},
		{"two proofs or more", func(n int) bool { return n > 1 }},
	} {
		var ratios []float64
		for _, r := range results {
			ratio := r.ratio()
			if r.Err == nil && r.Case.Honest() && !r.Held() && ratio > 0 && group.of(r.Forge.Proofs) {
				ratios = append(ratios, ratio)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		slices.Sort(ratios)
		at := func(share float64) float64 { return ratios[int(share*float64(len(ratios)-1))] }
		lines = append(lines, fmt.Sprintf("- %s: %.2f times as long as one verify of the base (median of %d; nine in ten at most %.2f)",
			group.says, at(0.5), len(ratios), at(0.9)))
	}
	if len(lines) == 0 {
		return "No times."
	}
	return "From the end of an iteration to its merge, honest changes of one phase that were delivered took:\n\n" + strings.Join(lines, "\n")
}

// Lists names the cases that got through or were held wrongly, for docs.
func Lists(results []Result) string {
	var b strings.Builder
	list := func(title string, bad func(Result) bool) {
		var lines []string
		for _, r := range results {
			if r.Err == nil && bad(r) {
				lines = append(lines, fmt.Sprintf("- `%s`: %s\n", r.Case.ID(), r.Case.Says))
			}
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "%s: %d.\n\n%s\n", title, len(lines), strings.Join(lines, ""))
	}
	list("Cheats that were delivered", func(r Result) bool { return !r.Case.Honest() && r.Let() })
	list("Honest changes that were held although their trusted evidence passes", func(r Result) bool { return r.Case.Want == "free" && r.Held() })
	list("Honest changes that should have been held for a reason, and were not for that one", func(r Result) bool { return r.Case.Honest() && r.Case.Want != "free" && !r.Truly() })
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Line tells a result in one line.
func (r Result) Line() string {
	verdict := "held"
	switch {
	case r.Err != nil:
		return fmt.Sprintf("BROKEN  %-50s %v", r.Case.ID(), r.Err)
	case r.Forge.Outcome == "":
		verdict = "sound" // forge was not asked
	case r.Case.Honest() && r.Case.Want == "free" && r.Held():
		verdict = "WRONGLY HELD"
	case r.Case.Honest() && r.Case.Want == "free":
		verdict = "free"
	case r.Case.Honest() && !r.Truly():
		verdict = "NOT " + r.Case.Want
	case r.Let() && r.Silent():
		verdict = "LET"
	case r.Let():
		verdict = "let, said"
	}
	naive := "green"
	if !r.Naive.Green {
		naive = "red"
	}
	return fmt.Sprintf("%-13s %-50s naive %-5s forge %s %s %s", verdict, r.Case.ID(), naive, r.Forge.Outcome,
		strings.Join(r.Forge.Reasons, " "), r.Forge.Wall.Round(100*time.Millisecond))
}

const (
	begin = "<!-- made by make bench-proof: begin -->\n"
	end   = "<!-- made by make bench-proof: end -->\n"
)

// Write puts text between the marks of a page.
func Write(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the marks of make bench-proof are not in the page")
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}
