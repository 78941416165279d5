package config

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// check looks at the plan as a whole: each phase, what phases must not share,
// and the graph. What has a wrong shape or name was said when it was read, and is
// not said a second time for the value that is missing because of it.
func (b *planBinder) check(checkGraph func(work.Plan) []work.Problem) {
	plan := b.plan
	misshapen := map[place]bool{}
	for _, p := range b.problems {
		misshapen[place{p.Line, p.Col}] = true
	}
	seen := map[string]bool{}
	report := func(list []work.Problem) {
		for _, pr := range list {
			key := pr.Path + "\x00" + pr.What
			at := plan.where(pr.Path)
			if misshapen[at] || b.meant[pr.Path] || seen[key] || seen[pr.Path] && strings.HasSuffix(pr.Path, ".number") {
				continue
			}
			seen[key], seen[pr.Path] = true, true
			what := pr.What
			if address := shortAddress(plan.Plan, pr.Path); address != "" {
				what = address + ": " + what
			}
			b.add(plan.File, at, what, pr.Fix)
		}
	}
	report(plan.Check())
	report(b.duplicates())
	report(checkWords(plan.Plan))
	if checkGraph != nil {
		report(checkGraph(plan.Plan))
	}
}

// duplicates finds numbers that mean the same phase: 5 and 05 share a branch.
func (b *planBinder) duplicates() []work.Problem {
	var out []work.Problem
	first := map[string]int{}
	for i, ph := range b.plan.Phases {
		key := strings.TrimLeft(ph.Number, "0")
		j, again := first[key]
		if ph.Number == "" {
			continue
		}
		if !again {
			first[key] = i
			continue
		}
		at := fmt.Sprintf("phases[%d].number", i)
		out = append(out, work.Problem{
			Path: at, Fix: "give each phase its own number",
			What: fmt.Sprintf("%q is also the number of phase %q on line %d", text.Clip(ph.Number, mostQuoted), text.Clip(b.plan.Phases[j].Name, mostQuoted),
				b.plan.where(fmt.Sprintf("phases[%d].number", j)).line),
		})
	}
	return out
}

// checkWords finds what only this package has rules for.
func checkWords(p work.Plan) []work.Problem {
	var out []work.Problem
	for i, ph := range p.Phases {
		add := func(field, what, fix string) {
			out = append(out, work.Problem{Path: fmt.Sprintf("phases[%d].%s", i, field), What: what, Fix: fix})
		}
		if _, err := contextTokens(ph.ContextLimit); err != nil {
			add("context_limit", fmt.Sprintf("%q is no context limit", text.Clip(ph.ContextLimit, mostQuoted)), `write tokens ("120000") or a share ("80%")`)
		}
		if ph.Agent == "" && len(ph.Fallback) > 0 {
			add("fallback", "there is a fallback, and no agent whose place it takes", `write "agent": ["…", "…"], the one that is wanted most first`)
		}
		for j, n := range ph.DependsOn {
			if slices.Contains(ph.DependsOn[:j], n) {
				add(fmt.Sprintf("depends_on[%d]", j), fmt.Sprintf("it depends on %q twice", text.Clip(n, mostQuoted)), "remove one of them")
			}
		}
		for j, g := range ph.MayChange {
			if what := checkPathGlob(g); what != "" {
				add(fmt.Sprintf("may_change[%d]", j), fmt.Sprintf("%q: %s", text.Clip(g, mostQuoted), what), `write a path below the checkout, such as "tests/**"`)
			}
		}
		for j, s := range ph.Skills {
			if !skillName().MatchString(s) {
				add(fmt.Sprintf("skills[%d]", j), fmt.Sprintf("%q is not a skill", text.Clip(s, mostQuoted)), "write the name of a file or folder in .forge/skills/, without its ending")
			}
		}
		for j, r := range ph.Reviews {
			if strings.TrimSpace(r) == "" {
				add(fmt.Sprintf("reviews[%d]", j), "an empty reviewer", "name a specialist or remove it")
			}
		}
	}
	return out
}

// shortAddress names a phase as its owner does, by number, where it has one.
func shortAddress(p work.Plan, address string) string {
	rest, ok := strings.CutPrefix(address, "phases[")
	if !ok {
		return address
	}
	i := 0
	digits, field, _ := strings.Cut(rest, "]")
	if _, err := fmt.Sscanf(digits, "%d", &i); err != nil || i < 0 || i >= len(p.Phases) || p.Phases[i].Number == "" {
		return address
	}
	return "phase " + text.Clip(p.Phases[i].Number, mostQuoted) + strings.Replace(field, ".", ", ", 1)
}
