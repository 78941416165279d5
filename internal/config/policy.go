package config

import (
	"errors"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// PolicyFlags are the words that choose a policy beside the configuration.
type PolicyFlags struct {
	Autonomous bool   // --autonomous
	Level      string // --level, of a run or at resume; "" = not given
	Job        string // the level a job was given when it was made; "" = none
	Expert     string // the level of the job's expert; "" = none
	BuiltIn    string // where nothing is said; "" = interactive
}

// Policy chooses the policy of a run: flags, job, expert, then the project
// file, then FORGE_AUTONOMY, then the user's configuration, then the built-in;
// bounded by autonomy.ceiling. Single axes of [autonomy.policy] belong to the
// choice of their file: a more specific word replaces them too. The error is
// *Problems.
func Policy(cfg *Config, flags PolicyFlags) (gates.Policy, gates.Origin, error) {
	policy, origin, _, err := choosePolicy(cfg, flags)
	return policy, origin, err
}

// Ceiling is what the user's configuration lets no run pass; nil = nothing.
func (c *Config) Ceiling() *gates.Policy {
	bound, ok := gates.Preset(said(c.File.Autonomy.Ceiling))
	if !ok {
		return nil // none, or one that Load has refused
	}
	return &bound
}

// choosePolicy is Policy with the stages that led to it.
func choosePolicy(cfg *Config, flags PolicyFlags) (gates.Policy, gates.Origin, []stage, error) {
	c := &collector{}
	choice := gates.Choice{
		Autonomous: flags.Autonomous, Level: flags.Level, Job: flags.Job, Expert: flags.Expert, BuiltIn: flags.BuiltIn,
		Presets: cfg.policies.catalogue,
	}
	rename := map[string]string{}
	var axes []*layer
	replaced := flags.Autonomous || flags.Level != "" || flags.Job != "" || flags.Expert != ""
	for _, l := range cfg.layers {
		a, planning := l.said.Autonomy, l.said.Planning.Interactive
		level := said(a.Level)
		speaks := a.Enabled != nil || level != "" || planning != nil
		switch {
		case l.kind == layerEnvironment && speaks:
			choice.Environment, axes = level, nil
			delete(rename, "FORGE_AUTONOMY")
		case l.kind == layerUser && speaks:
			choice.Environment, axes = cfg.userWord(c, l), nil
			rename["FORGE_AUTONOMY"] = l.file
		case l.kind == layerProject && speaks:
			choice.ProjectEnabled, choice.ProjectLevel, choice.ProjectInteractive, axes = a.Enabled, level, planning, nil
		}
		if len(a.Policy) > 0 && !replaced {
			axes = append(axes, l)
		}
	}
	policy, origin, err := gates.Choose(choice)
	if err != nil {
		cfg.choiceProblem(c, err, rename)
		return gates.Policy{}, gates.Origin{}, nil, c.err()
	}
	stages := cfg.policies.stages(origin.Preset)
	if with := policy.WithCheckpointTypes(cfg.File.Autonomy.CheckpointTypes); with.Preset != policy.Preset {
		policy = with
		stages = append(stages, stage{policy: policy, name: placed(cfg.where("autonomy", "checkpoint_types"))})
	}
	if as, ok := rename[origin.Source]; ok {
		origin.Source = as
	}
	for _, l := range axes {
		policy = overlay(c, l, policy)
		origin.Source += " with axes of " + l.file
		stages = append(stages, stage{policy: policy, name: l.file, said: l.saidAxis})
	}
	// The ceiling bounds what is chosen, axes included.
	if ceiling := said(cfg.File.Autonomy.Ceiling); ceiling != "" {
		file, at := cfg.where("autonomy", "ceiling")
		bound, ok := gates.Preset(ceiling)
		if !ok {
			c.add(file, at, fmt.Sprintf("unknown ceiling %q", text.Clip(ceiling, mostQuoted)), suggest(ceiling, presetNames()))
		}
		origin.Ceiling, origin.Bounded = ceiling, gates.Exceeds(policy, bound)
		policy = gates.Meet(policy, bound)
		stages = append(stages, stage{policy: policy, name: fmt.Sprintf("ceiling %s by %s", ceiling, placed(file, at))})
	}
	if err := c.err(); err != nil {
		return gates.Policy{}, gates.Origin{}, nil, err
	}
	return policy, origin, stages, nil
}

// userWord is the preset that a user's configuration chooses. Its words have
// to agree, as those of a project have to.
func (c *Config) userWord(col *collector, l *layer) string {
	a := l.said.Autonomy
	word, first := said(a.Level), "autonomy.level"
	agree := func(key, preset string) {
		if word == "" {
			word, first = preset, key
			return
		}
		p, ok := c.policies.catalogue.Preset(word)
		q, _ := gates.Preset(preset)
		if ok && p.Version() != q.Version() {
			col.add(l.file, l.index.find(strings.Split(first, ".")),
				fmt.Sprintf("%s is %q, but %s stands for %q", first, word, key, preset), "keep autonomy.level alone")
		}
	}
	if a.Enabled != nil {
		agree("autonomy.enabled", enabledPreset(*a.Enabled))
	}
	if p := l.said.Planning.Interactive; p != nil {
		agree("planning.interactive", planningPreset(*p))
	}
	return word
}

func enabledPreset(enabled bool) string {
	if enabled {
		return gates.PresetFull
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
	if strings.HasPrefix(source, "autonomy.") || strings.HasPrefix(source, "planning.") {
		file, at := c.where(strings.Split(source, ".")...)
		col.add(file, at, source+": "+choice.Problem.What, choice.Problem.Fix)
		return
	}
	col.add(source, place{}, choice.Problem.What, choice.Problem.Fix)
}

// overlay lays the single axes of one file over a policy.
func overlay(c *collector, l *layer, policy gates.Policy) gates.Policy {
	out, problems := policy.With(l.said.Autonomy.Policy)
	if len(problems) == 0 {
		problems = out.Validate()
	}
	for _, pr := range problems {
		c.add(l.file, l.index.find(append([]string{"autonomy", "policy"}, axisPath(pr)...)), "autonomy.policy."+pr.Path+": "+pr.What, pr.Fix)
	}
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

// nearest is the known word that a mistyped one most likely meant; "" if none.
func nearest(word string, known []string) string { return gates.Nearest(word, known) }

// presetNames are the built-in ones.
func presetNames() []string { return gates.Catalogue{}.Names() }
