package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Selection is the list of phases that --from and --only leave in.
func Selection(plan work.Plan, from, only []string) ([]string, error) {
	if len(from) == 0 && len(only) == 0 {
		return nil, nil
	}
	at := map[string]int{}
	var numbers []string
	for i, ph := range plan.Phases {
		at[ph.Number] = i
		numbers = append(numbers, ph.Number)
	}
	keep := map[string]bool{}
	for _, words := range []struct {
		flag string
		list []string
		rest bool
	}{{"--from", from, true}, {"--only", only, false}} {
		for _, n := range words.list {
			i, ok := at[n]
			if !ok {
				return nil, refusal.New("the plan has "+strings.Join(numbers, ", "), "%s %s: the plan has no such phase", words.flag, n)
			}
			keep[n] = true
			for _, later := range plan.Phases[i:] {
				keep[later.Number] = keep[later.Number] || words.rest
			}
		}
	}
	var out []string
	for _, ph := range plan.Phases {
		if keep[ph.Number] {
			out = append(out, ph.Number)
		}
	}
	return out, nil
}

// CheckStart refuses a run, job or issue that must not begin: every door asks it
// before anything is opened.
func (p *Checkout) CheckStart(spec orchestrator.Spec) error {
	if err := CheckOne(spec); err != nil {
		return err
	}
	if err := p.CheckHooks(spec, spec.Policy); err != nil {
		return err
	}
	if spec.Job != nil {
		spec = JobAsPlan(spec)
	}
	return p.checkReviews(spec)
}

// CheckHooks refuses work that goes on by itself past hooks that would have held
// it, by the rules of config.CheckHooks.
func (p *Checkout) CheckHooks(spec orchestrator.Spec, policy gates.Policy) error {
	return config.CheckHooks(p.Config, policy, Alone(spec))
}

// Alone says that no person starts the phases of spec, whatever its policy asks:
// nobody starts those of a job or claims an issue, and --yes is an answer that
// was given before anybody saw the question.
func Alone(spec orchestrator.Spec) bool {
	return spec.Job != nil || spec.Issue != nil || spec.AnswerYes
}

// checkReviews refuses what cannot be judged: reviews and sensitive phases
// need a reviewer.
func (p *Checkout) checkReviews(spec orchestrator.Spec) error {
	if whys := Unreviewed(spec); len(whys) > 0 {
		return refusal.New("set [llm] base_url and model, or reviews.agent; or turn reviews off, or take the phase out of autonomy.sensitive_patterns", "no reviewer can be asked: %s", strings.Join(whys, "; "))
	}
	return nil
}

// Unreviewed says of each phase that needs a reviewer why, where nobody can be
// asked.
func Unreviewed(spec orchestrator.Spec) []string {
	if spec.Settings.Reviews.By != "" {
		return nil
	}
	var whys []string
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		switch {
		case set.Sensitive != "":
			whys = append(whys, fmt.Sprintf("phase %s %q is sensitive (pattern %q)", ph.Number, ph.Name, set.Sensitive))
		case set.Reviewed:
			whys = append(whys, fmt.Sprintf("phase %s %q is to be reviewed", ph.Number, ph.Name))
		}
	}
	return whys
}

// CheckUnfinished refuses to open another run or job beside one that something
// is left to do in; opener is the command that would.
func (p *Checkout) CheckUnfinished(ctx context.Context, fresh bool, opener string) error {
	rows, err := p.Journal.Unfinished(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r journal.RunRow) bool { return r.Issue != 0 })
	for _, r := range rows {
		if r.Alive && r.Owner != nil {
			return driven(r.ID, r.Owner.PID, r.Owner.Host)
		}
	}
	if len(rows) > 0 && !fresh {
		r := rows[0]
		state := string(r.Outcome)
		if state == "" {
			state = "interrupted"
		}
		return refusal.New("forge resume goes on with it; "+opener+" --new opens another", "run %s is unfinished (%s)", r.ID, state)
	}
	return nil
}

// Held says who drives a run that could not be taken, in one sentence; other
// errors stay as they are.
func Held(err error) error {
	var held *journal.LeaseError
	if !errors.As(err, &held) || held.Owner == "" {
		return err
	}
	return driven(held.Run, held.PID, held.Host)
}

// driven refuses a run that a process works on, here or elsewhere.
func driven(run string, pid int, host string) error {
	if host == journal.Self().Host {
		return refusal.New("wait for it, or stop it", "run %s is being driven by process %d", run, pid)
	}
	return refusal.New(fmt.Sprintf("stop it there; when it has been silent for %s, the run can be taken over", journal.LeaseTimeout),
		"run %s is being driven by process %d on %s", run, pid, host)
}

// WarnMoney warns of a run that nothing but its budgets bounds.
func (p *Checkout) WarnMoney(spec orchestrator.Spec) {
	if spec.Settings.Cost == (work.Cost{}) && spec.Policy.Preset == gates.PresetFull {
		p.Log.Warn("no cost cap is set: nothing but the budgets bounds what this run may spend", "set", "[cost] run_usd")
	}
}

// WarnHidden shows what a person who reads the spec or a skill would not see;
// the agent does not get it either.
func (p *Checkout) WarnHidden(spec orchestrator.Spec) {
	texts := map[string]string{"the spec": spec.Settings.Spec}
	for name, skill := range spec.Settings.Skills {
		texts["skill "+name] = skill
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if _, hidden := text.Reveal(texts[name]); hidden > 0 {
			p.Log.Warn("hidden comments or invisible characters are kept from the agent", "in", name, "how many", hidden)
		}
	}
}

// JobPhases stands for all phases of a job where one of a plan is wanted.
const JobPhases = "job"

// JobAsPlan is what a job is opened with, as a plan of one phase that stands for
// all that it will have, so that it passes the checks of a plan.
func JobAsPlan(s orchestrator.Spec) orchestrator.Spec {
	s.Plan = work.Plan{Phases: []work.Phase{{Number: JobPhases, Name: JobPhases}}}
	s.Settings.Phases = map[string]work.PhaseSettings{JobPhases: s.Job.Phase}
	return s
}
