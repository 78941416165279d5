package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/gates"
	"forge/internal/work"
)

// PolicyFlags are the flags that choose a policy.
type PolicyFlags struct {
	Autonomous bool   // --autonomous
	Level      string // --level; "" = not given
}

// Policy chooses the policy of a run: flags, then the project file, then
// FORGE_AUTONOMY, then the user's configuration, then the built-in; bounded by
// autonomy.ceiling. Single axes of [autonomy.policy] belong to the choice of
// their file: a more specific word replaces them too. The error is *Problems.
func Policy(cfg *Config, flags PolicyFlags) (gates.Policy, gates.Origin, error) {
	c := &collector{}
	choice := gates.Choice{Autonomous: flags.Autonomous, Level: flags.Level, Ceiling: said(cfg.File.Autonomy.Ceiling)}
	rename := map[string]string{}
	var axes []*layer
	flagged := flags.Autonomous || flags.Level != ""
	for _, l := range cfg.layers {
		enabled, level := l.said.Autonomy.Enabled, said(l.said.Autonomy.Level)
		if p := l.said.Planning.Interactive; p != nil && level == "" {
			level = planningPreset(*p)
		}
		speaks := enabled != nil || level != ""
		switch {
		case l.kind == layerEnvironment && speaks:
			choice.Environment, axes = level, nil
			delete(rename, "FORGE_AUTONOMY")
		case l.kind == layerUser && speaks:
			if enabled != nil && level == "" {
				level = enabledPreset(*enabled)
			} else if enabled != nil && level != enabledPreset(*enabled) {
				c.add(l.file, l.index.find([]string{"autonomy", "level"}),
					fmt.Sprintf("autonomy.level is %q, but autonomy.enabled stands for %q", level, enabledPreset(*enabled)), "keep autonomy.level alone")
			}
			choice.Environment, axes = level, nil
			rename["FORGE_AUTONOMY"] = l.file
		case l.kind == layerProject && speaks:
			choice.ProjectEnabled, choice.ProjectLevel, axes = enabled, level, nil
		}
		if len(l.said.Autonomy.Policy) > 0 && !flagged {
			axes = append(axes, l)
		}
	}
	// The ceiling bounds what is chosen, axes included.
	ceiling := choice.Ceiling
	if len(axes) > 0 {
		choice.Ceiling = ""
	}
	policy, origin, err := gates.Choose(choice)
	if err != nil {
		cfg.choiceProblem(c, err, rename)
		return gates.Policy{}, gates.Origin{}, c.err()
	}
	if as, ok := rename[origin.Source]; ok {
		origin.Source = as
	}
	for _, l := range axes {
		policy = overlay(c, l, policy)
		origin.Source += " with axes of " + l.file
	}
	if bound, ok := gates.Preset(ceiling); ceiling != "" && len(axes) > 0 {
		if !ok {
			c.add("", place{}, fmt.Sprintf("unknown ceiling %q", clip(ceiling)), suggest(ceiling, presetNames()))
		}
		origin.Ceiling, origin.Bounded = ceiling, gates.Exceeds(policy, bound)
		policy = gates.Meet(policy, bound)
	}
	if err := c.err(); err != nil {
		return gates.Policy{}, gates.Origin{}, err
	}
	return policy, origin, nil
}

func enabledPreset(enabled bool) string {
	if enabled {
		return gates.PresetAutonomous
	}
	return gates.PresetInteractive
}

// choiceProblem gives a refused choice the place of its word.
func (c *Config) choiceProblem(col *collector, err error, rename map[string]string) {
	var choice *gates.ChoiceError
	if !errors.As(err, &choice) {
		col.add("", place{}, err.Error(), "")
		return
	}
	source := choice.Problem.Path
	if as, ok := rename[source]; ok {
		source = as
	}
	if strings.HasPrefix(source, "autonomy.") {
		file, at := c.where(strings.Split(source, ".")...)
		col.add(file, at, source+": "+choice.Problem.What, choice.Problem.Fix)
		return
	}
	col.add(source, place{}, choice.Problem.What, choice.Problem.Fix)
}

// overlay lays the single axes of one file over a policy. Axes that it does not
// name stay; unknown ones and unknown words are problems. A response and the
// gate of the same name move together unless both are said.
func overlay(c *collector, l *layer, policy gates.Policy) gates.Policy {
	said := l.said.Autonomy.Policy
	at := func(keys ...string) place { return l.index.find(append([]string{"autonomy", "policy"}, keys...)) }
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(said); err != nil {
		c.add(l.file, at(), "autonomy.policy cannot be read: "+oneLine(err.Error()), "write axes as forge policy shows them")
		return policy
	}
	out := policy
	out.Gates = maps.Clone(policy.Gates)
	meta, err := toml.Decode(text.String(), &out)
	if err != nil {
		c.add(l.file, at(), "autonomy.policy: "+oneLine(err.Error()), "write axes as forge policy shows them")
		return policy
	}
	for _, key := range meta.Undecoded() {
		c.add(l.file, at(key...), fmt.Sprintf("autonomy.policy has no axis %s", dotted(key)), suggest(key[len(key)-1], axisNames()))
	}
	pair(&out, said, gates.PointStale, "on_stale", out.OnStale == gates.AskOnStale, func(ask bool) {
		out.OnStale = gates.PivotThenFail
		if ask {
			out.OnStale = gates.AskOnStale
		}
	})
	pair(&out, said, gates.PointFindings, "fail_verdict", out.FailVerdict == gates.AskOnFail, func(ask bool) {
		out.FailVerdict = gates.FailPhase
		if ask {
			out.FailVerdict = gates.AskOnFail
		}
	})
	pair(&out, said, gates.PointPromote, "promote", out.Promote == gates.AlwaysReview, func(ask bool) {
		out.Promote = gates.PromoteOnClean
		if ask {
			out.Promote = gates.AlwaysReview
		}
	})
	for _, pr := range out.Validate() {
		c.add(l.file, at(axisPath(pr)...), "autonomy.policy."+pr.Path+": "+pr.What, pr.Fix)
	}
	out.Preset = ""
	return out
}

// axisPath splits the address of a policy's problem; a point's own dots belong
// to its name.
func axisPath(pr work.Problem) []string {
	if point, ok := strings.CutPrefix(pr.Path, "gates."); ok {
		return []string{"gates", point}
	}
	axis, _, _ := strings.Cut(pr.Path, "[")
	return []string{axis}
}

func pair(p *gates.Policy, said map[string]any, point gates.Point, response string, asks bool, set func(ask bool)) {
	gatesSaid, _ := said["gates"].(map[string]any)
	_, gateSaid := gatesSaid[string(point)]
	_, responseSaid := said[response]
	switch {
	case responseSaid && !gateSaid:
		p.Gates[point] = gates.Auto
		if asks {
			p.Gates[point] = gates.Human
		}
	case gateSaid && !responseSaid:
		set(p.Gates[point] == gates.Human)
	}
}

func axisNames() []string {
	return []string{"gates", "start_unasked", "consent", "confidence_floor", "irreversibility_max", "regret_max", "pause_on_risk_amplifier",
		"action_kinds", "contexts", "tier_floor", "tier_ceiling", "budget_usd", "combined_inference", "on_stale", "fail_verdict", "promote"}
}

// nearest is the known word that a mistyped one most likely meant; "" if none.
func nearest(word string, known []string) string { return gates.Nearest(word, known) }

func presetNames() []string {
	var out []string
	for _, p := range gates.Presets() {
		out = append(out, p.Name)
	}
	return out
}
