package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/skills"
)

func (a *App) skillsCommand() *cli.Command {
	open := func(ctx context.Context) (*checkout, error) { return a.openProject(ctx) }
	list := printing(open, func(c *cli.Context, p *checkout) (string, error) {
		out, err := outputOf(c, "text", "json")
		if err == nil && c.Args().Present() {
			err = refusal.New("forge skills show NAME, check, add PATH", "forge skills takes no argument")
		}
		if err != nil {
			return "", err
		}
		b, err := p.skills()
		if err == nil && out == "json" {
			return "", printJSON(a.Stdout, b)
		}
		return b.String(), err
	})
	return &cli.Command{
		Name: "skills", Usage: "show what agents are given to read beside their phase, and in which phases",
		Description: "Skills stand in " + config.SkillsDir + ": NAME.md, or NAME/SKILL.md as the agents' own are.",
		Flags:       []cli.Flag{outputFlag("text", "json")}, Action: list,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "the same", Flags: []cli.Flag{outputFlag("text", "json")}, Action: list},
			{Name: "show", Usage: "print a skill as agents are given it", ArgsUsage: "NAME", Action: printing(open, func(c *cli.Context, p *checkout) (string, error) {
				name, err := oneArg(c.Args().Slice(), "skill")
				if err != nil {
					return "", err
				}
				b, err := p.skills()
				if err != nil {
					return "", err
				}
				return b.Text(name)
			})},
			{Name: "check", Usage: "name all that is wrong with skills, and those that are named and not there", Action: printing(open, func(_ *cli.Context, p *checkout) (string, error) {
				b, err := p.skills()
				if err == nil {
					err = b.Check()
				}
				return "ok\n", err
			})},
			{Name: "add", Usage: "take a skill over from a file or a folder", ArgsUsage: "PATH", Action: printing(open, func(c *cli.Context, p *checkout) (string, error) {
				from, err := oneArg(c.Args().Slice(), "path")
				if err != nil {
					return "", err
				}
				return skills.Add(p.Checkout, from)
			})},
		},
	}
}

// skills are those of the project, with its plan where it has one.
func (p *checkout) skills() (skills.Book, error) {
	var plan *config.Plan
	_, err := os.Stat(filepath.Join(p.Base.RepoRoot, project.PlanFile))
	if err == nil {
		plan, err = p.Plan()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return skills.Book{}, err
	}
	return skills.Read(p.Checkout, plan)
}
