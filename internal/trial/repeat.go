package trial

import (
	"context"

	"forge/internal/eval"
	"forge/internal/project"
	"forge/internal/refusal"
)

// mostRepeats bounds how often one trial is made.
const mostRepeats = 100

// Repeat makes a trial so many times, one after another, to see what of it is
// chance. One that did not become whole is the last.
func Repeat(ctx context.Context, p *project.Checkout, o Options, times int) ([]*Ended, error) {
	switch {
	case times < 1 || times > mostRepeats:
		return nil, refusal.New("give a number from 1 to 100", "--repeat %d is no number of trials", times)
	case times > 1 && (o.Recorded || o.Setup.Answers != ""):
		return nil, refusal.New("leave --repeat out", "recorded answers are the same each time")
	case times > 1 && o.Resume != "":
		return nil, refusal.New("leave --repeat out, and make the trials that are missing with forge eval", "--resume goes on with one trial")
	case times > 1 && o.Setup.Record != "":
		return nil, refusal.New("leave --record out", "--record keeps one answer for each case, and --repeat gets several")
	}
	var all []*Ended
	for range times {
		end, err := Run(ctx, p, o)
		if err != nil {
			return all, err
		}
		if all = append(all, end); end.Stopped || end.Reached != "" {
			break
		}
	}
	return all, nil
}

// Check says what of the options contradicts itself.
func (o Options) Check() error {
	replay := o.Recorded || o.Setup.Answers != ""
	switch {
	case o.Judge != "" && o.ByHand != "":
		return refusal.New("give one of them", "--judge and --by-hand contradict each other")
	case replay && o.Model != "":
		return refusal.New("leave one of them out", "--model asks a model, and --recorded and --answers ask nobody")
	case replay && o.Reviewer != "":
		return refusal.New("leave one of them out", "--reviewer asks an agent, and --recorded and --answers ask nobody")
	case replay && o.Setup.Record != "":
		return refusal.New("leave --record out", "recorded answers are on record already")
	}
	return nil
}

// CheckBounds says which bound holds for no trial.
func CheckBounds(b eval.Bounds) error {
	switch {
	case b.MinRecall != nil && !(*b.MinRecall >= 0 && *b.MinRecall <= 1): // also what is not a number
		return refusal.New("give a share, such as 0.8", "--min-recall %v is not between 0 and 1", *b.MinRecall)
	case b.MaxFalseProceeds != nil && *b.MaxFalseProceeds < 0:
		return refusal.New("give 0 or more", "--max-false-proceeds %d holds for no trial", *b.MaxFalseProceeds)
	}
	return nil
}
