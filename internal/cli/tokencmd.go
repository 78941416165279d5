package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/mcp"
	"forge/internal/refusal"
	"forge/internal/server"
	"forge/internal/text"
	"forge/internal/token"
)

func (a *App) tokenCommand() *cli.Command {
	return &cli.Command{
		Name: "token", Usage: "let programs in at /mcp of forge factory: make, list and revoke their tokens",
		Subcommands: []*cli.Command{
			{
				Name: "new", Usage: "make a token for this project, shown once",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "name", Usage: "call the program `NAME` in records", Value: "mcp"},
					&cli.StringFlag{Name: "run", Usage: "for run or job `ID` alone", DefaultText: "the whole project"},
					&cli.StringFlag{Name: "phase", Usage: "for phase `N` of that run alone, to read"},
					tierFlag(),
					&cli.DurationFlag{Name: "for", Usage: "until so much `TIME` has passed, at most " + text.Took(token.Longest), Value: token.Usual},
				},
				Action: a.newProgramToken,
			},
			{Name: "list", Usage: "list tokens that have not expired", Flags: []cli.Flag{outputFlag("text", "json")}, Action: a.listTokens},
			{Name: "revoke", Usage: "end a token at once", ArgsUsage: "ID", Action: a.revokeToken},
			{Name: "calls", Usage: "show what programs asked for, and who was refused what", Flags: []cli.Flag{
				&cli.IntFlag{Name: "limit", Usage: "the last `N`", Value: 50}, outputFlag("text", "json"),
			}, Action: a.listCalls},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "token")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// tokens are those of the server.
func (a *App) tokens() (token.Store, error) { return server.Tokens(a.env()) }

func (a *App) newProgramToken(c *cli.Context) error {
	if c.Args().Present() {
		return refusal.New("forge token new --name NAME", "forge token new takes no arguments, got %q", c.Args().First())
	}
	tier, err := token.ParseTier(c.String("tier"))
	if err != nil {
		return refusal.New("--tier TIER", "%v", err)
	}
	store, err := a.tokens()
	if err != nil {
		return err
	}
	g := token.Grant{Name: c.String("name"), Run: c.String("run"), Phase: c.String("phase"), Tier: tier}
	if err := a.scope(c.Context, &g); err != nil {
		return err
	}
	made, g, err := store.New(g, c.Duration("for"))
	if err != nil {
		return refusal.New("nothing was made; forge token new --help shows how", "%v", err)
	}
	a.log.Info(fmt.Sprintf("token %s lets %s %s %s until %s; it is shown this once, and only its hash is kept", g.ID, g.Who(), g.Tier, scopeOf(g), g.Expires.Local().Format("2006-01-02 15:04")))
	_, err = fmt.Fprintln(a.Stdout, made)
	return err
}

// scope fills in what a token is for: this project, and a run and phase that are
// there.
func (a *App) scope(ctx context.Context, g *token.Grant) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	g.By, g.Project = p.User(), p.Base.RepoRoot
	if g.Run == "" {
		return nil
	}
	if ok, err := p.OpenStore(ctx, false); err != nil || !ok {
		return errors.Join(err, refusal.New("forge run begins one", "this project has no runs"))
	}
	row, s, err := p.StandOf(ctx, g.Run)
	if err != nil {
		return err
	}
	if g.Phase != "" && s.View(g.Phase) == nil {
		return refusal.New("forge status shows them", "run %s has no phase %q", row.ID, g.Phase)
	}
	g.Run = row.ID
	return nil
}

func scopeOf(g token.Grant) string {
	switch {
	case g.Phase != "":
		return "phase " + g.Phase + " of run " + g.Run
	case g.Run != "":
		return "run " + g.Run
	}
	return "project " + g.Project
}

func (a *App) listTokens(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	store, err := a.tokens()
	if err != nil {
		return err
	}
	list, err := store.List()
	if err != nil {
		return refusal.New("mend that file, or remove it, which ends all tokens", "%v", err)
	}
	if out == "json" {
		return printJSON(a.Stdout, append([]token.Grant{}, list...))
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(a.Stdout, "There are no tokens. forge token new makes one.")
		return err
	}
	rows := [][]string{{"ID", "WHO", "MAY", "OF", "UNTIL"}}
	for _, g := range list {
		rows = append(rows, []string{g.ID, g.Who(), g.Tier.String(), scopeOf(g), g.Expires.Local().Format("2006-01-02 15:04")})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table(rows[0], rows[1:])))
	return err
}

func (a *App) revokeToken(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return refusal.New("forge token revoke ID", "forge token revoke takes one id")
	}
	store, err := a.tokens()
	if err != nil {
		return err
	}
	if err := store.Revoke(c.Args().First()); err != nil {
		return refusal.New("forge token list names them", "%v", err)
	}
	a.log.Info("token " + c.Args().First() + " is revoked")
	return nil
}

func (a *App) listCalls(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	if c.Int("limit") < 1 {
		return refusal.New("use 1 or more", "--limit %d is not a number of calls", c.Int("limit"))
	}
	calls, err := (&mcp.Records{Dir: config.ServerDir(a.Environ)}).Last(c.Int("limit"))
	if err != nil {
		return err
	}
	if out == "json" {
		return printJSON(a.Stdout, append([]mcp.Call{}, calls...))
	}
	if len(calls) == 0 {
		_, err = fmt.Fprintln(a.Stdout, "No program has asked for anything.")
		return err
	}
	rows := [][]string{{"AT", "WHO", "DOOR", "TOOL", "ABOUT", "REFUSED"}}
	for _, one := range calls {
		rows = append(rows, []string{one.At.Local().Format(time.DateTime), one.Who, one.Door, one.Tool, one.About, text.OneLine(one.Refused, 100)})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table(rows[0], rows[1:])))
	return err
}
