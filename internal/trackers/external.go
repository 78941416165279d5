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

// Harden readies the project, as it was read for one issue, for what somebody
// wrote elsewhere: its sandbox becomes a required one, and the files that instruct
// agents count among what the proof rests on; it says whether it did. A run of such
// an issue shows every change of them to a person. A part of such an issue is one
// too. Only the user's own configuration lets go of the sandbox, and what cannot be
// found out is not so.
func Harden(ctx context.Context, b *board.Opened, p *project.Checkout, caps proc.Capabilities, i work.Issue) (external bool, err error) {
	from, ok, err := NewOrigins(b).ofTracker(ctx, i)
	if err != nil {
		return true, err
	}
	if !ok {
		return false, nil
	}
	p.Config.File.Verify.Protected = slices.Concat(p.Config.File.Verify.Protected, agent.InstructionGlobs())
	if cfg, err := UserConfig(b.Env); err == nil {
		for _, t := range cfg.TrackerSandboxes() {
			if !t.Sandboxed && sourceOf(t.Name, from.Source) {
				return true, nil
			}
		}
	}

	mode := "required"
	p.Config.File.Sandbox.Mode = &mode
	if _, err := proc.Choose(mode, caps); err != nil {
		return true, refusal.New(project.SandboxFix()+`, or write sandbox = "as_configured" to its tracker in your own configuration`, "%s was written elsewhere and runs in a sandbox alone: %v", from.Source, err)
	}
	return true, nil
}

// sourceOf says that an issue's source is one of the tracker of that name.
func sourceOf(name, source string) bool {
	n := strings.LastIndexByte(source, '#')
	return n >= 0 && source[:n] == name
}
