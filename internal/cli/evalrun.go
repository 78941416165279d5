package cli

import (
	"context"
	"errors"
	"fmt"

	"forge/internal/eval"
	"forge/internal/text"
	"forge/internal/trial"
)

// eval runs a trial, shows it, and says what ended it. A trial that is not whole
// is not held against bounds.
func (a *App) eval(ctx context.Context, o trial.Options, bounds eval.Bounds, out string) error {
	p, err := trial.Open(a.env())
	if err != nil {
		return err
	}
	end, err := trial.Run(ctx, p, o)
	if errors.Is(err, trial.ErrLimited) {
		return codeError(exitLimit)
	}
	if err != nil {
		return err
	}
	t := end.Trial
	if err := a.showTrial(t, out, false); err != nil {
		return err
	}
	asked, goOn := fmt.Sprintf("%d/%d", len(t.Outcomes), end.Cases), "forge eval --resume "+t.ID
	switch {
	case end.Stopped:
		a.log.Warn("stopped; what was answered is kept", "asked", asked, "go on", goOn)
		return codeError(exitInterrupted)
	case end.Reached != "":
		a.log.Warn(end.Reached, "asked", asked, "go on", goOn)
		return codeError(exitLimit)
	case !eval.Judged(t.Outcomes):
		a.log.Warn("nothing could be judged: there is no usable answer", "why", text.FirstLine(whyUnknown(t), 300), "file", end.File)
		return codeError(exitUnjudged)
	}

	broken := bounds.Broken(t.Outcomes)
	for _, b := range broken {
		a.log.Error("a bound is broken: " + b)
	}
	if len(broken) > 0 {
		return codeError(exitFailed)
	}
	return nil
}

// whyUnknown is the reason of the first case without an answer.
func whyUnknown(t *eval.Trial) string {
	for _, o := range t.Outcomes {
		if o.Ruling != nil && o.Ruling.Why != "" {
			return o.Ruling.Why
		}
		if o.Why != "" {
			return o.Why
		}
	}
	return "nobody was asked"
}
