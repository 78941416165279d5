package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// checkElsewhere refuses to go on here with a run that is at a remote when it
// may decide too much by itself, and one that began elsewhere when it would do
// what this checkout's own configuration does not say: a record at a remote is
// written by whoever may push there. asRecorded lets it, but never past this
// machine's ceiling. level is one that is about to be chosen, "" = none.
func (p *project) checkElsewhere(ctx context.Context, run, level string, asRecorded bool) error {
	s, _, err := p.load(ctx, run)
	if err != nil {
		return err
	}
	if ceiling := p.cfg.Ceiling(); ceiling != nil {
		over := gates.Exceeds(s.Spec.Policy, *ceiling)
		if level != "" {
			next, err := p.levelFor(s, level)
			if err != nil {
				return err
			}
			over = append(over, gates.Exceeds(next.Policy, *ceiling)...)
		}
		// A level that was chosen with an answer is not the run's yet.
		chosen, err := p.store.Inbox(ctx, run)
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
	if came, err := p.store.Came(ctx, run); err != nil || !came || asRecorded {
		return err
	}
	differs, err := p.differs(s)
	if err != nil {
		return err
	}
	if len(differs) > 0 {
		return refusal.New("check out the configuration that it began with (commit "+short(s.Spec.Base.Commit)+"), or let it with --as-recorded",
			"run %s began with other settings than this checkout has: %s", run, strings.Join(differs, ", "))
	}
	return nil
}

// checkGoingOn refuses what forge resume would refuse after an answer that is to
// be gone on with here: said before, it leaves the question open.
func (a *App) checkGoingOn(ctx context.Context, checkpoint, level string) error {
	p, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	if ok, err := p.openStore(ctx, false); err != nil || !ok {
		return err
	}
	cp, err := p.findCheckpoint(ctx, checkpoint)
	if err != nil || triage.IsThread(cp.Run) {
		return nil // whoever takes the answer says what is wrong with it
	}
	_, away, err := p.store.TravelOf(ctx, cp.Run)
	if err != nil || !away {
		return err
	}
	if err := p.key(); err != nil {
		return err
	}
	if err := p.checkElsewhere(ctx, cp.Run, level, false); err != nil {
		return fmt.Errorf("nothing was answered: %w", err)
	}
	return nil
}

// differs names the settings of a run that decide what is executed and shown to
// the agent, where this checkout's say something else.
func (p *project) differs(s *orchestrator.State) ([]string, error) {
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
		one := onePhase("elsewhere", 0)
		one.Phases[0].Agent = name
		own, err := config.Resolve(p.cfg, one, config.Facts{Kinds: kinds()})
		if err != nil {
			return nil, err
		}
		if err := add("[agents."+name+"]", atPath(set.Agents[name]), atPath(own.Agents[name])); err != nil {
			return nil, err
		}
		if name != slices.Sorted(maps.Keys(set.Agents))[0] {
			continue
		}
		for what, pair := range map[string][2]any{
			"[worktree]": {set.Worktree, own.Worktree},
			"[verify]":   {bareVerify(set.Verify), bareVerify(own.Verify)},
		} {
			if err := add(what, pair[0], pair[1]); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// moved is a path in the checkout from as it is in the checkout to; others stay.
func moved(path, from, to string) string {
	if rest, ok := strings.CutPrefix(path, from+"/"); ok {
		return to + "/" + rest
	}
	return path
}

// atPath is an agent with the path at which its relative command is looked for.
func atPath(a work.AgentSettings) work.AgentSettings {
	if len(a.Command) > 0 && strings.Contains(a.Command[0], "/") && !filepath.IsAbs(a.Command[0]) {
		a.Command = slices.Clone(a.Command)
		a.Command[0] = filepath.Join(a.Checkout, a.Command[0])
	}
	return a
}

// bareVerify is [verify] without what only waits longer.
func bareVerify(v work.VerifySettings) work.VerifySettings {
	v.TimeoutSecs = 0
	return v
}

// relocate makes what a run began with on another machine this machine's: its
// paths in the checkout, and the sandbox, which a machine's own configuration
// alone sets.
func (p *project) relocate(spec *orchestrator.Spec) {
	root := spec.Base.RepoRoot
	agents := maps.Clone(spec.Settings.Agents)
	for name, a := range agents {
		if a.Checkout == root {
			a.Checkout = p.base.RepoRoot
		}
		a.File = moved(a.File, root, p.base.RepoRoot)
		if len(a.Command) > 0 {
			// An older Forge wrote a relative command down as the path that it was there.
			a.Command = slices.Clone(a.Command)
			a.Command[0] = moved(a.Command[0], root, p.base.RepoRoot)
		}
		agents[name] = a
	}
	spec.Settings.Agents = agents
	spec.Base.RepoRoot = p.base.RepoRoot
	if p.cfg != nil {
		spec.Settings.Sandbox = p.cfg.SandboxSettings()
	}
}
