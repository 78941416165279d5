package cli

import (
	"fmt"

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
		return do(trialCall{p: p, args: c.Args().Slice(), out: out, json: out == "json"})
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
	return a.showTrial(t, c.out, true)
}

// showTrial prints a trial in one of trialFormats; whole says case by case.
func (a *App) showTrial(t *eval.Trial, out string, whole bool) error {
	if out == "csv" {
		return eval.WriteCSV(a.Stdout, t)
	}
	summary, arbiter := eval.Summarize(t.Outcomes), eval.Confuse(t.Outcomes)
	if out == "json" {
		if summary == nil {
			summary = []eval.Summary{}
		}
		if arbiter == nil {
			arbiter = []eval.Confusion{}
		}
		return printJSON(a.Stdout, map[string]any{"trial": t, "summary": summary, "arbiter": arbiter})
	}
	_, err := fmt.Fprint(a.Stdout, text.Harmless(eval.Text(t, whole)))
	return err
}
