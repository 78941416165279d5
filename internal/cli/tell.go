package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
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
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			run, m, err := a.tellArgs(c)
			if err != nil {
				return err
			}
			return a.tell(c.Context, run, m, out)
		},
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

// toldWait is how long forge tell looks whether the process that drives the run
// has taken the message.
const toldWait = 3 * time.Second

// toldMessage is forge tell --output json.
type toldMessage struct {
	work.Told
	Driven bool   `json:"driven"` // a process goes on with the run by itself
	Next   string `json:"next"`
}

func (a *App) tell(ctx context.Context, run string, m work.Message, output string) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	told, row, err := approval.Tell(ctx, p.Checkout, run, m, p.User(), "cli")
	if err != nil {
		return err
	}
	if project.Driven(row) {
		if told, err = approval.AwaitTold(ctx, p.Checkout, told, toldWait); err != nil {
			return err
		}
	}
	out := toldMessage{Told: told, Driven: project.Driven(row), Next: tellNext(told, row)}
	if output == "json" {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(out.text()))
	return err
}

func tellNext(t work.Told, row journal.RunRow) string {
	switch {
	case t.Waits != "":
		return "forge show " + t.Waits + ": the phase waits for your answer, and goes on with both"
	case !project.Driven(row):
		return "forge resume " + row.ID
	}
	return "forge logs -f --run " + row.ID + " " + t.Phase
}

func (t toldMessage) text() string {
	return fmt.Sprintf("%s phase %s: %s\nNext: %s\n", t.Run, t.Phase, t.How(t.Driven), t.Next)
}
