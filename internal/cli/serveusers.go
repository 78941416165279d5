package cli

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/urfave/cli/v2"

	pages "forge/factory/web"
	"forge/internal/refusal"
	"forge/internal/server"
	"forge/internal/text"
)

// factoryURLCommand prints a link that signs in.
func (a *App) factoryURLCommand() *cli.Command {
	return &cli.Command{
		Name: "url", Usage: "print a link that signs you in to the server that runs, once, within ten minutes",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge factory url", "forge factory url takes no arguments, got %q", c.Args().First())
			}
			keys, err := server.Keys(a.env())
			if err != nil {
				return err
			}
			url, ok := server.Running(a.env())
			if !ok {
				return refusal.New("forge factory starts one", "no server runs")
			}
			_, err = fmt.Fprintln(a.Stdout, server.SignIn(url, keys))
			return err
		},
	}
}

// factoryUserCommand says who may come in with a token.
func (a *App) factoryUserCommand() *cli.Command {
	project := &cli.StringFlag{Name: "project", Usage: "in the project `ID` alone, as the pages name it", DefaultText: "all of them"}
	return &cli.Command{
		Name: "user", Usage: "who may come in to the server, and what they may do there",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "give a person a role; a new one gets a token, shown once", ArgsUsage: "NAME",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "role", Usage: "`ROLE`: " + strings.Join(pages.Roles(), ", ")}, project},
				Action: a.addUser,
			},
			{Name: "list", Usage: "list who may come in", Flags: []cli.Flag{outputFlag("text", "json")}, Action: a.listUsers},
			{Name: "remove", Usage: "take a person's role away, and all of them without --project", ArgsUsage: "NAME", Flags: []cli.Flag{project}, Action: a.removeUser},
			{Name: "token", Usage: "give a person another token, shown once; the old one ends at once", ArgsUsage: "NAME", Action: a.newToken},
		},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			return refusal.New("forge factory user add, list, remove, token", "unknown command %q", "factory user "+c.Args().First())
		},
	}
}

// userArg is the one name that a command is about.
func userArg(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", refusal.New("forge factory user "+c.Command.Name+" NAME", "forge factory user %s takes one name, got %q", c.Command.Name, strings.Join(c.Args().Slice(), " "))
	}
	return c.Args().First(), nil
}

func (a *App) addUser(c *cli.Context) error {
	name, err := userArg(c)
	if err != nil {
		return err
	}
	role, err := pages.ParseRole(c.String("role"))
	if err != nil {
		return refusal.New("--role ROLE", "%v", err)
	}
	keys, err := server.Keys(a.env())
	if err != nil {
		return err
	}
	where := c.String("project")
	if where == "" {
		where = pages.AnyProject
	}
	token, err := keys.PutUser(name, role, where)
	if err != nil {
		return refusal.New("nothing was changed", "%v", err)
	}
	a.log.Info(fmt.Sprintf("%s is %s in %s", name, role, inProjects(where)))
	return a.showToken(token)
}

// showToken prints a token, which stands nowhere but with its owner from then
// on.
func (a *App) showToken(token string) error {
	if token == "" {
		return nil
	}
	a.log.Info("the token is shown this once; only its hash is kept")
	_, err := fmt.Fprintln(a.Stdout, token)
	return err
}

func inProjects(where string) string {
	if where == pages.AnyProject {
		return "every project"
	}
	return where
}

func (a *App) newToken(c *cli.Context) error {
	name, err := userArg(c)
	if err != nil {
		return err
	}
	keys, err := server.Keys(a.env())
	if err != nil {
		return err
	}
	token, err := keys.NewToken(name)
	if err != nil {
		return userError(err)
	}
	return a.showToken(token)
}

func (a *App) removeUser(c *cli.Context) error {
	name, err := userArg(c)
	if err != nil {
		return err
	}
	keys, err := server.Keys(a.env())
	if err != nil {
		return err
	}
	where := c.String("project")
	if where == "" {
		where = pages.AnyProject
	}
	if err := keys.RemoveUser(name, where); err != nil {
		return userError(err)
	}
	a.log.Info(fmt.Sprintf("%s has no role of their own in %s any more", name, inProjects(where)))
	return nil
}

func userError(err error) error {
	if errors.Is(err, pages.ErrNoUser) {
		return refusal.New("forge factory user list names them", "%v", err)
	}
	return refusal.New("nothing was changed", "%v", err)
}

// listedUser is a line of forge factory user list --output json.
type listedUser struct {
	Name    string            `json:"name"`
	Roles   map[string]string `json:"roles"` // by project; "*" = all of them
	Created string            `json:"created"`
}

func (a *App) listUsers(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	keys, err := server.Keys(a.env())
	if err != nil {
		return err
	}
	users, err := keys.Users()
	if err != nil {
		return err
	}
	list := []listedUser{}
	var rows [][]string
	for _, u := range users {
		created := u.Created.Format("2006-01-02")
		list = append(list, listedUser{Name: u.Name, Roles: u.Roles, Created: created})
		var roles []string
		for where, role := range u.Roles {
			roles = append(roles, role+" in "+inProjects(where))
		}
		sort.Strings(roles)
		rows = append(rows, []string{u.Name, strings.Join(roles, ", "), "since " + created})
	}
	if out == "json" {
		return printJSON(a.Stdout, list)
	}
	if len(rows) == 0 {
		_, err = fmt.Fprintln(a.Stdout, "Nobody has a token. forge factory user add NAME --role ROLE gives one.")
		return err
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table(rows[0], rows[1:])))
	return err
}
