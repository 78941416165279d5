package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/stuck"
	"forge/internal/stuckeval"
	"forge/internal/text"
)

func (a *App) evalStuckCommand() *cli.Command {
	return &cli.Command{
		Name: "stuck", Usage: "measure how well Forge tells what is stuck from what works and what waits", ArgsUsage: "[DIR|FILE]",
		Description: "Holds Forge's rule and simpler ones against cases whose right answer is known: those in a\nfolder or a file, else cases made by a seed. Nobody is asked. docs/eval.md has the format.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "threshold", Value: stuck.DefaultThreshold, Usage: "judge as if stale_iterations were `N`"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "make the cases by seed `N`"},
			&cli.Float64Flag{Name: "min-precision", Usage: "end with 1 when the precision is below `SHARE`"},
			&cli.Float64Flag{Name: "min-recall", Usage: "end with 1 when the recall is below `SHARE`"},
			&cli.Float64Flag{Name: "max-delay", Usage: "end with 1 when the median delay is above `N` iterations"},
			&cli.IntFlag{Name: "max-waiting", Usage: "end with 1 when more than `N` cases that wait are taken for stuck"},
			outputFlag("text", "json"),
		},
		Action: a.evalStuck,
	}
}

// madePerFamily is how many cases are made of each family.
const madePerFamily = 6

func (a *App) evalStuck(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	switch {
	case c.Args().Len() > 1:
		return refusal.New("forge eval stuck [DIR|FILE]", "forge eval stuck takes one folder or file")
	case c.Int("threshold") < 1:
		return refusal.New("give 1 or more", "--threshold %d switches the rule off", c.Int("threshold"))
	case c.Args().Present() && c.IsSet("seed"):
		return refusal.New("leave one of them out", "--seed makes cases, and %s holds some", text.FirstLine(c.Args().First(), 100))
	}

	cases := stuckeval.Made(c.Uint64("seed"), madePerFamily)
	if c.Args().Present() {
		if cases, err = stuckeval.Read(a.absolute(c.Args().First())); err != nil {
			return err
		}
	}
	table := stuckeval.Compare(cases, c.Int("threshold"))
	broken := table.Broken(stuckeval.Bounds{
		MinPrecision: given(c, "min-precision", c.Float64), MinRecall: given(c, "min-recall", c.Float64),
		MaxDelay: given(c, "max-delay", c.Float64), MaxWaiting: given(c, "max-waiting", c.Int),
	})

	if out == "json" {
		err = printJSON(a.Stdout, table)
	} else {
		_, err = fmt.Fprint(a.Stdout, text.Harmless(table.Text()))
	}
	for _, b := range broken {
		a.log.Error("a bound is broken: " + b)
	}
	if err == nil && len(broken) > 0 {
		return codeError(exitFailed)
	}
	return err
}

// given is the value of a flag, nil where the flag is not set.
func given[T any](c *cli.Context, name string, value func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := value(name)
	return &v
}
