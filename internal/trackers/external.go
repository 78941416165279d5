package trackers

import (
	"context"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// UserConfig is the user's own configuration, in which no project has a say.
func UserConfig(env project.Env) (*config.Config, error) {
	cfg, _, err := config.Load(config.Sources{ProjectDir: env.Dir, Without: config.AllOfProject, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	return cfg, err
}

// ForIssue is a project as it is read for one issue of its board. Only Read makes
// one, so that nothing is made of an outsider's issue without the settings that
// hold for such.
type ForIssue struct{ project *project.Checkout }

// Project is the project.
func (f ForIssue) Project() *project.Checkout { return f.project }

// External says that the issue, or one that it is a part of, was written elsewhere.
func (f ForIssue) External() bool { return f.project.Config.External() != nil }

// Read reads the project of a board for one of its issues. Where the issue was
// written elsewhere, or is a part of such a one, its sandbox is a required one, and
// the files that instruct agents count among what the proof rests on: a run shows
// every change of them to a person. Only the user's own configuration lets go of the
// sandbox, and what cannot be found out is an error.
func Read(ctx context.Context, b *board.Opened, env project.Env, caps proc.Capabilities, i work.Issue) (ForIssue, error) {
	from, ok, err := NewOrigins(b).ofTracker(ctx, i)
	if err != nil {
		return ForIssue{}, err
	}
	var by *config.External
	if ok {
		by = &config.External{Evidence: agent.InstructionGlobs(), AsConfigured: asConfigured(env, from.Source)}
	}
	labels := i.Labels
	if ok && from.Imported() {
		labels = nil // nobody knows who gave them
	}
	p, err := project.OpenFor(ctx, env, project.Issue{By: by, Labels: labels, Target: i.Target})
	if err != nil {
		return ForIssue{}, err
	}
	if by != nil && !by.AsConfigured {
		set := p.Config.SandboxSettings()
		if _, err := project.ChooseSandbox(ctx, set, caps); err != nil {
			or := `, or write sandbox = "as_configured" to its tracker in your own configuration`
			if strings.HasPrefix(from.Source, work.PullSource) {
				or = `, or write call_sandbox = "as_configured" below [host] of your own configuration`
			} else if from.Imported() {
				or = ", or add it as an issue of your own"
			}
			return ForIssue{}, refusal.New(project.SandboxFix(set)+or, "%s was written elsewhere and runs in a sandbox alone: %v", from.Source, err)
		}
	}
	return ForIssue{p}, nil
}

// asConfigured says that the user lets issues of this source run without a sandbox.
func asConfigured(env project.Env, source string) bool {
	cfg, err := UserConfig(env)
	if err != nil {
		return false
	}
	if strings.HasPrefix(source, work.PullSource) {
		return cfg.CallsAsConfigured()
	}
	return slices.ContainsFunc(cfg.TrackerSandboxes(), func(t config.TrackerSettings) bool {
		return !t.Sandboxed && sourceOf(t.Name, source)
	})
}

// sourceOf says that an issue's source is one of the tracker of that name.
func sourceOf(name, source string) bool {
	n := strings.LastIndexByte(source, '#')
	return n >= 0 && source[:n] == name
}
