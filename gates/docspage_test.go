package gates

import (
	"fmt"
	"slices"
	"strings"
)

// docsText is docs/policy.md, made from the presets.
func docsText() string {
	var b strings.Builder
	b.WriteString(docsHead)
	list := Presets()
	levels, others := list[:len(Levels())], list[len(Levels()):]
	b.WriteString("\n## The five levels\n\n| level | when to use it |\n|---|---|\n")
	for _, info := range levels {
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", info.Name, info.Use, alsoText(info.Name))
	}
	b.WriteString("\n## The other presets\n\n| preset | when to use it |\n|---|---|\n")
	for _, info := range others {
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", info.Name, info.Use, alsoText(info.Name))
	}
	b.WriteString("\n## Who decides where\n\n`·` is auto: Forge decides. Where a preset says human, a person does.\n\n")
	b.WriteString(matrix(list))
	b.WriteString("\n## Limits\n\nEverywhere: ")
	b.WriteString(docsLimits(list))
	b.WriteString("\n## What will stop you\n")
	for _, info := range list {
		docsStops(&b, info)
	}
	b.WriteString(docsTail)
	return b.String()
}

const docsHead = `# Autonomy policy

This page is made from the presets in ` + "`gates/presets.toml`" + `; ` + "`go test ./gates -update`" + ` writes it anew, and a test holds it against the data.

A policy says where Forge asks you, within which limits it decides by itself, and what it does when work does not go on. Most people need three of them: [levels](levels.md). This page is the whole table.

A preset is a policy with a name: ` + "`forge run --level NAME`, `autonomy.level`, `FORGE_AUTONOMY`" + `. If you name none, a run is ` + "`interactive`" + `, a job ` + "`partial`" + `, an issue ` + "`plan_then_review`" + `.

` + "`forge policy list`" + ` shows the presets, ` + "`forge policy explain NAME`" + ` what will stop you, ` + "`forge policy show`" + ` every axis of the policy that holds here and where it comes from, ` + "`forge policy diff A B`" + ` how two differ, ` + "`forge policy check`" + ` whether one may be a child of another.

Four older names are still read, with a hint: ` + "`autonomous` and `end_to_end` are `full`, `hands_off` is `manual`" + `, and for ` + "`default`" + ` you write ` + "`interactive`" + ` (what a run has by itself) or ` + "`manual`" + ` (every gate asks).
`

const docsTail = `
## Choosing and bounding

The most specific word wins: a flag or a level at resume, then the job, its expert, the project file, ` + "`FORGE_AUTONOMY`" + `, the built-in. ` + "`--autonomous` and `autonomy.enabled = true`" + ` mean ` + "`full`, `enabled = false` means `interactive`, `planning.interactive`" + ` means ` + "`partial` (true) or `review` (false)" + `. If two words of one place disagree, they are refused.

Then ` + "`autonomy.ceiling`" + ` of your own configuration and every parent of the work bound it, axis by axis: the more conservative value holds. For example, under the ceiling ` + "`review`" + ` a run at ` + "`autonomous`" + ` asks before its result lands. A child that asks for more than its parents is refused, with every axis named.

From free to conservative: auto → human; a lower ` + "`every`, more `milestones`, a higher `confidence_below`" + `; more kinds of ` + "`consent`; a higher `confidence_floor`; a lower `irreversibility_max` or `regret_max`; `pause_on_risk_amplifier`; shorter `action_kinds` and `contexts`" + ` (empty allows nothing)` + "; a higher `tier_floor`, a lower `tier_ceiling`, a lower `budget_usd`; `ask` and `always_review`. `combined_inference`" + ` frees nothing.

A kind of doubt about the proof is a gate of its own, below ` + "`evidence`" + `: ` + "`\"evidence.unproven\" = \"auto\"`" + ` under ` + "`[gates]`" + ` lets a result land whose only doubt is of that kind, and says it. The kinds are ` + "`evidence_weakened`, `unproven`, `test_aware` and `flaky`" + `; one that is not named is decided as ` + "`evidence`" + ` is. ` + "`evidence_changed` and `proof_disturbed`" + ` are no gates: they fail the phase.

## A preset of your own

A file ` + "`.forge/policies/careful.toml`" + ` makes the preset ` + "`careful`" + `. It says what differs from the preset that it extends; without ` + "`extends`" + `, every gate asks.

` + "```toml" + `
use = "Changes to the payment service."
extends = "guided"
confidence_floor = 0.8
contexts = ["action_proposal"]

[gates]
"phase.start" = "human"
"ckpt.schema_change" = "human"
` + "```" + `

The same axes may stand in ` + "`[autonomy.policy]`" + ` of a configuration, over the preset chosen there. A gate and the response of its name (` + "`stale` and `on_stale`, `findings` and `fail_verdict`, `promote`" + `) move together. Unknown words, wrong types and cycles are errors. A ceiling is always a built-in preset: what bounds a project is not the project's to say.

A preset may also have you look before the work of *some* phases is merged, whatever its gates say:

` + "```toml" + `
extends = "full"
every = 3                   # one of each three phases, the third at the latest
milestones = ["design-*"]   # phases by name
confidence_below = 0.6      # phases whose review is less sure than 60 %
` + "```" + `

How sure a review is, is the least that one of the reviewers, or the arbiter, says of its answer. Where nobody reviewed, or one of them does not say, it is unknown, and you are asked. The agent's own word can only lower it. A job asks at the end of a phase.

## One phase, one agent

A phase or an agent may have a level of its own, in a configuration or as ` + "`\"level\": \"guided\"`" + ` of a phase in ` + "`phases.json`" + `:

` + "```toml" + `
[phases.overrides."migrate-*"]
level = "guided"

[agents.codex]
level = "dependent"
` + "```" + `

It only adds questions: a phase asks where its level asks, and where the run's does. A freer level than the run's frees nothing, nor does ` + "`forge level`" + `. Every level that matches counts, those of your own configuration too; a sub-phase has those of its phase, a job's phases match the name ` + "`job`" + `. The gates of the result (` + "`final`, `ckpt.final_output`, `evidence`, `promote`" + `) and of a red base ask when one of its phases wants that. ` + "`--yes`" + ` answers what it answers elsewhere. ` + "`forge list`" + ` names the levels, ` + "`forge why`" + ` the one that asked.
`

