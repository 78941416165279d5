package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/eval"
	"forge/internal/text"
	"forge/internal/trial"
)

// eval runs trials, shows them, and says what ended them. A trial that is not whole
// is not held against bounds.
func (a *App) eval(c *cli.Context, o trial.Options, bounds eval.Bounds, out string) error {
	p, err := trial.Open(a.env())
	if err != nil {
		return err
	}
	all, err := trial.Repeat(c.Context, p, o, c.Int("repeat"))
	if errors.Is(err, trial.ErrLimited) {
		return codeError(exitLimit)
	}
	if err != nil {
		return err
	}
	trials := make([]*eval.Trial, 0, len(all))
	for _, one := range all {
		trials = append(trials, one.Trial)
	}
	if err := a.showTrials(c, out, false, trials...); err != nil {
		return err
	}
	end, t := all[len(all)-1], trials[len(all)-1]
	asked, goOn := fmt.Sprintf("%d/%d", len(t.Outcomes), end.Cases), "forge eval --resume "+t.ID
	switch {
	case end.Stopped:
		a.log.Warn("stopped; what was answered is kept", "asked", asked, "go on", goOn)
		return codeError(exitInterrupted)
	case end.Reached != "":
		a.log.Warn(end.Reached, "asked", asked, "go on", goOn)
		return codeError(exitLimit)
	case !eval.Judged(t.Outcomes):
		a.log.Warn("nothing could be judged: there is no usable answer", "why", text.FirstLine(eval.WhyUnknown(t), 300), "file", end.File)
		return codeError(exitUnjudged)
	}

	for _, t := range trials {
		for _, b := range bounds.Broken(t.Outcomes) {
			a.log.Error("a bound is broken: "+b, "trial", t.ID)
			err = codeError(exitFailed)
		}
	}
	return err
}
