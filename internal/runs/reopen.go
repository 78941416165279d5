package runs

import (
	"slices"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// NotDone are the phases that a resumed run may work on.
func NotDone(s *orchestrator.State) []string {
	return slices.DeleteFunc(slices.Clone(s.Order), func(n string) bool { return s.View(n).Outcome == work.PhaseDone })
}

// Widening is what a person gives a run that goes on beyond what it had.
type Widening struct {
	Budgets   map[string]int // of phases, in iterations
	Costs     []string       // caps: KEY=VALUE
	MaxPhases int            // of a job; 0 = as many as before
	Fresh     bool           // what was proven before is proven again
}

// Reopen is the fact that opens the next process of a run. A configuration
// that was edited since is named as not used.
func Reopen(p *project.Checkout, s *orchestrator.State, w Widening) (orchestrator.Resumed, error) {
	if digest, err := p.Digest(); err != nil {
		return orchestrator.Resumed{}, err
	} else if s.Spec.Digest != "" && digest != s.Spec.Digest {
		p.Log.Warn("the plan, spec or configuration was edited since this run began; the run goes on with what it began with")
	}
	if s.Outcome == work.RunFailed && FinishedWhole(s) {
		return orchestrator.Resumed{}, refusal.New("its result is "+s.Spec.Branch+"; forge run starts a new one", "run %s is %s (%s), and every phase of it is done: there is nothing to go on with", s.Run, s.Outcome, s.Reason)
	}
	r := orchestrator.Resumed{Reopen: true}
	if r.MaxPhases = w.MaxPhases; r.MaxPhases > 0 && s.Spec.Job == nil {
		return r, refusal.New("leave --max-phases out", "run %s is of a plan, which has its own phases", s.Run)
	}
	r.By, r.AcceptUnknown, r.Fresh = p.User(), true, w.Fresh
	for n := range w.Budgets {
		if s.View(n) == nil {
			return r, refusal.New("forge status shows its phases", "--budget %s: run %s has no such phase", n, s.Run)
		}
	}
	if len(w.Budgets) > 0 {
		r.Budgets = w.Budgets
	}
	cost, err := config.RaiseCaps(s.Spec.Settings.Cost, w.Costs)
	if err != nil {
		return r, err
	}
	if len(w.Costs) > 0 {
		r.Cost = &cost
	}
	return r, nil
}
