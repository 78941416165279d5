package site

import (
	"context"
	"log/slog"
	"sync"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/agent"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/mcp"
	"forge/internal/project"
)

// AgentTools is what agents of a checkout are given to ask by. It is made with the
// first call: until then nothing is opened for it.
func AgentTools(p *project.Checkout) agent.Tools {
	shown := sync.OnceValue(func() pages.Project {
		return newView(p).project(&board.Opened{Checkout: p, Board: factory.Board{Store: p.Journal, Now: p.Now}})
	})
	records := &mcp.Records{Dir: config.ServerDir(p.Environ)}
	return mcp.Agents{
		Project: func(context.Context) (pages.Project, error) { return shown(), nil },
		Root:    p.Base.RepoRoot, Record: records.Keep, Now: p.Now, Log: slog.New(p.Log),
	}
}
