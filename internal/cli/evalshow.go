package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"forge/internal/eval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/trial"
)

// trialCall is what a command about stored trials works on.
type trialCall struct {
	p    *project.Checkout
	ctx  *cli.Context
	args []string
	out  string // the word of --output
	json bool
}

// onTrials reads arguments, at least and at most so many, and --output, one of
// formats.
func (a *App) onTrials(least, most int, usage string, do func(c trialCall) error, formats ...string) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := outputOf(c, formats...)
		if err != nil {
			return err
		}
		if have := c.Args().Len(); have < least || have > most {
			return refusal.New(usage, "forge eval %s takes another number of arguments than %d", c.Command.Name, have)
		}
		p, err := trial.Find(a.env())
		if err != nil {
			return err
		}
		return do(trialCall{p: p, ctx: c, args: c.Args().Slice(), out: out, json: out == "json"})
	}
}

func (a *App) evalList(c trialCall) error {
	all, err := trial.Stored(c.p)
	if err != nil {
		return err
	}
	if c.json {
		list := []map[string]any{}
		for _, t := range all {
			list = append(list, map[string]any{
				"id": t.ID, "started": t.Started, "ended": t.Ended, "asked": t.Asked, "model": t.Model, "judge": t.Judge, "cases": len(t.Outcomes),
				"prompts": t.Prompts, "recall": eval.Reviewers(t).Recall, "recall_worst": eval.Reviewers(t).WorstRecall, "unknown_cases": eval.Reviewers(t).Unknown, "cost_usd": t.Spent().CostUSD,
			})
		}
		return printJSON(a.Stdout, map[string]any{"trials": list})
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Stdout, "There are no trials. forge eval makes one.")
		return nil
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(eval.ListText(all)))
	return err
}

func (a *App) evalShow(c trialCall) error {
	id := ""
	if len(c.args) > 0 {
		id = c.args[0]
	}
	t, err := trial.Pick(c.p, id)
	if err != nil {
		return err
	}
	return a.showTrials(c.ctx, c.out, true, t)
}

// htmlFlag names the page that trials are written into.
func htmlFlag() cli.Flag {
	return &cli.StringFlag{Name: "html", Usage: "write the trials as a page with plots into `FILE`"}
}

// trialPage writes trials side by side where a page is asked for.
func (a *App) trialPage(c *cli.Context, all ...*eval.Trial) error {
	return a.writePage(c, func(to io.Writer) error { return eval.WriteHTML(to, all...) })
}

// showTrials prints trials in one of trialFormats, several of them side by side;
// whole says case by case.
func (a *App) showTrials(c *cli.Context, out string, whole bool, all ...*eval.Trial) error {
	if err := a.trialPage(c, all...); err != nil {
		return err
	}
	t := all[0]
	switch {
	case out == "csv":
		return eval.WriteCSV(a.Stdout, all...)
	case out == "json" && len(all) > 1:
		return printJSON(a.Stdout, map[string]any{"trials": all, "beside": eval.SideBySide(all)})
	case out == "json":
		return printJSON(a.Stdout, map[string]any{"trial": t, "summary": eval.Listed(eval.Summarize(t.Outcomes)), "arbiter": eval.Listed(eval.Confuse(t.Outcomes))})
	case len(all) > 1:
		_, err := fmt.Fprint(a.Stdout, text.Harmless(eval.BesideText(eval.SideBySide(all))))
		return err
	}
	_, err := fmt.Fprint(a.Stdout, text.Harmless(eval.Text(t, whole)))
	return err
}
