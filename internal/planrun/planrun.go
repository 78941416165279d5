// Package planrun is a run of the project's plan or of a text: what a checkout
// needs for it, what the run will do, and what it must not begin without.
package planrun

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// CheckText refuses a text that says of no work what it is.
func CheckText(words string) error {
	if what, fix := planner.CheckSpec(words); what != "" {
		return refusal.New(fix, "%s", strings.Replace(what, "the spec", "the text", 1))
	}
	return nil
}

// Found is what was found of a project that does not say it in a file of its own.
type Found struct {
	discovery.Found
	Settings []config.Setting // what of it is used
}

// Discover finds the agent of a project that has no forge.toml, and the commands of
// one that names none, and lays them and given over the configuration. With proven
// the commands that prove its work are given, and none are looked for.
func Discover(ctx context.Context, p *project.Checkout, proven bool, given ...config.Setting) (out Found, err error) {
	_, err = os.Lstat(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.ProjectFile)))
	own, verify := err == nil, p.Config.File.Verify
	if own && (len(verify.Commands) > 0 || verify.None != nil && *verify.None) {
		return out, p.Configure(given...)
	}
	out.Commands = discovery.Commands(p.Base.RepoRoot, discovery.Inside(p.Dir, p.Base.RepoRoot))
	if proven {
		out.Commands.Verify = nil
	}
	if !own && p.Config.Origin("agent.use") == "default" {
		if out.Agent, err = discovery.FindAgent(ctx, "", p.Environ); err != nil {
			return out, err
		}
		if out.Agent.Name == "" {
			return out, noAgent(out.Agent, p.Config)
		}
	}
	out.Settings = out.Found.Settings(p.Config)
	return out, p.Configure(slices.Concat(out.Settings, given)...)
}

// noAgent refuses work that nobody can carry out.
func noAgent(looked discovery.Agent, cfg *config.Config) error {
	fix := strings.Join(looked.Others, "; ")
	if own := slices.Sorted(maps.Keys(cfg.File.Agents)); len(own) > 0 {
		fix += "; or take one of your own configuration: --agent " + own[0]
	}
	return refusal.New(fix, "no agent is installed here")
}

// OfText is what a run of a text is opened with: plan is what the text became,
// drafted by an agent or not.
func OfText(p *project.Checkout, words string, plan work.Plan, drafted bool, flags config.PolicyFlags) (orchestrator.Spec, gates.Origin, error) {
	spec, origin, err := p.Resolve(config.NewPlan(plan), flags)
	if err != nil {
		return spec, origin, err
	}
	spec.Settings.Spec = words
	// Whoever says what is to be done has said that it may begin; a plan that an
	// agent drafted is something else, and so is a level that the owner gave such work.
	spec.AnswerYes = !drafted && spec.Policy.Preset == gates.PresetInteractive && len(spec.Levels) == 0
	return spec, origin, nil
}

// Ready refuses a run whose agents or reviewers cannot be asked, or whose proofs
// name a program that is not there.
func Ready(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) error {
	if err := CheckPrograms(spec, p.Environ); err != nil {
		return err
	}
	if err := p.CheckAgents(ctx, spec.Settings); err != nil {
		return err
	}
	return p.CheckReviewer(ctx, spec.Settings, project.Selected(spec.Plan, spec.Only))
}

// Unproven says that nothing will prove the work of a run, although somebody
// expects that something does.
func Unproven(spec orchestrator.Spec) bool {
	if spec.Settings.Verify.None {
		return false
	}
	return !slices.ContainsFunc(spec.Plan.Phases, func(ph work.Phase) bool {
		return len(spec.Settings.Phases[ph.Number].Verify) > 0
	})
}