func alsoText(name string) string {
	same := Catalogue{}.Identical(name)
	if len(same) == 0 {
		return ""
	}
	return " The same as `" + strings.Join(same, "`, `") + "`."
}

// matrix has a row per preset; presets that are the same share one.
func matrix(list []PresetInfo) string {
	var b strings.Builder
	points := slices.Concat(Points()[:9], []Point{PointPhaseTransition, PointDeliverable, PointFinalOutput, PointQuestion}, Points()[9:])
	b.WriteString("| preset |")
	for _, pt := range points {
		fmt.Fprintf(&b, " `%s` |", pt)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(points)) + "\n")
	shown := map[string]bool{}
	for _, info := range list {
		if shown[info.Name] {
			continue
		}
		same := append([]string{info.Name}, Catalogue{}.Identical(info.Name)...)
		for _, name := range same {
			shown[name] = true
		}
		p, _ := Preset(info.Name)
		fmt.Fprintf(&b, "| `%s` |", strings.Join(same, "`, `"))
		for _, pt := range points {
			fmt.Fprintf(&b, " %s |", matrixCell(p, pt))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func matrixCell(p Policy, pt Point) string {
	switch {
	case p.At(pt) == Auto:
		return "·"
	case pt == PointPhaseStart && p.StartUnasked == StartLowRisk:
		return "human, low risk unasked"
	}
	return string(Human)
}

// docsLimits says what all presets share, and then each limit by which they
// differ.
func docsLimits(list []PresetInfo) string {
	var shared, table []string
	for _, name := range limitNames() {
		values := map[string][]string{}
		var order []string
		for _, info := range list {
			p, _ := Preset(info.Name)
			v := fmt.Sprint(p.value(Axis{Name: name}))
			if _, ok := values[v]; !ok {
				order = append(order, v)
			}
			values[v] = append(values[v], info.Name)
		}
		if len(order) == 1 {
			shared = append(shared, fmt.Sprintf("`%s` %s", name, order[0]))
			continue
		}
		for _, v := range order {
			table = append(table, fmt.Sprintf("| `%s` | %s | `%s` |\n", name, v, strings.Join(values[v], "`, `")))
		}
	}
	return strings.Join(shared, "; ") + ".\n\n| limit | value | presets |\n|---|---|---|\n" + strings.Join(table, "")
}

func docsStops(b *strings.Builder, info PresetInfo) {
	p, _ := Preset(info.Name)
	e := Explain(p)
	fmt.Fprintf(b, "\n### `%s`\n\n", info.Name)
	for _, same := range (Catalogue{}).Identical(info.Name) {
		if strings.Contains(b.String(), "### `"+same+"`") {
			fmt.Fprintf(b, "As `%s`.\n", same)
			return
		}
	}
	if len(e.Stops) == 0 {
		b.WriteString("Nothing stops you.\n")
	}
	for _, s := range e.Stops {
		fmt.Fprintf(b, "- `%s`: %s\n", s.Point, s.When)
	}
	b.WriteString("\n" + strings.Join(e.Alone, " ") + "\n")
}
