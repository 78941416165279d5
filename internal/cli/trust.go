package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/refusal"
)

func (a *App) trustCommand() *cli.Command {
	return &cli.Command{
		Name: "trust", Usage: "let this project's commands have a secret that its configuration names, let it work in another checkout, or let secrets go to a host", ArgsUsage: "VARIABLE|PATH|HOST…",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without asking"}},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return refusal.New("forge trust DEPLOY_TOKEN", "forge trust takes the names of variables, paths of checkouts, and hosts")
			}
			return a.trust(c)
		},
	}
}

// trust adds entries to the user's own configuration. The file is checked as a
// whole before it takes the old one's place.
func (a *App) trust(c *cli.Context) error {
	p, err := a.openTrusting(c)
	if err != nil {
		return err
	}
	path := config.UserFile(a.Environ)
	if path == "" {
		return refusal.New("set HOME or XDG_CONFIG_HOME", "there is no place for a user configuration")
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusal.New("make it readable", "read %s: %v", path, err)
	}
	text, err := config.AddTrust(string(old), p, c.Args().Slice())
	if err != nil {
		return refusal.New("add it by hand:\n"+config.TrustEntry(p, c.Args().First()), "%s: %v", path, err)
	}
	var variables, hosts, paths []string
	for _, name := range c.Args().Slice() {
		switch {
		case config.TrustsPath(name):
			paths = append(paths, name)
		case config.TrustsHost(name):
			hosts = append(hosts, name)
		default:
			variables = append(variables, name)
		}
	}
	if len(variables) > 0 {
		fmt.Fprintf(a.Stdout, "%s will say that commands of %s may have %s.\n", path, p, strings.Join(variables, ", "))
	}
	if len(paths) > 0 {
		fmt.Fprintf(a.Stdout, "%s will say that agents of %s may work in %s, and results may be landed there.\n", path, p, strings.Join(paths, ", "))
	}
	if len(hosts) > 0 {
		fmt.Fprintf(a.Stdout, "%s will say that secrets which any project names may go to %s.\n", path, strings.Join(hosts, ", "))
	}
	if !c.Bool("yes") {
		if !a.terminal() {
			return refusal.New("--yes writes it", "nobody can be asked; nothing was changed")
		}
		if ok, err := a.confirm(c.Context, "Write it?", "", "yes, trust it"); err != nil || !ok {
			if err == nil {
				err = refusal.New("", "nothing was changed")
			}
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return refusal.New("make the folder writable", "write %s: %v", path, err)
	}
	return atomicfile.Write(path, []byte(text), 0o600)
}

// openTrusting is the root of the checkout; its configuration may be one that
// is refused for lack of trust.
func (a *App) openTrusting(c *cli.Context) (string, error) {
	p, err := a.openProject(c.Context)
	if err != nil {
		return "", err
	}
	defer p.Close()
	return p.Base.RepoRoot, nil
}
