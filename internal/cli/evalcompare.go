package cli

import (
	"fmt"

	"forge/internal/eval"
	"forge/internal/text"
	"forge/internal/trial"
)

func (a *App) evalCompare(c trialCall) error {
	first, err := trial.Pick(c.p, c.args[0])
	if err != nil {
		return err
	}
	second, err := trial.Pick(c.p, c.args[1])
	if err != nil {
		return err
	}
	cmp := eval.Compare(first.Outcomes, second.Outcomes)
	pairs := 0
	for _, t := range cmp.Tests {
		pairs += t.Pairs
	}
	if c.json {
		err = printJSON(a.Stdout, map[string]any{"a": first.ID, "b": second.ID, "comparison": cmp})
	} else {
		_, err = fmt.Fprint(a.Stdout, text.Harmless(eval.CompareText(first, second, cmp)))
	}
	if err == nil && pairs == 0 {
		return codeError(exitUnjudged)
	}
	return err
}
