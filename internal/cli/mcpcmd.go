package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/mcp"
	"forge/internal/refusal"
	"forge/internal/site"
	"forge/internal/token"
)

func (a *App) mcpCommand() *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "let another program look at this project by the Model Context Protocol, on stdin and stdout",
		Description: "An MCP client starts it itself: claude mcp add forge -- forge mcp. See docs/mcp.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "let it see run or job `ID` alone", DefaultText: "the whole project"},
			tierFlag(),
			&cli.StringFlag{Name: "name", Usage: "call the program `NAME` in records", Value: "mcp"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge mcp", "forge mcp takes no arguments, got %q", c.Args().First())
			}
			tier, err := token.ParseTier(c.String("tier"))
			if err != nil {
				return refusal.New("--tier TIER", "%v", err)
			}
			return a.serveMCP(c.Context, token.Grant{Name: c.String("name"), Run: c.String("run"), Tier: tier})
		},
	}
}

func tierFlag() cli.Flag {
	return &cli.StringFlag{Name: "tier", Usage: "let it do so much: `TIER` is read, comment (tell an agent something), act (issues, jobs) or answer; each may what those before it may", Value: token.Read.String()}
}

// serveMCP serves one client until it goes.
func (a *App) serveMCP(ctx context.Context, g token.Grant) error {
	// A client is set up before there is a run, and stays until there is one.
	b, err := a.openBoard(ctx, true)
	if err != nil {
		return err
	}
	defer b.Close()
	if g.Run != "" {
		row, err := b.PickRun(ctx, g.Run)
		if err != nil {
			return err
		}
		g.Run = row.ID
	}
	g.By, g.Project = b.User(), b.Base.RepoRoot
	if err := g.Check(); err != nil {
		return refusal.New("forge help mcp shows how it is used", "%v", err)
	}
	shown := site.Alone(b)
	s, err := mcp.New(mcp.Config{
		Project: func(context.Context) (pages.Project, error) { return shown, nil }, Grant: g, Record: (&mcp.Records{Dir: config.ServerDir(a.Environ)}).Keep,
		Now: a.Now, Log: slog.New(a.log), Version: Version,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: unclosed{a.Stdout}})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || ctx.Err() != nil {
		return nil // the client went, or whoever started this has it end
	}
	return err
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
