package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/interview"
	"forge/internal/refusal"
	"forge/internal/text"
)

// interviewOptions are the flags of interview, and those of implement that are
// about what is asked.
type interviewOptions struct {
	kind         interview.Kind
	command      string // as the user calls it, to go on
	from         string // FILE or ISSUE; "" = the text
	text         string
	answer       *string // to the question that waits
	anew, done   bool
	yes, replace bool
	agent, model string
	// Of implement.
	first                 int
	noTDD, dryRun, extend bool
}

// askFlags are what both commands have.
func askFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "answer", Aliases: []string{"m"}, Usage: "answer the question that waits: words, the number of a choice, or nothing to let the agent decide"},
		&cli.BoolFlag{Name: "done", Usage: "ask nothing more; what is open is written down as open"},
		&cli.BoolFlag{Name: "new", Usage: "begin anew, although questions were asked already"},
		&cli.BoolFlag{Name: "replace", Usage: "put the result in the place of what is there"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write the result without asking"},
		&cli.StringFlag{Name: "agent", Usage: "the agent that asks; default that of [agent] use"},
		&cli.StringFlag{Name: "model", Usage: "its model"},
	}
}

func askOptions(c *cli.Context) interviewOptions {
	o := interviewOptions{
		anew: c.Bool("new"), done: c.Bool("done"), yes: c.Bool("yes"), replace: c.Bool("replace"), agent: c.String("agent"), model: c.String("model"),
	}
	if c.IsSet("answer") {
		words := c.String("answer")
		o.answer = &words
	}
	return o
}

func (a *App) interviewCommand() *cli.Command {
	return &cli.Command{
		Name: "interview", Usage: "let the agent ask until the spec can be proven", ArgsUsage: "[TEXT]",
		Description: "The agent asks one question at a time, with its reason and choices, and writes what you want as\n" +
			".forge/spec.md: behaviour, limits, what is out of scope, and criteria that each name what shows them.\n" +
			"What was asked and answered is kept: the same command goes on. Without a terminal the question is\n" +
			"printed, the exit code is 3, and --answer gives the answer.",
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "from", Usage: "what it is about: a `FILE`, or the number of an issue on the board"}}, askFlags()...),
		Action: func(c *cli.Context) error {
			o := askOptions(c)
			o.kind, o.command, o.from, o.text = interview.OfSpec, "forge interview", c.String("from"), strings.Join(c.Args().Slice(), " ")
			if o.from != "" && o.text != "" {
				return refusal.New("give one of them", "--from %s and a text", o.from)
			}
			return a.interview(c.Context, o)
		},
	}
}

// interview asks what a wish leaves open, and writes the spec.
func (a *App) interview(ctx context.Context, o interviewOptions) error {
	p, err := a.openAsker(ctx, o)
	if err != nil {
		return err
	}
	defer p.Close()
	path := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	if _, err := os.Lstat(path); err == nil && !o.replace {
		return refusal.New("--replace puts the new one in its place", "%s exists", config.SpecFile)
	}
	i, err := p.asked(ctx, o)
	if err != nil {
		return err
	}
	defer i.Close()

	body := i.Spec.Markdown()
	if _, err := fmt.Fprintln(a.Stdout, text.Harmless(body)); err != nil {
		return err
	}
	if err := p.mayWrite(ctx, o, config.SpecFile); err != nil {
		return err
	}
	if err := draft.WriteSpec(p.Checkout, body, false, true); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Wrote %s. Next: forge generate, or forge do --plan\n", config.SpecFile)
	return errors.Join(err, i.Over())
}

// openAsker opens the project for questions by the agent that was named.
func (a *App) openAsker(ctx context.Context, o interviewOptions) (*checkout, error) {
	var flags []config.Setting
	if o.agent != "" {
		flags = append(flags, config.Setting{Flag: "--agent", Key: "agent.use", Value: o.agent})
	}
	return a.openProject(ctx, flags...)
}

// mayWrite asks whether a result is to be written.
func (p *checkout) mayWrite(ctx context.Context, o interviewOptions, file string) error {
	if o.yes {
		return nil
	}
	if !p.app.terminal() {
		return refusal.New(o.command+" --yes writes it; nothing is asked again", "nobody can be asked whether to write %s", file)
	}
	ok, err := p.app.confirm(ctx, "Write "+file+"?", "", "yes, write it")
	if err == nil && !ok {
		err = refusal.New(o.command+" shows it again, --new begins anew", "nothing was written")
	}
	return err
}

// asked is an interview that came to its result. Where nobody is there, the
// question is printed, and the error is the exit code of what waits.
func (p *checkout) asked(ctx context.Context, o interviewOptions) (*draft.Interview, error) {
	i, err := draft.Ask(ctx, p.Checkout, draft.Asking{
		Kind: o.kind, Command: o.command, From: o.from, Text: o.text, Answer: o.answer, Anew: o.anew, Done: o.done, Model: o.model,
		In: p.app.Stdin, Out: p.app.Stdout, Attended: p.app.terminal(), Env: p.app.env(),
	})
	if errors.Is(err, draft.ErrWaits) {
		err = codeError(exitFrozen)
	}
	return i, issueError(err)
}
