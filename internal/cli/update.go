package cli

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/update"
)

func (a *App) updateCommand() *cli.Command {
	return &cli.Command{
		Name: "update", Usage: "say whether a newer version is given out; installs nothing",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "ask for the newest version"},
			&cli.StringFlag{Name: "url", Usage: "where versions are given out, as `URL`", DefaultText: "FORGE_UPDATE_URL"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			address := cmp.Or(c.String("url"), a.getenv("FORGE_UPDATE_URL"))
			switch {
			case c.Args().Present() || !c.Bool("check"):
				return refusal.New("forge update --check; install.sh of a version installs it", "forge update installs nothing")
			case address == "":
				return refusal.New("FORGE_UPDATE_URL=https://HOST/PATH, or --url", "nothing says where versions are given out")
			}
			news, err := update.Check(c.Context, http.DefaultClient, address, Version)
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, news)
			}
			_, err = fmt.Fprint(a.Stdout, news.Text())
			return err
		},
	}
}
