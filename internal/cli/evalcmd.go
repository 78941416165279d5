package cli

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/eval"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/trial"
)

func (a *App) evalCommand() *cli.Command {
	output := []cli.Flag{outputFlag("text", "json")}
	return &cli.Command{
		Name: "eval", Usage: "measure how good the reviewers and the arbiter are",
		Description: "Asks them about cases whose right answer is known, and stores what came of it. Without a\nmodel in [llm] it looks at recorded answers, which costs nothing. docs/eval.md has the rest.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "cases", Usage: "take the cases in folder `DIR` too"},
			&cli.BoolFlag{Name: "builtin", Value: true, Usage: "take the cases that come with forge"},
			&cli.StringSliceFlag{Name: "specialists", Usage: "ask `NAMES` alone, such as security,arbiter"},
			&cli.StringFlag{Name: "model", Usage: "ask model `NAME` of the service in [llm]"},
			&cli.StringFlag{Name: "reviewer", Usage: "ask the agent `agent:NAME` as a reviewer of a run, with --model or its own"},
			&cli.BoolFlag{Name: "recorded", Usage: "look at recorded answers although there is a model"},
			&cli.StringFlag{Name: "answers", Usage: "look at the answers recorded in `DIR`"},
			&cli.StringFlag{Name: "record", Usage: "write what the model answers into `DIR`"},
			&cli.StringFlag{Name: "prompts", Usage: "take the reviewers' prompts from `DIR` instead of " + config.PromptFolder},
			&cli.StringFlag{Name: "judge", Usage: "let model `NAME` say whether a finding means what is expected"},
			&cli.StringFlag{Name: "by-hand", Usage: "say so yourself, in `FILE`, which is written for you to fill in"},
			&cli.StringFlag{Name: "resume", Usage: "go on with trial `ID`"},
			&cli.Float64Flag{Name: "min-recall", Usage: "end with 1 when the recall is below `SHARE`, the unknown taken for missed"},
			&cli.IntFlag{Name: "max-false-proceeds", Usage: "end with 1 when the arbiter let more than `N` cases go on that must not, the unknown among them"},
			&cli.IntFlag{Name: "repeat", Value: 1, Usage: "make `N` trials, to see what of it is chance"},
			htmlFlag(), outputFlag(trialFormats()...),
		},
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the trials", Flags: output, Action: a.onTrials(0, 0, "forge eval list", a.evalList, "text", "json")},
			{Name: "show", Usage: "show a trial case by case", ArgsUsage: "[ID]", Flags: []cli.Flag{htmlFlag(), outputFlag(trialFormats()...)}, Action: a.onTrials(0, 1, "forge eval show [ID]", a.evalShow, trialFormats()...)},
			{Name: "compare", Usage: "say whether trials differ from the first by more than chance", ArgsUsage: "A B...", Flags: append(output, htmlFlag()), Action: a.onTrials(2, 100, "forge eval compare A B...", a.evalCompare, "text", "json")},
			a.evalAgentsCommand(),
			a.evalStuckCommand(),
		},
		Action: func(c *cli.Context) error {
			o, out, err := a.evalOptions(c)
			if err != nil {
				return err
			}
			bounds, err := boundsOf(c)
			if err != nil {
				return err
			}
			return a.eval(c, o, bounds, out)
		},
	}
}

// trialFormats are the forms in which a trial is shown.
func trialFormats() []string { return []string{"text", "json", "csv"} }

// boundsOf are the bounds that the flags name.
func boundsOf(c *cli.Context) (eval.Bounds, error) {
	b := eval.Bounds{MinRecall: given(c, "min-recall", c.Float64), MaxFalseProceeds: given(c, "max-false-proceeds", c.Int)}
	return b, trial.CheckBounds(b)
}

// evalOptions are the flags of eval.
func (a *App) evalOptions(c *cli.Context) (o trial.Options, out string, err error) {
	out, err = outputOf(c, trialFormats()...)
	if err != nil {
		return o, out, err
	}
	if c.Args().Present() {
		return o, out, refusal.New("forge eval list, show, compare, agents or stuck", "unknown command \"eval %s\"", text.FirstLine(c.Args().First(), 60))
	}
	o = trial.Options{
		Setup:    eval.Setup{Builtin: c.Bool("builtin"), Specialists: c.StringSlice("specialists")},
		Recorded: c.Bool("recorded"), Model: c.String("model"), Judge: c.String("judge"), ByHand: a.absolute(c.String("by-hand")),
		Resume: c.String("resume"), Reviewer: c.String("reviewer"),
	}
	for _, dir := range c.StringSlice("cases") {
		o.Setup.Cases = append(o.Setup.Cases, a.absolute(dir))
	}
	for flag, to := range map[string]*string{"answers": &o.Setup.Answers, "record": &o.Setup.Record, "prompts": &o.Setup.Prompts} {
		*to = a.absolute(c.String(flag))
	}
	for _, flag := range []string{"cases", "builtin", "specialists", "model", "reviewer", "recorded", "answers", "record", "prompts"} {
		if c.IsSet("resume") && c.IsSet(flag) {
			return o, out, refusal.New("leave --"+flag+" out", "trial %s goes on as it began, and --%s would change it", text.FirstLine(o.Resume, 60), flag)
		}
	}
	if c.IsSet("resume") && o.Resume == "" {
		return o, out, refusal.New("forge eval list names them", "--resume wants the id of a trial")
	}
	return o, out, o.Check()
}

// absolute is a path as the user means it; "" stays.
func (a *App) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}
