package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/refusal"
	"forge/internal/work"
)

func (a *App) tellCommand() *cli.Command {
	return &cli.Command{
		Name: "tell", Usage: "say something to the agent of a phase while it works", ArgsUsage: "RUN [PHASE] [TEXT]",
		Description: "An agent that listens while it works gets it at once, any other with its next prompt.\n" +
			"Which of the two is said and recorded. Nothing of its phase lands before.\n" +
			"Without a phase it is for the one that is worked on. Without a text it is read from standard input.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "what you say, as `TEXT`"},
			&cli.BoolFlag{Name: "now", Usage: "end the iteration that is under way, keep its work, and begin the next with it"},
			&cli.StringSliceFlag{Name: "file", Usage: "give it a text `FILE` of the project as it lies here; may be repeated"},
			&cli.StringSliceFlag{Name: "at", Usage: "quote it lines of its last snapshot, as `PATH[:LINE[-LINE]]`; may be repeated"},
			outputFlag("text", "json"),
		},
		Action: a.tellAction(a.tellArgs),
	}
}

func (a *App) compactCommand() *cli.Command {
	return &cli.Command{
		Name: "compact", Usage: "go on with a phase in a new session of its agent", ArgsUsage: "RUN [PHASE]",
		Description: "The new session gets the task and a summary of what happened, and people's words whole.\n" +
			"It begins with the next iteration. Sessions beyond context_limit end by themselves.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "say something to the new session, as `TEXT`"},
			&cli.BoolFlag{Name: "now", Usage: "end the iteration that is under way, keep its work, and begin the next one"},
			&cli.StringFlag{Name: "phase", Usage: "the `PHASE`, in the place of the second argument"},
			&cli.BoolFlag{Name: "show", Usage: "only show what a new session would be told now"},
			outputFlag("text", "json"),
		},
		Action: a.tellAction(func(c *cli.Context) (string, work.Message, error) {
			args := c.Args().Slice()
			if len(args) == 0 || len(args) > 2 {
				return "", work.Message{}, refusal.New("forge compact RUN [PHASE]; forge status names the run and its phases", "forge compact takes a run and a phase of it")
			}
			return args[0], work.Message{Phase: cmp.Or(c.String("phase"), append(args, "")[1]), Text: c.String("message"), Now: c.Bool("now"), Anew: true}, nil
		}),
	}
}

// toldWait is how long forge tell looks whether the process that drives the run
// has taken the message.
const toldWait = 3 * time.Second

// tellAction gives a message to a run, or shows what a new session would be told.
func (a *App) tellAction(read func(*cli.Context) (string, work.Message, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := outputOf(c, "text", "json")
		if err != nil {
			return err
		}
		run, m, err := read(c)
		if err != nil {
			return err
		}
		return printing(a.openJournal, func(c *cli.Context, p *checkout) (string, error) {
			var said fmt.Stringer
			if c.Bool("show") {
				if m.Now || m.Text != "" {
					return "", refusal.New("leave --show out to begin one", "--show only shows what a new session would be told: --now and --message do nothing beside it")
				}
				said, err = approval.Summary(c.Context, p.Checkout, run, m.Phase)
			} else if m.Attached, err = approval.Named(p.Checkout, a.Dir, c.StringSlice("file"), c.StringSlice("at")); err == nil {
				if err = p.CheckKey(); err != nil {
					return "", err
				}
				said, err = approval.Send(c.Context, p.Checkout, run, m, p.User(), "cli", toldWait)
			}
			if err == nil && out == "json" {
				return "", printJSON(a.Stdout, said)
			}
			return fmt.Sprint(said), err
		})(c)
	}
}

// tellArgs reads RUN [PHASE] [TEXT]: of two, the second is a phase where the text
// comes in another way.
func (a *App) tellArgs(c *cli.Context) (run string, m work.Message, err error) {
	args := c.Args().Slice()
	m = work.Message{Text: c.String("message"), Now: c.Bool("now")}
	most := 2
	if !c.IsSet("message") {
		most = 3
	}
	switch {
	case len(args) == 0 || len(args) > most:
		return "", m, refusal.New(`forge tell RUN [PHASE] "TEXT"; forge status names the run and its phases`, "forge tell takes a run, a phase of it, and a text")
	case len(args) == 3:
		m.Phase, m.Text = args[1], args[2]
	case len(args) == 2 && c.IsSet("message"):
		m.Phase = args[1]
	case len(args) == 2 && strings.ContainsAny(strings.TrimSpace(args[1]), " \t\n"):
		m.Text = args[1]
	case len(args) == 2:
		m.Phase = args[1]
	}
	if m.Text == "" && !c.IsSet("message") {
		if a.terminal() {
			return "", m, refusal.New(`forge tell RUN [PHASE] "TEXT", or -m TEXT`, "there is nothing to say")
		}
		said, err := io.ReadAll(io.LimitReader(a.Stdin, work.MaxMessage+1))
		if err != nil {
			return "", m, fmt.Errorf("read what you say from standard input: %w", err)
		}
		m.Text = string(said)
	}
	return args[0], m, nil
}
