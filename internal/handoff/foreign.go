package handoff

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// CheckElsewhere refuses to go on here with a run that is at a remote when it
// may decide too much by itself, and one that began elsewhere when it would do
// what this checkout's own configuration does not say: a record at a remote is
// written by whoever may push there. asRecorded lets it, but never past this
// machine's ceiling. next is the policy that is about to be chosen, nil = none.
func CheckElsewhere(ctx context.Context, p *project.Checkout, run string, next func(*orchestrator.State) (gates.Policy, error), asRecorded bool) error {
	s, _, err := p.LoadRun(ctx, run)
	if err != nil {
		return err
	}
	if ceiling := p.Config.Ceiling(); ceiling != nil {
		over := gates.Exceeds(s.Spec.Policy, *ceiling)
		if next != nil {
			policy, err := next(s)
			if err != nil {
				return err
			}
			over = append(over, gates.Exceeds(policy, *ceiling)...)
		}
		// A level that was chosen with an answer is not the run's yet.
		chosen, err := p.Journal.Inbox(ctx, run)
		if err != nil {
			return err
		}
		for _, row := range chosen {
			if len(row.Answer.Policy) == 0 {
				continue
			}
			var next gates.Policy
			if err := json.Unmarshal(row.Answer.Policy, &next); err != nil {
				return refusal.New("", "run %s: the level that was chosen with an answer cannot be read: %v", run, err)
			}
			over = append(over, gates.Exceeds(next, *ceiling)...)
		}
		if len(over) > 0 {
			slices.Sort(over)
			over = slices.Compact(over)
			return refusal.New("forge level "+run+" PRESET on the machine where it is, or raise autonomy.ceiling in your own configuration",
				"run %s may decide more by itself than this machine's ceiling allows: %s", run, strings.Join(over, ", "))
		}
	}
	if came, err := p.Journal.Came(ctx, run); err != nil || !came || asRecorded {
		return err
	}
	differs, err := differsHere(p, s)
	if err != nil {
		return err
	}
	if len(differs) > 0 {
		return refusal.New("check out the configuration that it began with (commit "+text.Short(s.Spec.Base.Commit)+"), or let it with --as-recorded",
			"run %s began with other settings than this checkout has: %s", run, strings.Join(differs, ", "))
	}
	return nil
}

// differsHere names the settings of a run that decide what is executed and shown to
// the agent, where this checkout's say something else.
func differsHere(p *project.Checkout, s *orchestrator.State) ([]string, error) {
	var list []string
	add := func(name string, was, is any) error {
		one, err := json.Marshal(was)
		if err != nil {
			return err
		}
		other, err := json.Marshal(is)
		if err == nil && string(one) != string(other) {
			list = append(list, name)
		}
		return err
	}
	set := s.Spec.Settings
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		one := config.NewPlan(work.Plan{Phases: []work.Phase{{
			Number: "1", Name: "elsewhere", Promise: "ELSEWHERE DONE", PhaseType: "implement", Reasoning: "It tells what this checkout sets for the agent.", Agent: name,
		}}})
		own, err := config.Resolve(p.Config, one, config.Facts{Kinds: project.AgentKinds()})
		if err != nil {
			return nil, err
		}
		if err := add("[agents."+name+"]", project.AtPath(set.Agents[name]), project.AtPath(own.Agents[name])); err != nil {
			return nil, err
		}
		if name != slices.Sorted(maps.Keys(set.Agents))[0] {
			continue
		}
		for what, pair := range map[string][2]any{
			"[worktree]": {set.Worktree, own.Worktree},
			"[verify]":   {bareVerify(set.Verify), bareVerify(own.Verify)},
			"[hooks]":    {bareHooks(set.Hooks), bareHooks(own.Hooks)},
		} {
			if err := add(what, pair[0], pair[1]); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// bareVerify is [verify] without what only waits longer.
func bareVerify(v work.VerifySettings) work.VerifySettings {
	v.TimeoutSecs = 0
	return v
}

// bareHooks are hooks without where they are written, which differs by machine.
func bareHooks(hooks []work.Hook) []work.Hook {
	var out []work.Hook
	for _, h := range hooks {
		out = append(out, h.Bare())
	}
	return out
}
