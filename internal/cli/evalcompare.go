package cli

import (
	"fmt"

	"forge/internal/eval"
	"forge/internal/text"
	"forge/internal/trial"
)

func (a *App) evalCompare(c trialCall) error {
	var trials []*eval.Trial
	for _, id := range c.args {
		t, err := trial.Pick(c.p, id)
		if err != nil {
			return err
		}
		trials = append(trials, t)
	}
	b, pairs := eval.SideBySide(trials), 0
	for _, cmp := range b.Against {
		for _, t := range cmp.Tests {
			pairs += t.Pairs
		}
	}
	err := a.trialPage(c.ctx, trials...)
	switch {
	case err != nil:
	case c.json:
		err = printJSON(a.Stdout, map[string]any{"a": trials[0].ID, "b": trials[1].ID, "comparison": b.Against[0], "beside": b})
	default:
		_, err = fmt.Fprint(a.Stdout, text.Harmless(eval.CompareAllText(trials, b)))
	}
	if err == nil && pairs == 0 {
		return codeError(exitUnjudged)
	}
	return err
}
