package site

import (
	"context"
	"log/slog"

	pages "forge/factory/web"
	"forge/internal/board"
	"forge/internal/companion"
	"forge/internal/config"
	"forge/internal/mcp"
	"forge/internal/project"
	"forge/internal/work"
)

// Talked is Alone with the configuration, and with the companion.
func Talked(b *board.Opened) pages.Project {
	p := Alone(b)
	p.Settings = &Settings{Env: b.Env, Root: b.Base.RepoRoot}
	p.Companion = talkedAbout(p, b.Checkout)
	return p
}

// talkedAbout is the companion of a project. Each question is asked with the
// configuration as it is then.
func talkedAbout(p pages.Project, c *project.Checkout) pages.Companion {
	records := &mcp.Records{Dir: config.ServerDir(c.Environ)}
	return companion.New(companion.Config{
		Project: p, Threads: c.Journal, Record: records.Keep, Now: c.Now, Log: slog.New(c.Log),
		Setup: func(context.Context) (companion.Setup, error) { return setupOf(c) },
	})
}

// setupOf is what a question is asked with now.
func setupOf(c *project.Checkout) (out companion.Setup, err error) {
	now := *c
	if now.Config, _, err = config.Load(config.Sources{ProjectDir: c.Base.RepoRoot, UserFile: config.UserFile(c.Environ), Environ: c.Environ}); err != nil {
		return out, err
	}
	if out.Model, err = now.Model(); err != nil || out.Model == nil {
		return out, err
	}
	m, _, err := now.Config.Model()
	if err != nil {
		out.Model.Close()
		return companion.Setup{}, err
	}
	bounds := now.Config.File.Companion
	out.MaxUSD, out.MaxTokens, out.MaxCalls = *bounds.MaxUSD, *bounds.MaxTokens, *bounds.MaxCalls
	out.USDIn, out.USDOut, out.MaxOut, out.ContextTokens = m.USDPerMTokIn, m.USDPerMTokOut, m.MaxOutputTokens, m.ContextTokens
	out.Levels = now.Config.Presets()
	return out, nil
}

// talkedOnPages is the companion with what is refused in the words of pages.
type talkedOnPages struct{ pages.Companion }

func (t talkedOnPages) Lacks(ctx context.Context) (string, error) {
	how, err := t.Companion.Lacks(ctx)
	return how, forPages(err)
}

func (t talkedOnPages) Ask(ctx context.Context, run, question string, by pages.Asker, hear func(pages.CompanionNow)) (work.TalkTurn, error) {
	turn, err := t.Companion.Ask(ctx, run, question, by, hear)
	return turn, forPages(err)
}

func (t talkedOnPages) Confirm(ctx context.Context, run string, proposal int64, by pages.Asker) (work.TalkProposal, error) {
	p, err := t.Companion.Confirm(ctx, run, proposal, by)
	return p, forPages(err)
}

func (t talkedOnPages) Dismiss(ctx context.Context, run string, proposal int64, by pages.Asker) (work.TalkProposal, error) {
	p, err := t.Companion.Dismiss(ctx, run, proposal, by)
	return p, forPages(err)
}
