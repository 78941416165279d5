package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/lessons"
	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/taught"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) lessonsCommand() *cli.Command {
	return &cli.Command{
		Name: "lessons", Usage: "show what runs taught here and agents are told, and which runs were told it",
		Description: "They stand in " + lessons.File + ", which you may edit. forge learn keeps what a run proposes.",
		Flags:       []cli.Flag{outputFlag("text", "json")},
		Action: printing(a.findProject, func(c *cli.Context, p *checkout) (string, error) {
			out, err := outputOf(c, "text", "json")
			if err == nil && c.Args().Present() {
				err = refusal.New("forge lessons add, forge lessons remove", "forge lessons takes no argument, got %q", text.OneLine(c.Args().First(), 60))
			}
			if err != nil {
				return "", err
			}
			kept, err := taught.ReadKept(c.Context, p.Checkout)
			if err == nil && out == "json" {
				return "", printJSON(a.Stdout, kept)
			}
			return kept.String(), err
		}),
		Subcommands: []*cli.Command{{
			Name: "add", Usage: "keep a lesson of your own", ArgsUsage: "TEXT",
			Flags: []cli.Flag{&cli.StringFlag{Name: "file", Usage: "the `PATH` that it is about; while that is not there, nobody is told"}},
			Action: printing(a.findProject, func(c *cli.Context, p *checkout) (string, error) {
				return taught.Keep(p.Checkout, work.Lesson{Text: text.PlainLine(strings.Join(c.Args().Slice(), " ")), File: c.String("file")})
			}),
		}, {
			Name: "remove", Usage: "unlearn lessons", ArgsUsage: "ID...",
			Flags: []cli.Flag{&cli.BoolFlag{Name: "gone", Usage: "those whose files are gone"}},
			Action: printing(a.findProject, func(c *cli.Context, p *checkout) (string, error) {
				if c.Bool("gone") == c.Args().Present() {
					return "", refusal.New("forge lessons shows the ids", "forge lessons remove takes either ids or --gone")
				}
				return taught.Remove(p.Checkout, c.Args().Slice()...)
			}),
		}},
	}
}

// printing does something with a project that open finds, and prints what it says.
func printing(open func(context.Context) (*checkout, error), do func(*cli.Context, *checkout) (string, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		p, err := open(c.Context)
		if err != nil {
			return err
		}
		defer p.Close()
		said, err := do(c, p)
		if err == nil {
			_, err = fmt.Fprint(p.app.Stdout, said)
		}
		return err
	}
}

func (a *App) learnCommand() *cli.Command {
	return &cli.Command{
		Name: "learn", Usage: "show what a run taught, and keep what you say yes to", ArgsUsage: "[RUN]",
		Description: "Shows what the agents of the run proposed, and asks the project's agent once what else its record\n" +
			"teaches. Nothing is kept before you say so: at a terminal each is asked about, elsewhere by --keep.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "keep", Usage: "keep those of the `NUMBERS` shown, such as 1,3, or all; no agent is asked"},
			&cli.BoolFlag{Name: "proposed", Usage: "only what the agents of the run proposed; no agent is asked"},
			&cli.BoolFlag{Name: "again", Usage: "ask the agent again"},
			&cli.StringFlag{Name: "agent", Usage: "the agent that is asked; default that of [agent] use"},
			&cli.StringFlag{Name: "model", Usage: "its model"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			o := taught.Asking{Model: c.String("model"), Proposed: c.Bool("proposed") || c.IsSet("keep"), Again: c.Bool("again")}
			if o.Run, err = oneArg(c.Args().Slice(), "run"); err != nil {
				return err
			}
			if o.Proposed && o.Again {
				return refusal.New("leave one of them out", "--proposed and --keep ask no agent, --again does")
			}
			var flags []config.Setting
			if name := c.String("agent"); name != "" {
				flags = append(flags, config.Setting{Flag: "--agent", Key: "agent.use", Value: name})
			}
			p, err := a.openProject(c.Context, flags...)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.learn(c.Context, o, c.String("keep"), c.IsSet("keep"), out)
		},
	}
}

// learn shows what a run taught, and keeps what a person says yes to.
func (p *checkout) learn(ctx context.Context, o taught.Asking, keep string, keeps bool, output string) error {
	found, err := taught.Learn(ctx, p.Checkout, o)
	if err != nil {
		return err
	}
	var yes []work.Lesson
	switch {
	case keeps:
		if yes, err = found.Chosen(keep); err != nil {
			return err
		}
	case output == "json":
		return printJSON(p.app.Stdout, found)
	default:
		if _, err := fmt.Fprint(p.app.Stdout, found); err != nil || !p.app.terminal() {
			return err
		}
		for _, l := range found.Due() {
			ok, err := p.app.confirm(ctx, "Keep this lesson?", text.Harmless(narrate.LessonText(l)), "yes, keep it")
			if err != nil {
				return err
			}
			if ok {
				yes = append(yes, l)
			}
		}
	}
	if len(yes) == 0 {
		return nil
	}
	said, err := taught.Keep(p.Checkout, yes...)
	if err == nil {
		_, err = fmt.Fprint(p.app.Stdout, said)
	}
	return err
}
